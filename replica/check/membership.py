"""Compares what the directories of a group say about their own identity, their leader, and the
voters. members_of gathers what is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from replica.check.catalogue import groups
from replica.check.examined import Examined, by_cluster, keys_of, replica_log
from replica.check.rule import Finding
from replica.format.control import KRaftVoters
from replica.format.directory import SnapshotFile
from replica.format.file_names import FileKind
from replica.history.log import LogBatch
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaId, ReplicaKey
from replica.model.voters import VoterKeys

RULES = (
    groups.DUPLICATE_IDENTITY, groups.TWO_LEADERS, groups.VOTER_SETS_DIFFER,
    groups.INITIAL_VOTERS_DIFFER, groups.CLUSTER_ID_MISMATCH,
)  # fmt: skip
"""The rules of the findings that judge_membership makes."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """What one directory of a group says of itself. Files have the names that the user gave them.

    shown: the name of the directory. meta_properties, quorum_state, bootstrap_snapshot
    (0-0.checkpoint): the names of these files; the name of the directory where there is no such
    file. leader_id, leader_epoch, current_voters: what quorum-state says; None and () where it says
    nothing. initial_voters: the voters that 0-0.checkpoint names; empty where the node was
    formatted without initial voters, or belongs to a static quorum. first_offset: the first offset
    in its log; None for an empty log. entries: those batches of its log, by their offset, with
    which a log of the group begins.
    """

    replica: ReplicaId
    shown: str
    meta_properties: str
    quorum_state: str
    bootstrap_snapshot: str
    leader_id: int | None = None
    leader_epoch: int | None = None
    current_voters: tuple[int, ...] = ()
    initial_voters: VoterKeys = frozenset()
    first_offset: int | None = None
    entries: Mapping[int, LogBatch] = field(default_factory=dict, hash=False)


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
    state = examined.directory.quorum_state
    usable = examined.usable_snapshots
    bootstrap = next((one for found, one in usable if found == BOOTSTRAP_SNAPSHOT), None)
    return GroupMember(
        examined.owner,
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


Told = tuple[GroupMember, Finding]
"""The directory that a finding is about, and the finding."""


def judge_membership(group: Sequence[GroupMember]) -> Iterator[Told]:
    """Findings of the rules that compare small files, and of the rule that compares the first
    records of clusters with different ids."""
    members = sorted(group, key=lambda member: member.replica)
    clusters: dict[str, list[GroupMember]] = {}
    for member in members:
        clusters.setdefault(member.replica.cluster_id, []).append(member)
    for cluster in clusters.values():
        yield from _repeated(cluster, "node id", lambda one: one.replica.node_id)
        yield from _judge_leaders(cluster)
        yield from _judge_voters(cluster)
        yield from _judge_initial_voters(cluster)
    yield from _repeated(members, "directory id", _directory_id)
    yield from _judge_clusters(members)


def _directory_id(member: GroupMember) -> str | None:
    directory_id = member.replica.directory_id
    return None if directory_id == ZERO_UUID else directory_id


def _repeated(
    members: Sequence[GroupMember], what: str, of: Callable[[GroupMember], Hashable]
) -> Iterator[Told]:
    first: dict[Hashable, GroupMember] = {}
    for member in members:
        value = of(member)
        if value is None:
            continue
        other = first.setdefault(value, member)
        if other is not member:
            message = f"{what} {value} is that of {other.shown} too"
            yield member, groups.DUPLICATE_IDENTITY.at(member.meta_properties, message)


def _judge_clusters(members: Sequence[GroupMember]) -> Iterator[Told]:
    """Findings about logs of different cluster ids that hold the same entry, with which a log
    begins.

    All members that hold one entry are compared with a single one: the first member of the cluster
    with the most members. Each member of another cluster gets a finding. Comparing all pairs would
    give too many findings.
    """
    sizes = Counter(member.replica.cluster_id for member in members)
    by_size = sorted(members, key=lambda one: (-sizes[one.replica.cluster_id], one.replica))
    holders: dict[tuple[int, LogBatch], list[GroupMember]] = {}
    for member in by_size:
        for held in member.entries.items():
            holders.setdefault(held, []).append(member)
    begun = {
        (member.first_offset, member.entries[member.first_offset])
        for member in members
        if member.first_offset is not None and member.first_offset in member.entries
    }
    told: set[tuple[int, int]] = set()
    for (offset, entry), (right, *others) in sorted(holders.items(), key=lambda held: held[0][0]):
        for wrong in others if (offset, entry) in begun else ():
            same_cluster = wrong.replica.cluster_id == right.replica.cluster_id
            if same_cluster or (id(right), id(wrong)) in told:
                continue
            told.add((id(right), id(wrong)))
            message = (
                f"cluster.id {wrong.replica.cluster_id}, but {right.shown} of cluster "
                f"{right.replica.cluster_id} holds the same record at offset {offset}"
            )
            rule, file = groups.CLUSTER_ID_MISMATCH, wrong.meta_properties
            yield wrong, rule.at(file, message, offset=offset, epoch=entry.epoch)


def _judge_leaders(members: Sequence[GroupMember]) -> Iterator[Told]:
    first: dict[int, GroupMember] = {}
    for member in members:
        leader, epoch, file = member.leader_id, member.leader_epoch, member.quorum_state
        if leader is None or leader == NO_NODE or epoch is None:
            continue
        other = first.setdefault(epoch, member)
        if leader != other.leader_id:
            message = f"leader {leader} of epoch {epoch}; {other.leader_id} by {other.quorum_state}"
            yield member, groups.TWO_LEADERS.at(file, message, epoch=epoch)


def _judge_voters(members: Sequence[GroupMember]) -> Iterator[Told]:
    naming = [member for member in members if member.current_voters]
    for member in naming:
        voters, first = sorted(member.current_voters), sorted(naming[0].current_voters)
        if voters != first:
            message = f"voters {voters}; {first} by {naming[0].quorum_state}"
            rule, file = groups.VOTER_SETS_DIFFER, member.quorum_state
            yield member, rule.at(file, message, epoch=member.leader_epoch)


def _judge_initial_voters(members: Sequence[GroupMember]) -> Iterator[Told]:
    """Compare each node that names initial voters with the first node that names some."""
    naming = [member for member in members if member.initial_voters]
    for member in naming:
        voters, first = member.initial_voters, naming[0].initial_voters
        if voters != first:
            by = naming[0].bootstrap_snapshot
            message = f"initial voters {_listed(voters)}; {_listed(first)} by {by}"
            file = member.bootstrap_snapshot
            yield member, groups.INITIAL_VOTERS_DIFFER.at(file, message, offset=0, epoch=0)


def _listed(voters: Collection[ReplicaKey]) -> str:
    return ", ".join(f"{voter.node_id}-{voter.directory_id}" for voter in sorted(voters))
