"""The evidence on each cluster of directories that were checked together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, islice

from replica.doctor.check.behind import behind_newest
from replica.doctor.check.catalogue import groups
from replica.doctor.check.examined import Examined
from replica.doctor.check.group import GroupQuorum, JudgedDirectory, JudgedGroup
from replica.doctor.check.lineage import LogParting
from replica.doctor.check.newest import (
    ClusterState,
    QuorumRole,
    cluster_id_of,
    cluster_members,
)
from replica.doctor.check.put_back import other_end_text, put_back_text
from replica.doctor.check.rule import Finding
from replica.doctor.health.absent import absent_brokers
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.copy_first import copies_first
from replica.doctor.health.emptied import emptied_brokers
from replica.doctor.health.judging import judge_health
from replica.doctor.health.leaderless import Outages, leaderless_in_restart, outages_of
from replica.doctor.health.of_directories import cluster_of, steps_of
from replica.doctor.health.refusals import Refusal, refusals
from replica.doctor.health.refusing import still_refusing
from replica.doctor.health.returning import returning
from replica.doctor.health.rewound import RewoundPartitions, VisibleChange
from replica.doctor.health.set_aside import SetAside, set_aside_in
from replica.doctor.health.startable import releases_text
from replica.doctor.quorum.histories import LogConflict
from replica.doctor.quorum.log_ends import Behind
from replica.doctor.verdict.evidence import (
    MAX_STEPS,
    PASSED_OVER,
    ClusterEvidence,
    PlacedFinding,
    ToLose,
    leaderless,
    losses_of,
    never_written,
    refusing,
    unled_of,
    voters_of,
)
from replica.doctor.verdict.verdict import Gap, KnownState, MissingVoters
from replica.model.keys import ReplicaKey
from replica.words import counted, listed, named

_HOLDERS = 3


@dataclass(frozen=True)
class JudgedCluster:
    """One cluster whose directories were checked together."""

    cluster_id: str | None
    members: tuple[JudgedDirectory, ...]
    """The cluster's directories, by node."""
    findings: tuple[Finding, ...]
    """The findings of the comparison of the cluster's directories, the worst first."""
    partings: tuple[LogParting, ...]
    quorum: GroupQuorum | None
    state: ClusterState | None
    cluster: Cluster | None
    """The judged state of the cluster; None if no state was judged."""
    health: tuple[Finding, ...] | None
    """The findings about the state, the worst first; None if no state was judged."""

    @cached_property
    def behind(self) -> tuple[Behind | None, ...]:
        """For each member how far it is behind the newest log; None if unknown (behind_newest)."""
        logs = [one.examined for one in self.members]
        return behind_newest(logs, self.partings, self._beside())

    @cached_property
    def steps(self) -> Iterable[VisibleChange]:
        """The changes that led to the state, the newest first, by a second replay of logs that
        aren't too long, when they are first asked for. Empty if the state's log is too long."""
        cluster, told = self.cluster, self.state
        if cluster is None or told is None or _is_too_long(told.examined, cluster):
            return ()
        members = cluster_members(told.examined, (one.examined for one in self.members))
        others = [one for one in members if not _is_too_long(one, cluster)]
        return _Kept(steps_of(told.examined, cluster.end_offset, others))

    @cached_property
    def outages(self) -> Outages | None:
        """The outages; None if no state is known, or if the log is too long."""
        cluster, told = self.cluster, self.state
        if cluster is None or told is None or _is_too_long(told.examined, cluster):
            return None
        return outages_of(RewoundPartitions.of(cluster), self.steps)

    @cached_property
    def refusals(self) -> tuple[Refusal, ...]:
        """The times during which partitions refused writes, as far as their beginning is known."""
        if self.cluster is None or self.outages is None:
            return ()
        return refusals(self.cluster, self.outages, self.steps)

    def _beside(self) -> frozenset[ReplicaKey]:
        """The replicas whose logs conflict with the log from which the state comes."""
        told = self.state
        if told is None or told.quorum is None or told.examined.replica is None:
            return frozenset()
        own = told.examined.replica.key
        pairs = ({one.a, one.b} for one in told.quorum.conflicts)
        return frozenset().union(*(pair - {own} for pair in pairs if own in pair))

    def findings_of(self, member: JudgedDirectory) -> Iterator[Finding]:
        """The findings about a directory, also those that compare it with others."""
        yield from member.findings
        yield from (one for one in self.findings if names_file_of(one, member))

    def name_of(self, member: JudgedDirectory) -> str:
        """The name of the directory's node, such as `node 2`; the directory's path if no file names
        the node. If several directories of this node were given, the name also has the directory.
        """
        replica, shown = member.examined.replica, member.examined.shown
        if replica is None:
            return shown
        others = (one.examined.replica for one in self.members if one is not member)
        is_alone = all(one is None or one.node_id != replica.node_id for one in others)
        return f"node {replica.node_id}" + ("" if is_alone else f" ({shown})")


def clusters_of(
    judged: JudgedGroup, broker_defaults: Mapping[str, str], *, of_files: bool = True
) -> Iterator[JudgedCluster]:
    """The clusters of a group, in the order of their first directories. If the group has only one
    cluster, a directory that names no cluster belongs to it.

    broker_defaults: see Cluster. of_files: whether health is judged also for a segment or snapshot
    that is named without its directory, and may be an old one.
    """
    ids = list(dict.fromkeys(cluster_id_of(member.examined) for member in judged.members))
    known = [one for one in ids if one is not None]
    home = known[0] if len(known) == 1 else None
    for cluster_id in [one for one in ids if one is not None or home is None]:
        members = tuple(
            member
            for member in judged.members
            if (cluster_id_of(member.examined) or home) == cluster_id
        )
        yield _cluster(judged, cluster_id, members, broker_defaults, of_files=of_files)


def _cluster(
    judged: JudgedGroup,
    cluster_id: str | None,
    members: tuple[JudgedDirectory, ...],
    broker_defaults: Mapping[str, str],
    *,
    of_files: bool,
) -> JudgedCluster:
    told = next((one for one in judged.states if one.cluster_id == cluster_id), None)
    judges = told is not None and (told.examined.is_directory or of_files)
    findings = (
        *(one for one in judged.findings if any(names_file_of(one, each) for each in members)),
        *(finding for owner, finding in judged.emptied if owner == cluster_id),
    )
    cluster = cluster_of(told, broker_defaults) if told is not None and judges else None
    if cluster is not None:
        cluster = replace(cluster, unstartable=dict(_unstartable(members, findings)))
    return JudgedCluster(
        cluster_id,
        tuple(sorted(members, key=_by_node)),
        findings,
        tuple(parting for owner, parting in judged.partings if owner == cluster_id),
        next((one for one in judged.quorums if one.cluster_id == cluster_id), None),
        told,
        cluster,
        None if cluster is None else tuple(judge_health(cluster)),
    )


def _unstartable(
    members: Iterable[JudgedDirectory], findings: Sequence[Finding]
) -> Iterator[tuple[int, str]]:
    """The nodes that refuse to start with these directories, each with the reason. findings: the
    findings that compare directories."""
    for member in members:
        replica = member.examined.replica
        between = (one for one in findings if names_file_of(one, member))
        for finding in (*member.findings, *between):
            if replica is not None and finding.rule.keeps_from_starting:
                yield replica.node_id, f"{finding.rule.id}: {finding.message}"


def _by_node(member: JudgedDirectory) -> tuple[bool, int, str]:
    replica = member.examined.replica
    return replica is None, -1 if replica is None else replica.node_id, member.examined.shown


def names_file_of(finding: Finding, member: JudgedDirectory) -> bool:
    """Whether a finding of the comparison of directories is about a file of this directory. Such a
    finding names the file by the path that the user gave."""
    shown = member.examined.shown
    outer = os.path.join(os.path.dirname(shown), "")
    return finding.file == shown or finding.file.startswith((os.path.join(shown, ""), outer))


def evidence_of(
    judged: JudgedCluster, *, files: bool = True, health: bool = True, replay: bool = True
) -> ClusterEvidence:
    """The evidence on one cluster. files, health, replay: whether each of them was judged."""
    cluster = judged.cluster if health else None
    quorum = None if judged.cluster is None else judged.cluster.quorum
    return ClusterEvidence(
        cluster_id=judged.cluster_id,
        nodes=sum(member.examined.is_directory for member in judged.members),
        findings=tuple(_placed(judged)) if files else (),
        to_lose=_to_lose(judged.partings) if files else (),
        health=judged.health if health else None,
        partitions=0 if cluster is None else len(cluster.partitions),
        leaderless=None if cluster is None else leaderless(cluster, lambda: judged.steps),
        refusing=None if cluster is None else refusing(cluster, lambda: judged.steps),
        returning=() if cluster is None else returning(cluster),
        leaderless_in_restart={} if cluster is None else leaderless_in_restart(cluster),
        still_refusing={} if cluster is None else still_refusing(cluster),
        copy_first=() if cluster is None else copies_first(cluster),
        emptied=() if cluster is None else emptied_brokers(cluster),
        absent={} if cluster is None else absent_brokers(cluster),
        releases="" if cluster is None else releases_text(cluster),
        set_aside=(*_set_aside(judged),) if files else (),
        put_back=put_back_text(*_histories(judged)) if files else "",
        voters=() if judged.quorum is None else _names(judged.quorum.voters),
        known_voters=voters_of(quorum),
        unled=unled_of(quorum),
        unreliable=() if quorum is None else _names(quorum.unreliable),
        replaced=() if quorum is None else _names(quorum.replaced),
        state=_state(judged),
        missing=_missing(judged.quorum),
        gaps=tuple(_gaps(judged, health=health, replay=replay)),
    )


def _set_aside(judged: JudgedCluster) -> Iterator[SetAside]:
    if any(one.rule is groups.CONFLICT for one in judged.findings):
        yield from set_aside_in(one.examined for one in judged.members)


def _histories(judged: JudgedCluster) -> tuple[list[Examined], Sequence[LogConflict]]:
    quorum = None if judged.state is None else judged.state.quorum
    return [one.examined for one in judged.members], () if quorum is None else quorum.conflicts


def _names(voters: Iterable[ReplicaKey]) -> tuple[str, ...]:
    return tuple(str(key.node_id) for key in sorted(voters))


def _placed(judged: JudgedCluster) -> Iterator[PlacedFinding]:
    for member in judged.members:
        for finding in member.findings:
            yield PlacedFinding(judged.name_of(member), finding)
    for finding in judged.findings:
        holders = [judged.name_of(one) for one in judged.members if names_file_of(finding, one)]
        yield PlacedFinding(holders[0] if holders else finding.where, finding)


def _to_lose(partings: Sequence[LogParting]) -> tuple[ToLose, ...]:
    return losses_of(
        (
            ToLose(
                (str(one.loser.node_id),),
                one.offset if one.truncates_to is None else one.truncates_to,
                one.records,
                one.lost,
                if_stopped=one.if_stopped,
            ),
            one.others,
        )
        for one in partings
    )


class _Kept:
    """Steps that are read once, when they are asked for, and kept for the next question."""

    def __init__(self, steps: Iterable[VisibleChange]) -> None:
        self._rest, self._read = iter(steps), list[VisibleChange]()

    def __iter__(self) -> Iterator[VisibleChange]:
        for place in count():
            if place == len(self._read):
                self._read += islice(self._rest, 1)
            if place == len(self._read):
                return
            yield self._read[place]


def _is_too_long(examined: Examined, cluster: Cluster) -> bool:
    """Whether a log has more records than are replayed a second time."""
    return examined.directory.log_start_offset < cluster.end_offset - MAX_STEPS


def _state(judged: JudgedCluster) -> KnownState | None:
    told = judged.state
    if told is None or told.state is None:
        return None
    found = (judged.name_of(one) for one in judged.members if one.examined is told.examined)
    source = next(found, "")
    end = told.state.end.offset
    beyond = _beyond_voters(judged, end) or other_end_text(*_histories(judged), told.examined)
    return KnownState(end, told.last_timestamp, source, beyond)


def _beyond_voters(judged: JudgedCluster, end: int) -> str:
    """The text for KnownState.beyond_voters: "" unless voters and others were given, and no voter's
    log reaches `end`, the end (exclusive) of the state. It is "" too if all below `end` is proven
    to be committed, and the voters lag only as far as a copy of running nodes may."""
    cluster = judged.cluster
    whole = [one for one in judged.members if one.examined.is_directory]
    voters = [one for one in whole if one.role is QuorumRole.VOTER]
    if cluster is None or not voters or len(voters) == len(whole):
        return ""
    last = max((one.examined.directory.log_end_offset for one in voters), default=0)
    proven = end if cluster.unproven_from is None else cluster.unproven_from
    is_late = all(node_id in cluster.lags for node_id in _nodes_of(voters))
    if last >= end or not (is_late or proven < end):
        return ""
    told = "No voter's log given here holds a record"
    if last:
        told = f"No voter's log given here goes beyond offset {last - 1}"
    if cluster.quorum is not None:  # not each record before the first change without proof has one
        proven = min(proven, cluster.quorum.proven_end)
    newer, known = end - last, max(proven - last, 0)
    which = f"Of these {known} are" if known else "None of these is"
    if known == newer:
        which = "All of these are"
    held = listed([*_holders(judged, newer)], limit=_HOLDERS)
    return f"{told}. Of the {counted(newer, 'newer record')} {held}. {which} known to be committed"


def _holders(judged: JudgedCluster, count: int) -> Iterator[str]:
    """Which observers, such as brokers, hold the newest records, those that hold most of them
    first: `node 12 holds all`, `node 11 44`. count: the number of these records."""
    held = {
        judged.name_of(member): count - one.records
        for member, one in zip(judged.members, judged.behind, strict=True)
        if one is not None and one.records < count and member.role is not QuorumRole.VOTER
    }
    for place, name in enumerate(sorted(held, key=lambda name: -held[name])):
        many = "all" if held[name] == count else str(held[name])
        yield f"{name} holds {many}" if not place else f"{name} {many}"


def _nodes_of(members: Iterable[JudgedDirectory]) -> Iterator[int]:
    replicas = (one.examined.replica for one in members)
    return (one.node_id for one in replicas if one is not None)


def _missing(quorum: GroupQuorum | None) -> MissingVoters | None:
    if quorum is None or not quorum.missing:
        return None
    return MissingVoters(quorum.missing, len(quorum.voters), quorum.nodes, quorum.without_log)


def _gaps(judged: JudgedCluster, *, health: bool, replay: bool) -> Iterator[Gap]:
    quorum = judged.quorum
    alone = [one for one in judged.members if not one.examined.is_directory]
    if alone:
        yield Gap(
            "the rest of the directory",
            f"only {named('file', [one.examined.shown for one in alone], limit=2)} was given",
            "Name the directory that the file is from.",
        )
    cut = [judged.name_of(one) for one in judged.members if _is_cut(one)]
    if cut:
        yield Gap(f"files of {listed(cut, limit=3)}", "the copy with these files breaks off")
    if judged.cluster is not None and judged.cluster.passed_over:
        yield Gap(judged.cluster.passed_over, PASSED_OVER)
    if not replay:
        yield Gap("the content of snapshots, and the cluster's health", "--no-replay was given")
    elif not alone and health and judged.cluster is None and _has_metadata(judged):
        if all(_is_empty(one) for one in judged.members):
            yield never_written(None if quorum is None else quorum.absent)
        else:
            yield Gap("the cluster's state", "no log or snapshot here has a record that tells it")


def _is_empty(member: JudgedDirectory) -> bool:
    """Whether the log's files show that nothing was ever written to it."""
    directory = member.examined.directory
    return not directory.snapshots and all(one.scan.is_empty for one in directory.segments)


def _is_cut(member: JudgedDirectory) -> bool:
    return member.examined.is_directory and not member.examined.is_complete


def _has_metadata(judged: JudgedCluster) -> bool:
    return any(one.partition.is_metadata or one.role is not None for one in judged.members)
