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
from replica.metadata.image.state import TOPIC_RESOURCE
from replica.words import counted, ms_text, named, shortened

_JUDGES: tuple[Callable[[Cluster], Iterator[Finding]], ...] = (
    judge_quorum, judge_migration, judge_features, judge_brokers, judge_partitions,
    judge_placement, judge_reassignments, judge_configs,
)  # fmt: skip

_SHOWN = 3


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
    records = counted(cluster.end_offset - start, "record")
    made = f", of {made}" if (made := _changed_since(cluster, start)) else ""
    offsets = (
        f"offsets {start} to {cluster.end_offset - 1} ({records}{made}) are on "
        f"{cluster.holders_of(start)}"
    )
    stopped = cluster.stopped_together
    if not stopped:
        return health.STATE_NOT_COMMITTED.at(cluster.file, offsets, offset=start)
    voters = named("voter", [str(one) for one in sorted(stopped)])
    since = ms_text(cluster.uncommitted_at)
    message = f"{voters} stopped before {since}, at one offset, and {offsets}"
    return health.MAJORITY_STOPPED.at(cluster.file, message, offset=start)


def _changed_since(cluster: Cluster, start: int) -> str:
    """The topics of the state whose newest record, or that of their partitions or configs, is at
    `start` or behind it, such as `topics a and b`; "" where there are none."""
    names = cluster.values("topics")
    found = {
        *(names[key] for key, offset in cluster.offsets("topics").items() if offset >= start),
        *(
            names[key[0]]
            for key, offset in cluster.offsets("partitions").items()
            if offset >= start and key[0] in names
        ),
        *(
            key[1]
            for key, offset in cluster.offsets("configs").items()
            if offset >= start and key[0] == TOPIC_RESOURCE
        ),
    }
    return named("topic", [shortened(one) for one in sorted(found)], limit=_SHOWN) if found else ""
