"""Finds disks of one cluster that are in the place of another cluster's disks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from replica.doctor.check.group_member import GroupMember
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.format.formatted import FormattedDirectory
from replica.model.keys import ReplicaId


@dataclass(frozen=True, slots=True)
class ForeignDisk:
    """A disk of one cluster that was given in the place of another cluster's disk."""

    disk: GroupMember
    """The directory that was given in the place of another cluster's directory."""
    home: tuple[GroupMember, ...]
    """The directories of the cluster that has this node as a voter and lacks the voter's disk."""
    instead: frozenset[int]
    """The nodes of the home cluster that are also voters of the disk's cluster."""


@dataclass(frozen=True, slots=True)
class ClusterMixture:
    """The given directories that are in the place of another cluster's directories."""

    disks: tuple[ForeignDisk, ...] = ()
    """The disks that are in the place of another cluster's disks."""
    formatted_apart: tuple[tuple[GroupMember, ...], ...] = ()
    """The directories of nodes that name each other as voters, have several cluster ids, and hold
    no record: a tuple for each quorum."""
    owners: frozenset[ReplicaId] = frozenset()
    """The replicas whose metadata logs were given."""
    formatted: tuple[FormattedDirectory, ...] = ()
    """The given directories without a metadata log."""

    def elsewhere(self, cluster_id: str | None) -> frozenset[int]:
        """The voters of a cluster whose only directories here belong to another cluster."""
        nodes: set[int] = set()
        for one in self.disks:
            if one.home[0].replica.cluster_id == cluster_id:
                nodes.add(one.disk.replica.node_id)
            elif one.disk.replica.cluster_id == cluster_id:
                nodes |= one.instead
        for quorum in self.formatted_apart:
            own = {one.replica.cluster_id == cluster_id for one in quorum}
            if own == {True, False}:
                nodes |= {
                    one.replica.node_id for one in quorum if one.replica.cluster_id != cluster_id
                }
        return frozenset(nodes)

    def without_log(self, cluster_id: str | None) -> dict[int, FormattedDirectory]:
        """The directories without a metadata log that may belong to nodes of this cluster, by node
        id. A node whose metadata log was given is left out, and so is a directory with partitions,
        whose node has its metadata log in another directory. A directory whose cluster id no given
        log has may belong to a node of any cluster."""
        clusters = {one.cluster_id for one in self.owners} - {cluster_id}
        logs = {one.node_id for one in self.owners if one.cluster_id == cluster_id}
        return {
            one.replica.node_id: one
            for one in self.formatted
            if one.replica.node_id not in logs
            and one.replica.cluster_id not in clusters
            and not one.has_partitions
        }

    def directories(self, cluster_id: str | None) -> dict[int, frozenset[str]]:
        """The ids of the given directories of this cluster, by node id."""
        found: dict[int, set[str]] = {}
        for one in (*self.owners, *(each.replica for each in self.formatted)):
            if one.cluster_id == cluster_id:
                found.setdefault(one.node_id, set()).add(one.directory_id)
        return {node: frozenset(ids) for node, ids in found.items()}

    def doubted(self, quorum: KnownQuorum, cluster_id: str | None) -> KnownQuorum:
        """The quorum of a cluster, with the doubts about voters whose own directories were not
        given although other directories of their nodes were."""
        known = quorum.with_doubt(VoterDoubt.OF_ANOTHER_CLUSTER, self.elsewhere(cluster_id))
        return known.with_doubt(VoterDoubt.NO_LOG, self.without_log(cluster_id).keys())


NO_MIXTURE = ClusterMixture()


def mixture_of(group: Sequence[GroupMember]) -> ClusterMixture:
    """The ClusterMixture of `group`, without owners and formatted: the directories that lie in the
    place of another cluster's directories."""
    clusters: dict[str, list[GroupMember]] = {}
    for member in sorted(group, key=lambda member: member.replica):
        clusters.setdefault(member.replica.cluster_id, []).append(member)
    if len(clusters) < 2:
        return NO_MIXTURE
    apart = tuple(_formatted_apart(clusters.values()))
    known = {one.replica.cluster_id for quorum in apart for one in quorum}
    others = [members for cluster_id, members in clusters.items() if cluster_id not in known]
    return ClusterMixture(tuple(_foreign_disks(others)), apart)


def _formatted_apart(
    clusters: Iterable[Sequence[GroupMember]],
) -> Iterator[tuple[GroupMember, ...]]:
    """The directories of each quorum whose nodes were formatted with several cluster ids."""
    quorums: dict[frozenset[int], list[Sequence[GroupMember]]] = {}
    for members in clusters:
        if not any(one.has_records for one in members):
            quorums.setdefault(_voters_of(members), []).append(members)
    for voters, parts in quorums.items():
        quorum = sorted(
            (one for part in parts for one in part), key=lambda one: one.replica.node_id
        )
        nodes = [one.replica.node_id for one in quorum]
        if len(parts) > 1 and len(set(nodes)) == len(nodes) and voters.issuperset(nodes):
            yield tuple(quorum)


def _voters_of(members: Iterable[GroupMember]) -> frozenset[int]:
    return frozenset().union(*(one.voters for one in members))


def _foreign_disks(clusters: Iterable[Sequence[GroupMember]]) -> Iterator[ForeignDisk]:
    """The disks of one cluster whose nodes are voters without a directory in another cluster here.
    A disk counts only if its own cluster also has voters without a directory. The cluster that
    lacks the disk is the cluster with records, else the larger cluster, else the cluster with the
    lowest node id."""
    ordered = sorted(
        clusters,
        key=lambda one: (
            not any(each.has_records for each in one),
            -len(one),
            min(each.replica.node_id for each in one),
        ),
    )
    given = [frozenset(one.replica.node_id for one in cluster) for cluster in ordered]
    voters = [_voters_of(cluster) for cluster in ordered]
    seen: set[int] = set()
    for place, home in enumerate(ordered):
        for other in range(place + 1, len(ordered)):
            absent = voters[other] - given[other]
            if not absent:
                continue
            for disk in ordered[other]:
                if id(disk) in seen or disk.replica.node_id not in voters[place] - given[place]:
                    continue
                seen.add(id(disk))
                yield ForeignDisk(disk, tuple(home), absent & given[place])
