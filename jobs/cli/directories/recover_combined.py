"""What a step of a recovery plan says of a node that is a broker, too: its partition replicas may
lie on the disk that the step empties."""

from __future__ import annotations

from collections.abc import Sequence

from replica.doctor.health.hosted import HostedReplica
from replica.format.file_names import METADATA_FOLDER
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.words import counted, listed

_SHOWN = 3


def kept_replicas(voter: ReplicaKey, replicas: Sequence[HostedReplica]) -> str:
    """The sentences of a step that empties the metadata log of a node whose disk is there.
    replicas: those of the node."""
    text = f" Node {voter.node_id} is a broker, too. Move away only its folder {METADATA_FOLDER}"
    if not replicas:
        return f"{text}: no partition has a replica on it now."
    held = counted(len(replicas), "partition replica")
    return f"{text}, so that it keeps its {held}. {_places(voter, replicas, 'beside this folder')}"


def lost_replicas(voter: ReplicaKey, replicas: Sequence[HostedReplica]) -> str:
    """The sentences of a step that replaces a disk that is gone. replicas: those of the node."""
    text = f" Node {voter.node_id} is a broker, too."
    if not replicas:
        return f"{text} No partition has a replica on it."
    return f"{text} {_places(voter, replicas, 'gone with this disk')}"


def _places(voter: ReplicaKey, replicas: Sequence[HostedReplica], where: str) -> str:
    """Which of the replicas are in the directory of the metadata log, and which may be: the state
    names no directory of some replicas, and no directory of static voters. where: what that means
    for them."""
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
