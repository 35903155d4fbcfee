"""Makes the values of a group's directories that the comparing rules need."""

from __future__ import annotations

from collections.abc import Sequence

from replica.check.examined import Examined, keys_of, replica_log
from replica.check.membership import GroupMember
from replica.format.control import KRaftVoters
from replica.format.directory import SnapshotFile
from replica.format.file_names import FileKind
from replica.history.log import LogBatch
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import ZERO_UUID, ReplicaId
from replica.model.voters import VoterKeys


def by_cluster(group: Sequence[Examined]) -> list[list[Examined]]:
    """The directories whose replica is known, in a list for each cluster id. The directories of a
    cluster are sorted by their replica, so that neither the paths nor the order in the call change
    the findings."""
    clusters: dict[str, list[tuple[ReplicaId, Examined]]] = {}
    for examined in group:
        replica = examined.replica
        if replica is not None:
            clusters.setdefault(replica.cluster_id, []).append((replica, examined))
    ordered = (sorted(members, key=lambda member: member[0]) for members in clusters.values())
    return [[examined for _, examined in members] for members in ordered]


def members_of(group: Sequence[Examined]) -> list[GroupMember]:
    """The members whose replica is known. Logs are read only if there are at least two clusters,
    because only the rule about two clusters needs the logs' entries."""
    clusters = by_cluster(group)
    known = [examined for members in clusters for examined in members]
    if len(clusters) < 2:
        return [_member(examined, None, {}) for examined in known]
    logs = [replica_log(examined, ZERO_UUID) for examined in known]
    firsts = [log.batches[0].base_offset if log.batches else None for log in logs]
    asked = {log.batches[0] for log in logs if log.batches}
    return [
        _member(
            examined,
            first,
            {batch.base_offset: batch for batch in log.batches if batch in asked},
        )
        for examined, log, first in zip(known, logs, firsts, strict=True)
    ]


def _member(
    examined: Examined, first_offset: int | None, entries: dict[int, LogBatch]
) -> GroupMember:
    replica, state = examined.replica, examined.directory.quorum_state
    assert replica is not None, "by_cluster takes no others"
    usable = examined.usable_snapshots
    bootstrap = next((one for found, one in usable if found == BOOTSTRAP_SNAPSHOT), None)
    return GroupMember(
        replica,
        examined.shown,
        examined.shown_file(examined.path_of(FileKind.META_PROPERTIES)),
        examined.shown_file(examined.path_of(FileKind.QUORUM_STATE)),
        examined.shown_file("" if bootstrap is None else bootstrap.file.path),
        leader_id=None if state is None else state.leader_id,
        leader_epoch=None if state is None else state.leader_epoch,
        current_voters=() if state is None else tuple(state.current_voters),
        initial_voters=frozenset() if bootstrap is None else _initial_voters(examined, bootstrap),
        first_offset=first_offset,
        entries=entries,
    )


def _initial_voters(examined: Examined, bootstrap: SnapshotFile) -> VoterKeys:
    for _, _, message in examined.control_records(bootstrap):
        if isinstance(message, KRaftVoters):
            return keys_of(message)
    return frozenset()
