"""Defines what a verdict on a cluster is decided by. Directories and lakes give the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from replica.doctor.check.rule import Finding
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.leaderless import leaderless_partitions, leaderless_since
from replica.doctor.health.past import VisibleChange
from replica.doctor.verdict.verdict import (
    NO_LEADER_YET,
    NO_RECORD_HERE,
    Gap,
    KnownState,
    MissingVoters,
)
from replica.history.commitment import Losses

NO_LOG = Gap(
    "a cluster's state and logs",
    "nothing here has a metadata log that can be read",
    "Name the directories of nodes that have started.",
)
"""What can't be judged where no log was given, such as by directories that were only formatted."""
NEVER_LED = Gap(
    "the cluster's state",
    NO_LEADER_YET,
    "`kraftlake check --config` with the server.properties of each node says which nodes start and "
    "join. If all do, look in the controllers' logs for addresses at which no voter answers.",
)
NEVER_WRITTEN = Gap(
    "the cluster's state",
    NO_RECORD_HERE,
    "Add the directories of all voters. If their logs hold no record either, no voter was ever "
    "elected: `kraftlake check --config` says which nodes start and join.",
)
PASSED_OVER = "--pass-over says that they change no state of Kafka's"
"""Why records that a replay passes over aren't judged."""
MAX_STEPS = 200_000
"""The most offsets of a log that are taken back to find since when partitions have no leader."""


class PlacedFinding(NamedTuple):
    """A finding about files, and where it is: a node such as `node 2`, else a path."""

    where: str
    finding: Finding


class Since(NamedTuple):
    """Since when something holds. first_ms, last_ms: the times at which it began for the first and
    for the last of the things that it holds for, ms since 1970 (UTC). is_exact: False where it may
    have begun earlier than first_ms."""

    first_ms: int
    last_ms: int
    is_exact: bool = True


def leaderless(cluster: Cluster, steps: Callable[[], Iterable[VisibleChange]]) -> Since | None:
    """Since when partitions have no leader; None where none lacks one, or no time is known. steps:
    gives the changes that led to the state, newest first; not asked where it isn't needed."""
    keys = leaderless_partitions(cluster)
    if not keys:
        return None
    began = leaderless_since(keys, steps())
    times = [one.at for one in began.values() if one.at is not None]
    if not times:
        return None
    return Since(min(times), max(times), is_exact=len(times) == len(keys))


@dataclass(frozen=True, slots=True)
class ToLose:
    """Records that logs hold now, and lose once their nodes follow the others.

    nodes: the nodes, such as `2`. first: the first offset. records: their number; None where it
    isn't known which of the logs wins. lost: the records by their commitment; None likewise.
    meaning: what they would have changed, such as `5 topics with 15 partitions were never created`;
    "" where that isn't known.
    """

    nodes: tuple[str, ...]
    first: int
    records: int | None
    lost: Losses | None
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class ClusterEvidence:
    """What is known of one cluster."""

    cluster_id: str | None = None
    """None where nothing names the cluster."""
    nodes: int = 0
    """How many nodes' directories were given."""
    findings: tuple[PlacedFinding, ...] = ()
    """The findings about files and logs."""
    to_lose: tuple[ToLose, ...] = ()
    """What takes the place of findings of log-divergence."""
    health: tuple[Finding, ...] | None = None
    """The findings about the cluster's state; None where no state was judged."""
    partitions: int = 0
    """How many partitions the state has."""
    leaderless: Since | None = None
    """Since when partitions have no leader; None where none lacks one, or no time is known."""
    leaderless_in_restart: Mapping[int, int] = field(default_factory=dict)
    """See the function of this name."""
    voters: tuple[str, ...] = ()
    """The nodes that are voters, such as `2`; empty where that isn't known."""
    unreliable: tuple[str, ...] = ()
    """The voters whose disks were given and can't be relied on."""
    state: KnownState | None = None
    """The state that was judged; None where no state is known."""
    missing: MissingVoters | None = None
    """The voters of whom no directory was given; None where there are none, or none is known."""
    gaps: tuple[Gap, ...] = ()
    """What could not be judged besides."""

    def with_unread(self, unread: Iterable[Finding]) -> ClusterEvidence:
        """The evidence together with findings about what could not be read. Their places are their
        files."""
        placed = (PlacedFinding(finding.file, finding) for finding in unread)
        return replace(self, findings=(*self.findings, *placed))
