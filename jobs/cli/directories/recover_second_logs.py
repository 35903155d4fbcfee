"""The step of a recovery plan for a node that has a metadata log in several log directories. Kafka
refuses to start the node until only one of these logs is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jobs.cli.directories.recover_fixed_steps import RecoverStep
from replica.doctor.check.examined import Examined
from replica.doctor.check.partition import partition_of
from replica.doctor.quorum.recovery import RecoveryPlan
from replica.format.file_names import METADATA_FOLDER
from replica.model.keys import ReplicaKey
from replica.shell_text import Shell, line, noted, word
from replica.terminal_text import one_line
from replica.words import listed


@dataclass(frozen=True, slots=True)
class SecondLogs:
    """The metadata logs of one node."""

    kept: Examined
    """The log that the node keeps: the log that belongs to the voter, else the newest log."""
    others: tuple[Examined, ...]

    @property
    def node_id(self) -> int:
        return self.kept.owner.node_id


def second_logs(plan: RecoveryPlan, by_key: Mapping[ReplicaKey, Examined]) -> Iterator[SecondLogs]:
    """The nodes of a plan that have several metadata logs, except the nodes that stay stopped."""
    if not partition_of(by_key[plan.winner.key]).is_metadata:
        return
    stopped = {voter.key.node_id for voter in plan.doubted}
    ranked = sorted(plan.ranking, key=lambda one: one.is_voter is not True)
    for node_id in sorted({one.log.key.node_id for one in ranked} - stopped):
        logs = [by_key[one.log.key] for one in ranked if one.log.key.node_id == node_id]
        if len(logs) > 1:
            yield SecondLogs(logs[0], tuple(logs[1:]))


def one_log_each(logs: SecondLogs) -> RecoverStep:
    """The step that leaves a node one metadata log."""
    others = [one_line(one.shown) for one in logs.others]
    text = (
        f"Leave node {logs.node_id} only the metadata log of {one_line(logs.kept.shown)}: Kafka "
        "refuses to start a node with two (Found unexpected metadata location). Let "
        "metadata.log.dir name the log directory that holds it, and move the "
        f"{METADATA_FOLDER} of {listed(others)} out of log.dirs."
    )
    moved = word(Shell('"$LOG_DIR"/'), METADATA_FOLDER)
    commands = [Shell("AWAY=/var/lib/kafka-away"), Shell('mkdir -p "$AWAY"')]
    for number in range(2, len(others) + 2):
        place = Shell("LOG_DIR=/var/lib/kafka/other")
        commands += [
            noted(place, f"on node {logs.node_id}: the log directory of the other one"),
            line("mv", moved, word(Shell('"$AWAY"/'), f"node-{logs.node_id}-{number}")),
        ]
    return RecoverStep(text, tuple(commands), moves=tuple(one.owner.key for one in logs.others))
