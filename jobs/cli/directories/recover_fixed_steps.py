"""Steps of a recovery plan for an operator.

The module has the class of a step, the steps that are the same for each quorum, and the sentences
for nodes that are brokers, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replica.doctor.health.hosted import HostedReplica
from replica.doctor.rehearsal import step as rehearsal
from replica.format.file_names import METADATA_FOLDER
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.shell_text import Shell, line, noted
from replica.words import counted, listed, named

CONTROLLER_FILE = "config/controller.properties"
"""The path of a controller's properties in Kafka's release archive. An operator replaces it by the
path of the node's own file."""
COMBINED_FILE = "config/server.properties"
"""The path, in Kafka's release archive, of the properties of a controller that is a broker, too."""


@dataclass(frozen=True, slots=True)
class RecoverStep:
    """A step for an operator."""

    text: str
    """What to do."""
    commands: tuple[Shell, ...]
    """Lines for a shell; a # begins a comment."""
    act: str = ""
    """What to do in short, as a clause; "" where the text is short."""
    makes_stand_ins: bool = False
    """Whether the step makes directories for lost voters from the winner's log."""
    moves: tuple[ReplicaKey, ...] = ()
    """The logs that the step moves away, because their nodes have other metadata logs."""
    plays: tuple[rehearsal.ScenarioStep, ...] = ()
    """The steps that a rehearsal plays in place of this step; empty where the step changes nothing,
    or its outcome is unknown."""


FIND_OUT_WHY_NOBODY_LEADS = RecoverStep(
    "Look in the controllers' logs for what keeps voters from being elected, such as cluster ids "
    "that differ, or addresses at which no voter answers.",
    (
        noted(Shell("LOG_DIR=/var/lib/kafka/metadata"), "on each controller"),
        Shell('grep cluster.id "$LOG_DIR"/meta.properties'),
        noted(
            line("grep", "controller.quorum", CONTROLLER_FILE),
            "of a node that is a broker too: server.properties",
        ),
    ),
)
"""The last step where no log holds a record, so there is no log from which the quorum could
continue."""

RESTART_BROKERS = RecoverStep(
    "Once the quorum has a leader, restart the brokers, one after another: they may have applied "
    "records that are lost now. Compare the topics with what brokers hold before clients are let "
    "in.",
    (
        noted(
            Shell("bin/kafka-server-stop.sh --process-role=broker"),
            "on each broker that is no controller, one after another",
        ),
        noted(
            Shell("bin/kafka-server-start.sh -daemon config/broker.properties"),
            "on the same broker",
        ),
        Shell("BROKER=localhost:9092"),
        Shell('bin/kafka-topics.sh --bootstrap-server "$BROKER" --describe'),
        Shell('bin/kafka-log-dirs.sh --bootstrap-server "$BROKER" --describe'),
    ),
)
"""The last step where records may be lost that brokers have already applied."""


def look_for_disks(voters: Sequence[ReplicaKey]) -> str:
    """The beginning of a step about voters whose given disks can't be relied on."""
    nodes = named("node", [str(voter.node_id) for voter in voters])
    if len(voters) == 1:
        return (
            f"Leave {nodes} stopped, look for the disk on which it ran, or a newer copy of it, "
            "name that in its place"
        )
    return (
        f"Leave {nodes} stopped, look for the disks on which they ran, or newer copies of them, "
        "name those in their places"
    )


_SHOWN = 3


def kept_replicas(voter: ReplicaKey, replicas: Sequence[HostedReplica]) -> str:
    """The sentences of a step that empties the metadata log of a node whose disk exists. replicas:
    the node's replicas."""
    text = f" Node {voter.node_id} is a broker, too. Move away only its folder {METADATA_FOLDER}"
    if not replicas:
        return f"{text}: no partition has a replica on it now."
    held = counted(len(replicas), "partition replica")
    return f"{text}, so that it keeps its {held}. {_places(voter, replicas, 'beside this folder')}"


def lost_replicas(voter: ReplicaKey, replicas: Sequence[HostedReplica]) -> str:
    """The sentences of a step that replaces a lost disk. replicas: the node's replicas."""
    text = f" Node {voter.node_id} is a broker, too."
    if not replicas:
        return f"{text} No partition has a replica on it."
    return f"{text} {_places(voter, replicas, 'gone with this disk')}"


def _places(voter: ReplicaKey, replicas: Sequence[HostedReplica], where: str) -> str:
    """Sentences that count the node's partition replicas: those in the directory of the metadata
    log, those that may be there, and those in other directories. A replica may be there where the
    state names no directory for it, or for the voter. where: what happens to the replicas in the
    directory of the metadata log."""
    is_known = voter.directory_id != ZERO_UUID
    own = [one for one in replicas if is_known and one.directory_id == voter.directory_id]
    unsure = [one for one in replicas if not is_known or one.directory_id is None]
    others = len(replicas) - len(own) - len(unsure)
    told = [_named(where, own), _named(f"perhaps {where}", unsure)]
    if others:
        told.append(f"In its other log.dirs, and kept: {counted(others, 'partition replica')}.")
    return " ".join(filter(None, told))


def _named(where: str, replicas: Sequence[HostedReplica]) -> str:
    if not replicas:
        return ""
    held = counted(len(replicas), "partition replica")
    names = listed([one.partition for one in replicas], limit=_SHOWN)
    alone = [one.partition for one in replicas if one.is_alone]
    only = f" No other broker has {listed(alone, limit=_SHOWN)} in sync." if alone else ""
    return f"{where[0].upper()}{where[1:]}: {held} ({names}).{only}"
