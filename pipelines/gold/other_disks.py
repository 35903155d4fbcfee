"""What directories that were captured together with a cluster show of the nodes of its voters:
disks of other clusters, and log directories without a metadata log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from replica.doctor.check.formatted import Judged, judge_formatted
from replica.doctor.check.mixture import ClusterMixture
from replica.doctor.check.rule import Finding
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import ABSENT, VoterDoubt
from replica.format.formatted import FormattedDirectory


class FormattedMember(NamedTuple):
    """The capture of a log directory without a metadata log, in a round."""

    capture_id: str
    directory: FormattedDirectory


@dataclass(frozen=True)
class RoundDirectories:
    """The directories that were captured in one ingest round."""

    logs: tuple[Judged, ...]
    """The directories with a metadata log."""
    formatted: tuple[FormattedMember, ...] = ()
    """The directories without a metadata log, sorted by name."""

    @property
    def clusters(self) -> frozenset[str]:
        """The clusters of which a metadata log was captured."""
        return frozenset(replica.cluster_id for replica, _ in self.logs)

    def findings(self) -> Iterator[tuple[FormattedMember, Finding]]:
        """The findings about the directories without a metadata log, made by comparing them with
        the other directories."""
        captures = {one.directory.meta_properties: one for one in self.formatted}
        for finding in judge_formatted([one.directory for one in self.formatted], self.logs):
            yield captures[finding.file], finding

    def beside(
        self,
        cluster_id: str,
        quorum: KnownQuorum,
        elsewhere: frozenset[int],
        unstartable: Mapping[int, str],
    ) -> BesideCluster:
        """What the round shows of the voters of a cluster. quorum: what the cluster's own
        directories prove. elsewhere, unstartable: as in BesideCluster."""
        mixture = ClusterMixture(
            owners=frozenset(replica for replica, _ in self.logs),
            formatted=tuple(one.directory for one in self.formatted),
        )
        captures = {one.directory: one for one in self.formatted}
        absent = {voter.key.node_id for voter in quorum.in_doubt(*ABSENT)}
        without_log = {
            node: captures[directory]
            for node, directory in mixture.without_log(cluster_id).items()
            if node in absent
        }
        return BesideCluster(elsewhere, without_log, unstartable)


@dataclass(frozen=True)
class BesideCluster:
    """Facts about voters whose own directories are missing in the newest captures of their cluster.
    Other directories of these voters' nodes were captured at the same time."""

    elsewhere: frozenset[int] = frozenset()
    """The nodes of which there are only directories of another cluster."""
    without_log: Mapping[int, FormattedMember] = field(default_factory=dict)
    """For each node with a directory without a metadata log: this directory."""
    unstartable: Mapping[int, str] = field(default_factory=dict)
    """For each node that refuses to start with all its directories: the rule and the finding, as in
    Cluster.unstartable."""

    def __bool__(self) -> bool:
        return bool(self.elsewhere or self.without_log or self.unstartable)

    def doubted(self, quorum: KnownQuorum) -> KnownQuorum:
        """The quorum, with doubts about the voters in `elsewhere` and `without_log`."""
        known = quorum.with_doubt(VoterDoubt.OF_ANOTHER_CLUSTER, self.elsewhere)
        return known.with_doubt(VoterDoubt.NO_LOG, self.without_log)


NOTHING_BESIDE = BesideCluster()
