"""Compares what the directories of a group say about their own identity, their leader, and the
voters. members_of gathers these facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from replica.doctor.check.catalogue import groups
from replica.doctor.check.examined import Examined, by_cluster, keys_of
from replica.doctor.check.group_member import GroupMember
from replica.doctor.check.history_log import replica_log
from replica.doctor.check.mixture import NO_MIXTURE, ClusterMixture, mixture_of
from replica.doctor.check.partition import partition_of
from replica.doctor.check.rule import Finding, Subject
from replica.format.control import KRaftVoters
from replica.format.directory import SnapshotFile
from replica.format.file_names import FileKind
from replica.format.formatted import FormattedDirectory
from replica.history.log import LogBatch
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch, election_order
from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey
from replica.model.voters import VoterKeys
from replica.words import listed, named

RULES = (
    groups.DUPLICATE_IDENTITY, groups.TWO_LEADERS, groups.VOTER_SETS_DIFFER,
    groups.INITIAL_VOTERS_DIFFER, groups.CLUSTER_ID_MISMATCH, groups.METADATA_LOG_TWICE,
    groups.DISK_OF_ANOTHER_CLUSTER, groups.VOTER_WITHOUT_OWN_DISK, groups.CLUSTER_IDS_DIFFER,
)  # fmt: skip
"""The rules of the findings that judge_membership makes."""


def members_of(group: Sequence[Examined]) -> list[GroupMember]:
    """The GroupMember of each directory whose replica is known. Logs are read only if there are at
    least two clusters, because only the rule about two clusters needs the logs' entries."""
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
    last = None if examined.last_batch is None else examined.last_batch.header
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
        voters=frozenset(voter.node_id for voter in examined.stated_voters),
        log_end=None if last is None else OffsetAndEpoch(last.next_offset, last.leader_epoch),
        has_records=any(one.id != BOOTSTRAP_SNAPSHOT for one in examined.directory.snapshots)
        or not all(one.scan.is_empty for one in examined.directory.segments),
    )


def _initial_voters(examined: Examined, bootstrap: SnapshotFile) -> VoterKeys:
    for _, _, message in examined.control_records(bootstrap):
        if isinstance(message, KRaftVoters):
            return keys_of(message)
    return frozenset()


def mixture_in(
    group: Iterable[Examined], formatted: Iterable[FormattedDirectory] = ()
) -> ClusterMixture:
    """The ClusterMixture of the directories in `group`: those that are in the place of another
    cluster's directories. formatted: the directories without a metadata log."""
    of_metadata = [one for one in group if partition_of(one).is_metadata]
    is_mixed = len(by_cluster(of_metadata)) > 1  # else their logs need not be read
    mixture = mixture_of(members_of(of_metadata)) if is_mixed else NO_MIXTURE
    owners = frozenset(one.replica for one in of_metadata if one.replica is not None)
    return replace(mixture, owners=owners, formatted=tuple(formatted))


DirectoryFinding = tuple[GroupMember, Finding]
"""The directory that a finding is about, and the finding."""


def judge_membership(group: Sequence[GroupMember]) -> Iterator[DirectoryFinding]:
    """Findings of the rules that compare small files, and of the rule that compares the first
    records of clusters with different ids."""
    members = sorted(group, key=lambda member: member.replica)
    clusters: dict[str, list[GroupMember]] = {}
    for member in members:
        clusters.setdefault(member.replica.cluster_id, []).append(member)
    twice: set[int] = set()
    for cluster in clusters.values():
        for member, finding in _judge_node_ids(cluster, members):
            if finding.rule is groups.METADATA_LOG_TWICE:
                twice.add(id(member))
            yield member, finding
        yield from _judge_leaders(cluster)
        yield from _judge_voters(cluster)
        yield from _judge_initial_voters(cluster)
    for member, finding in _repeated_directory_ids(members):
        if id(member) not in twice:
            yield member, finding
    renamed = list(_judge_clusters(members))
    yield from renamed
    yield from _judge_disks(mixture_of(members), {id(member) for member, _ in renamed})


def _judge_disks(mixture: ClusterMixture, renamed: Collection[int]) -> Iterator[DirectoryFinding]:
    """Findings about disks that lie in the place of another cluster's disks: for the cluster of the
    disk, and for the cluster that lacks a disk. renamed: Python's id() of each member that already
    has a finding about its cluster id (_judge_clusters)."""
    for quorum in mixture.formatted_apart:
        ids = {one.replica.cluster_id for one in quorum}
        each = listed([f"node {one.replica.node_id} {one.replica.cluster_id}" for one in quorum])
        message = (
            f"{len(quorum)} nodes that name each other as voters have {len(ids)} cluster ids, and "
            f"no log holds a record: {each}"
        )
        for member in quorum:
            found = groups.CLUSTER_IDS_DIFFER.at(member.meta_properties, message)
            yield member, _about(found, mixture.elsewhere(member.replica.cluster_id))
    told: set[str] = set()
    for one in mixture.disks:
        node_id, home = one.disk.replica.node_id, one.home
        nodes = [str(each.replica.node_id) for each in home]
        message = (
            f"node {node_id}'s disk is of another cluster: it is of "
            f"{one.disk.replica.cluster_id}, and {named('node', nodes)} "
            f"{'is' if len(nodes) == 1 else 'are'} of {home[0].replica.cluster_id}, whose voter "
            f"{node_id} has no other directory here"
        )
        if id(one.disk) not in renamed:
            rule, file = groups.DISK_OF_ANOTHER_CLUSTER, one.disk.meta_properties
            yield one.disk, _about(rule.at(file, message), one.instead)
        if message in told:  # already reported for another disk of this node
            continue
        told.add(message)
        rule, file = groups.VOTER_WITHOUT_OWN_DISK, home[0].meta_properties
        yield home[0], _about(rule.at(file, message), {node_id})


def _about(finding: Finding, nodes: Iterable[int]) -> Finding:
    """The finding with these nodes as its subjects: voters of its cluster for which a directory of
    another cluster was given."""
    what = "its directory here is of another cluster"
    return replace(finding, subjects=tuple(Subject(f"node {node}", what) for node in sorted(nodes)))


def _judge_node_ids(
    cluster: Sequence[GroupMember], members: Sequence[GroupMember]
) -> Iterator[DirectoryFinding]:
    """Findings about directories with the same node id. If they lie in one folder, and this folder
    has no directory of another node, they are two log directories of one node; otherwise they
    belong to two nodes. members: all directories of the group."""
    nodes_in: dict[str, set[int]] = {}
    for one in members:
        nodes_in.setdefault(one.parent, set()).add(one.replica.node_id)
    first: dict[int, GroupMember] = {}
    for member in cluster:
        node_id = member.replica.node_id
        other = first.setdefault(node_id, member)
        if other is member:
            continue
        if member.parent and other.parent == member.parent and len(nodes_in[member.parent]) == 1:
            message = f"node {node_id} has one in {other.shown} too{_newer(other, member)}"
            yield member, groups.METADATA_LOG_TWICE.at(member.meta_properties, message)
        else:
            message = f"node id {node_id} is that of {other.shown} too"
            yield member, groups.DUPLICATE_IDENTITY.at(member.meta_properties, message)


def _newer(a: GroupMember, b: GroupMember) -> str:
    """The end of a message that says which of two logs is newer."""
    if a.log_end is None or b.log_end is None or a.log_end == b.log_end:
        return ""
    newer, end = max(
        ((one, one.log_end) for one in (a, b) if one.log_end is not None),
        key=lambda found: election_order(found[1]),
    )
    return f"; the newer is {newer.shown}, with log end offset {end.offset} in epoch {end.epoch}"


def _directory_id(member: GroupMember) -> str | None:
    directory_id = member.replica.directory_id
    return None if directory_id == ZERO_UUID else directory_id


def _repeated_directory_ids(members: Sequence[GroupMember]) -> Iterator[DirectoryFinding]:
    first: dict[str, GroupMember] = {}
    for member in members:
        value = _directory_id(member)
        if value is None:
            continue
        other = first.setdefault(value, member)
        if other is not member:
            message = f"directory id {value} is that of {other.shown} too"
            yield member, groups.DUPLICATE_IDENTITY.at(member.meta_properties, message)


def _judge_clusters(members: Sequence[GroupMember]) -> Iterator[DirectoryFinding]:
    """Findings about logs that have different cluster ids, and hold the same entry. Only entries
    that are the first entry of a log are compared.

    All members that hold one entry are compared with a single member: the first member of the
    cluster with the most members. Each member of another cluster gets a finding. Comparing all
    pairs would give too many findings.
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


def _judge_leaders(members: Sequence[GroupMember]) -> Iterator[DirectoryFinding]:
    """Findings about two leaders of one epoch. There are none if directories name different voters:
    this difference explains the two leaders, and no voter voted twice."""
    if len({frozenset(one.current_voters) for one in members if one.current_voters}) > 1:
        return
    first: dict[int, GroupMember] = {}
    for member in members:
        leader, epoch, file = member.leader_id, member.leader_epoch, member.quorum_state
        if leader is None or leader == NO_NODE or epoch is None:
            continue
        other = first.setdefault(epoch, member)
        if leader != other.leader_id:
            message = f"epoch {epoch} has leader {leader} here"
            message += f", and leader {other.leader_id} in {other.quorum_state}"
            yield member, groups.TWO_LEADERS.at(file, message, epoch=epoch)


def _judge_voters(members: Sequence[GroupMember]) -> Iterator[DirectoryFinding]:
    naming = [member for member in members if member.current_voters]
    for member in naming:
        voters, first = sorted(member.current_voters), sorted(naming[0].current_voters)
        if voters != first:
            message = f"voters {voters} here, and {first} in {naming[0].quorum_state}"
            message += _leaders(member, naming[0])
            rule, file = groups.VOTER_SETS_DIFFER, member.quorum_state
            yield member, rule.at(file, message, epoch=member.leader_epoch)


def _leaders(member: GroupMember, other: GroupMember) -> str:
    """A text about the different leaders that two directories name for one epoch; "" if there are
    none."""
    named = {one.leader_id for one in (member, other)} - {None, NO_NODE}
    if member.leader_epoch != other.leader_epoch or len(named) < 2:
        return ""
    of_both = f"{member.leader_id} here, and {other.leader_id} there"
    return f"; the leader of epoch {member.leader_epoch} is {of_both}"


def _judge_initial_voters(members: Sequence[GroupMember]) -> Iterator[DirectoryFinding]:
    """Compare each node that names initial voters with the first node that names some."""
    naming = [member for member in members if member.initial_voters]
    for member in naming:
        voters, first = member.initial_voters, naming[0].initial_voters
        if voters != first:
            by = naming[0].bootstrap_snapshot
            message = f"initial voters {_listed(voters)} here, and {_listed(first)} in {by}"
            file = member.bootstrap_snapshot
            yield member, groups.INITIAL_VOTERS_DIFFER.at(file, message, offset=0, epoch=0)


def _listed(voters: Collection[ReplicaKey]) -> str:
    return ", ".join(f"{voter.node_id}-{voter.directory_id}" for voter in sorted(voters))
