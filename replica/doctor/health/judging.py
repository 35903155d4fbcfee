"""All rules of health over one cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, by_severity
from replica.doctor.health.brokers import judge_brokers
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.configs import judge_configs
from replica.doctor.health.features import judge_features
from replica.doctor.health.migration import judge_migration
from replica.doctor.health.partitions import judge_partitions
from replica.doctor.health.placement import judge_placement
from replica.doctor.health.quorum import judge_quorum
from replica.doctor.health.reassignments import judge_reassignments
from replica.words import ms_text, named

_JUDGES: tuple[Callable[[Cluster], Iterator[Finding]], ...] = (
    judge_quorum, judge_migration, judge_features, judge_brokers, judge_partitions,
    judge_placement, judge_reassignments, judge_configs,
)  # fmt: skip


def judge_health(cluster: Cluster) -> list[Finding]:
    """The findings, the worst first, one for each rule that reports something."""
    found = [finding for judge in _JUDGES for finding in judge(cluster)]
    if not cluster.is_whole:
        message = f"what is said here holds at offset {cluster.end_offset}, and the log goes on"
        found.append(health.STATE_NOT_WHOLE.at(cluster.file, message))
    if cluster.uncommitted_from is not None:
        found.append(_uncommitted(cluster, cluster.uncommitted_from))
    return sorted(found, key=by_severity)


def _uncommitted(cluster: Cluster, start: int) -> Finding:
    offsets = f"offsets {start} to {cluster.end_offset - 1} are on {cluster.holders_of(start)}"
    stopped = cluster.stopped_together
    if not stopped:
        return health.STATE_NOT_COMMITTED.at(cluster.file, offsets, offset=start)
    voters = named("voter", [str(one) for one in sorted(stopped)])
    since = ms_text(cluster.uncommitted_at)
    message = f"{voters} stopped before {since}, at one offset, and {offsets}"
    return health.MAJORITY_STOPPED.at(cluster.file, message, offset=start)
