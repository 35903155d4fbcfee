"""Judges the directories of one capture group by all rules: each directory on its own, and the
directories against each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from replica.doctor.check.damaged import changed_files
from replica.doctor.check.directory import DirectoryFacts, gather, judge_directory, judge_snapshots
from replica.doctor.check.elections import judge_elections
from replica.doctor.check.examined import Examined, by_cluster
from replica.doctor.check.first_election import formatted_nodes, judge_first_election
from replica.doctor.check.formatted import judge_emptied
from replica.doctor.check.group_member import GroupMember
from replica.doctor.check.known_quorum import (
    ComparedLogs,
    EarlierRounds,
    compared_logs,
    known_quorum_of,
)
from replica.doctor.check.lineage import LogParting, judge_lineage, partings_of
from replica.doctor.check.membership import judge_membership, members_of, mixture_in
from replica.doctor.check.mixture import ClusterMixture
from replica.doctor.check.newest import (
    ClusterState,
    QuorumRole,
    cluster_id_of,
    cluster_state,
    end_of,
    newest_directories,
    role_of,
)
from replica.doctor.check.other_logs import (
    ClusterLogs,
    beside_other_logs,
    cluster_logs,
    torn_beside,
)
from replica.doctor.check.partition import PartitionFolder, by_partition
from replica.doctor.check.replay_fold import FoldedImages, Watch
from replica.doctor.check.replaying import replay_log
from replica.doctor.check.rule import Finding, by_severity
from replica.doctor.check.same_snapshots import judge_same_snapshots
from replica.doctor.check.snapshot_validity import SnapshotVerdict
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.format.formatted import FormattedDirectory
from replica.format.snapshot import SnapshotState
from replica.metadata.image.image import Image
from replica.model.epochs import OffsetAndEpoch
from replica.model.voters import VoterKeys


@dataclass(frozen=True)
class JudgedDirectory:
    """The judgement of one directory."""

    examined: Examined
    partition: PartitionFolder
    role: QuorumRole | None
    """The role of the directory's node by the newest voter set in its cluster's logs; None if
    unknown (see role_of)."""
    role_by_own_log: QuorumRole | None
    """The role by the node's own files; None if unknown. The node starts in this role. It differs
    from `role` if the node's log lacks the newest voter set."""
    findings: tuple[Finding, ...]
    """All findings about the directory, the worst first. They name files relative to the node's log
    directory."""
    verdicts: tuple[SnapshotVerdict, ...]
    """The verdicts on snapshots. Their findings are also in `findings`."""


@dataclass(frozen=True, slots=True)
class _ClusterLogs:
    """The facts that the metadata logs of a cluster show together."""

    voters: VoterKeys
    """The voters that the newest log names; empty if it names none."""
    elections: ClusterLogs
    """The facts about elections that all logs of the cluster show together. One log shows only a
    part of them."""
    ends: Mapping[int, int]
    """Where the log of each node ends (exclusive)."""
    images: Mapping[OffsetAndEpoch, Image]
    """The states by the replays of all logs of the cluster. If two logs have a record with the same
    offset and epoch, they have the same records below it (Raft's log matching), so one state is
    valid for both."""


@dataclass(frozen=True, slots=True)
class GroupQuorum:
    """The quorum of one cluster in a group of directories. A divergence is only visible between the
    logs of two replicas, so one directory without findings proves little."""

    cluster_id: str
    voters: VoterKeys
    """The voters by the directory whose log an election would prefer (Examined.stated_voters)."""
    missing: VoterKeys
    """The voters without a directory in the group."""
    nodes: frozenset[int]
    """The node ids of the cluster's directories in the group."""
    without_log: frozenset[int] = frozenset()
    """The nodes for which a directory without a metadata log was given."""

    @property
    def absent(self) -> frozenset[int]:
        """The nodes of voters for which no directory was given."""
        return frozenset(one.node_id for one in self.missing) - self.without_log


@dataclass(frozen=True)
class JudgedGroup:
    """The judgement of several directories. `quorums` and `states` are in the order of the
    directories."""

    members: tuple[JudgedDirectory, ...]
    findings: tuple[Finding, ...]
    """The findings of the rules that compare directories, sorted with the worst first; they name
    files as the user does."""
    quorums: tuple[GroupQuorum, ...]
    """The quorum of each cluster. A cluster is left out if no file names its id or its voters."""
    states: tuple[ClusterState, ...] = ()
    """The newest state of each cluster; empty if the caller doesn't want them."""
    partings: tuple[tuple[str, LogParting], ...] = ()
    """(cluster id, parting) for each place where a metadata log diverges from others."""
    compared: tuple[ComparedLogs, ...] = ()
    """The compared metadata logs of each cluster with several directories or with earlier
    rounds."""
    emptied: tuple[tuple[str | None, Finding], ...] = ()
    """(cluster id, finding) for each voter that ran, and whose only directory here has no metadata
    log."""


def judge_group(
    group: Sequence[Examined],
    watch: Watch | None = None,
    *,
    replay: bool = True,
    newest: bool = False,
    earlier: EarlierRounds | None = None,
    formatted: Sequence[FormattedDirectory] = (),
) -> JudgedGroup:
    """Judge directories that were captured together.

    watch: a function that is called with the progress (Watch).
    replay: whether to replay all records; False leaves out the rules about the content of snapshots
        and about records that can't be applied.
    newest: whether the newest state of each cluster is wanted.
    earlier: earlier rounds of the same replicas; None if there are none.
    formatted: log directories without a metadata log beside them.
    """
    ends = frozenset(
        snapshot.id
        for examined in group
        for snapshot in examined.directory.snapshots
        if snapshot.id is not None and snapshot.state is SnapshotState.COMPLETE
    )
    gathered = [gather(examined) for examined in group]
    parts = by_partition(gathered, lambda facts: facts.partition)
    compared = [_compared(part, earlier) for part in parts]
    of_metadata = tuple(_of_metadata(parts, compared))
    # by id: others may be equal
    telling = {id(one) for one in newest_directories(group, of_metadata)}
    replays = [
        replay_log(facts.examined, ends, watch, newest=newest and id(facts.examined) in telling)
        if replay and facts.partition.is_metadata
        else FoldedImages()
        for facts in gathered
    ]
    logs = _logs_by_cluster(gathered, replays, telling)
    members = tuple(
        _judged(facts, replayed, logs[cluster_id_of(facts.examined)])
        for facts, replayed in zip(gathered, replays, strict=True)
    )
    named = [members_of([facts.examined for facts in part]) for part in parts]
    between = [
        finding
        for part, clusters, own in zip(parts, compared, named, strict=True)
        for finding in _judge_between(part, clusters, own)
    ]
    mixture = mixture_in(group, formatted)
    emptied = _emptied([one for one in gathered if id(one.examined) in telling], compared, mixture)
    partings = tuple(
        (logs.members[0][0].owner.cluster_id, parting)
        for logs in of_metadata
        for parting in partings_of(logs)
    )
    states = tuple(
        cluster_state(facts.examined, replayed, _known(facts, compared, mixture), group, mixture)
        for facts, replayed in zip(gathered, replays, strict=True)
        if newest and replay and id(facts.examined) in telling
    )
    quorums = (_quorum(facts, gathered, mixture) for facts in _naming(gathered, telling))
    return JudgedGroup(
        members,
        tuple(sorted(between, key=by_severity)),
        tuple(quorum for quorum in quorums if quorum is not None),
        states,
        partings,
        of_metadata,
        emptied,
    )


def _naming(
    gathered: Sequence[DirectoryFacts], telling: Collection[int]
) -> Iterator[DirectoryFacts]:
    """For each cluster, the directory that names its voters: the directory with the newest log or,
    before the first record, the first directory that names voters. telling: as in _logs_by_cluster.
    """
    known = {cluster_id_of(one.examined) for one in gathered if id(one.examined) in telling}
    for facts in gathered:
        cluster_id = cluster_id_of(facts.examined)
        if id(facts.examined) in telling:
            yield facts
            continue
        is_asked = cluster_id not in known and facts.partition.is_metadata
        if is_asked and facts.examined.stated_voters:
            known.add(cluster_id)
            yield facts


def _of_metadata(
    parts: Sequence[Sequence[DirectoryFacts]], compared: Sequence[Sequence[ComparedLogs]]
) -> Iterator[ComparedLogs]:
    """The compared logs that are metadata logs. parts: the directories of each partition."""
    for part, clusters in zip(parts, compared, strict=True):
        if part[0].partition.is_metadata:
            yield from clusters


def _emptied(
    newest: Sequence[DirectoryFacts],
    compared: Sequence[Sequence[ComparedLogs]],
    mixture: ClusterMixture,
) -> tuple[tuple[str | None, Finding], ...]:
    """(cluster id, finding) as in JudgedGroup. newest: the newest directory of each cluster."""
    return tuple(
        (cluster_id, finding)
        for facts in (newest if mixture.formatted else ())
        for cluster_id in [cluster_id_of(facts.examined)]
        for finding in judge_emptied(
            _known(facts, compared, mixture), mixture.without_log(cluster_id)
        )
    )


def _quorum(
    newest: DirectoryFacts, group: Sequence[DirectoryFacts], mixture: ClusterMixture
) -> GroupQuorum | None:
    cluster_id = cluster_id_of(newest.examined)
    voters = newest.examined.stated_voters
    if cluster_id is None or not voters:
        return None
    replicas = (facts.examined.replica for facts in group if facts.partition.is_metadata)
    keys = {one.key for one in replicas if one is not None and one.cluster_id == cluster_id}
    missing = {voter for voter in voters if not any(map(voter.matches, keys))}
    return GroupQuorum(
        cluster_id,
        voters,
        frozenset(missing),
        frozenset(key.node_id for key in keys),
        frozenset(mixture.without_log(cluster_id)),
    )


def _compared(part: Sequence[DirectoryFacts], earlier: EarlierRounds | None) -> list[ComparedLogs]:
    """The compared logs of each cluster with several directories in this part, or with possible
    earlier rounds. Earlier rounds are about the metadata log."""
    if not part[0].partition.is_metadata:
        earlier = None
    clusters = by_cluster([facts.examined for facts in part])
    least = 2 if earlier is None else 1
    return [compared_logs(members, earlier) for members in clusters if len(members) >= least]


def _known(
    newest: DirectoryFacts, compared: Sequence[Sequence[ComparedLogs]], mixture: ClusterMixture
) -> KnownQuorum:
    """What the directories of a cluster prove about its quorum. newest: the cluster's newest
    directory."""
    logs = (one for clusters in compared for one in clusters)
    of_cluster = (
        one for one in logs if any(member is newest.examined for member, _ in one.members)
    )
    quorum = known_quorum_of(next(of_cluster, None) or compared_logs([newest.examined]))
    return mixture.doubted(quorum, cluster_id_of(newest.examined))


def _judge_between(
    part: Sequence[DirectoryFacts],
    compared: Sequence[ComparedLogs],
    named: Sequence[GroupMember],
) -> Iterator[Finding]:
    """Findings of the rules that compare replicas of one partition. compared: their logs, by
    cluster. named: what the replicas' files say about themselves."""
    for _, finding in judge_membership(named):
        yield finding
    yield from judge_lineage(compared)
    if part[0].partition.is_metadata:
        group = [facts.examined for facts in part]
        yield from judge_same_snapshots(group)
        yield from judge_first_election(formatted_nodes(group))


def _judged(facts: DirectoryFacts, replayed: FoldedImages, logs: _ClusterLogs) -> JudgedDirectory:
    """Judge one directory. logs: the metadata logs of its cluster."""
    verdicts = tuple(judge_snapshots(facts, {**logs.images, **replayed.images}))
    findings = [
        *judge_directory(facts, replayed),
        *(finding for verdict in verdicts for finding in (*verdict.broken, *verdict.notes)),
        *changed_files(facts.examined),  # must come last: earlier rules read these files
    ]
    own = voters = facts.examined.stated_voters
    if facts.partition.is_metadata:
        end = end_of(facts.examined)
        replica = facts.examined.replica
        node_id = None if replica is None else replica.node_id
        findings = [
            torn_beside(beside_other_logs(one, end, logs.elections), node_id, logs.ends)
            for one in findings
        ]
        voters = logs.voters or own
    return JudgedDirectory(
        facts.examined,
        facts.partition,
        role_of(facts.examined, voters),
        role_of(facts.examined, own),
        tuple(sorted(findings, key=by_severity)),
        verdicts,
    )


def _logs_by_cluster(
    gathered: Sequence[DirectoryFacts], replays: Sequence[FoldedImages], telling: Collection[int]
) -> dict[str | None, _ClusterLogs]:
    """The metadata logs of each cluster, by cluster id. The key None stands for directories of an
    unknown cluster. telling: Python's id() of each directory with its cluster's newest log."""
    clusters: dict[str | None, list[tuple[DirectoryFacts, FoldedImages]]] = {}
    for facts, replayed in zip(gathered, replays, strict=True):
        clusters.setdefault(cluster_id_of(facts.examined), []).append((facts, replayed))
    return {
        cluster_id: _logs_of(cluster_id, members, telling)
        for cluster_id, members in clusters.items()
    }


def _logs_of(
    cluster_id: str | None,
    members: Sequence[tuple[DirectoryFacts, FoldedImages]],
    telling: Collection[int],
) -> _ClusterLogs:
    """The metadata logs of one cluster. Directories without a known cluster may belong to several
    clusters, so they share only states, which are identified by offset and epoch."""
    images = {end: image for _, replayed in members for end, image in replayed.images.items()}
    newest = next((facts for facts, _ in members if id(facts.examined) in telling), None)
    if newest is None or cluster_id is None:
        return _ClusterLogs(frozenset(), ClusterLogs(), {}, images)
    is_idle = any(judge_elections(newest.idle))
    of_metadata = [facts.examined for facts, _ in members if facts.partition.is_metadata]
    return _ClusterLogs(
        newest.examined.stated_voters,
        cluster_logs(of_metadata, None if is_idle else end_of(newest.examined)),
        _ends(of_metadata),
        images,
    )


def _ends(of_metadata: Iterable[Examined]) -> dict[int, int]:
    known = [(one.replica, end_of(one)) for one in of_metadata]
    return {one.node_id: end.offset for one, end in known if one is not None and end is not None}
