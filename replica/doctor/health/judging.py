"""Judges a cluster by all rules of health. The rules about orphaned configs and the migration from
ZooKeeper are here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Subject, by_severity
from replica.doctor.health.brokers import judge_brokers
from replica.doctor.health.cluster import Cluster, Lag
from replica.doctor.health.features import judge_features
from replica.doctor.health.min_isrs import BROKER_RESOURCE
from replica.doctor.health.partitions import judge_partitions
from replica.doctor.health.placement import judge_placement
from replica.doctor.health.quorum import judge_quorum
from replica.doctor.health.reassignments import judge_reassignments
from replica.doctor.health.shortened import judge_shortened
from replica.doctor.health.unsupported import judge_unsupported
from replica.metadata.image.settings import (
    MIGRATION,
    POST_MIGRATION,
    PRE_MIGRATION,
    migration_name,
)
from replica.metadata.image.state import TOPIC_RESOURCE
from replica.model.keys import ReplicaKey
from replica.model.voters import majority
from replica.words import counted, duration_text, listed, ms_text, named, shortened, up_to


def judge_configs(cluster: Cluster) -> Iterator[Finding]:
    """One finding about all dynamic configs of topics and brokers that don't exist."""
    topics = set(cluster.values("topics").values())
    brokers = {str(broker_id) for broker_id in cluster.values("brokers")}
    offsets = cluster.offsets("configs")
    subjects = []
    for key in sorted(cluster.values("configs")):
        resource_type, resource, name = key
        if resource_type == TOPIC_RESOURCE and resource not in topics:
            subjects.append(Subject(f"topic {resource}", name, offsets[key]))
        elif resource_type == BROKER_RESOURCE and resource and resource not in brokers:
            subjects.append(Subject(f"broker {resource}", name, offsets[key]))
    message = f"{len(subjects)} of {len(offsets)} configs"
    yield from cluster.about(health.ORPHAN_CONFIG, message, subjects)


_OF_MIGRATION = {
    PRE_MIGRATION: health.MIGRATION_WAITS,
    MIGRATION: health.MIGRATION_RUNS,
    POST_MIGRATION: health.ZK_BROKER_LEFT,
}


def judge_migration(cluster: Cluster) -> Iterator[Finding]:
    """The finding about the state of the migration; none for a cluster without a migration, or with
    a migration that ended and has no ZooKeeper broker left."""
    state = cluster.zk_migration
    rule = _OF_MIGRATION.get(state)
    brokers = cluster.values("brokers")
    of_zookeeper = cluster.zk_brokers
    if rule is None or (rule is health.ZK_BROKER_LEFT and not of_zookeeper):
        return
    since = cluster.offsets("zk_migration").get("")
    offsets = cluster.offsets("brokers")
    subjects = [
        Subject("ZooKeeper migration", migration_name(state), since),
        *(Subject(f"broker {one}", "runs with ZooKeeper", offsets[one]) for one in of_zookeeper),
    ]
    others = sorted(set(brokers) - set(of_zookeeper))
    registered = ((of_zookeeper, "with ZooKeeper"), (others, "with KRaft"))
    which = [
        f"{named('broker', [str(one) for one in ids]) if ids else 'no broker'} {kind}"
        for ids, kind in registered
    ]
    message = f"the state is {migration_name(state)}; registered: {' and '.join(which)}"
    yield from cluster.about(rule, message, subjects)


_JUDGES: tuple[Callable[[Cluster], Iterator[Finding]], ...] = (
    judge_quorum, judge_migration, judge_features, judge_unsupported, judge_brokers,
    judge_partitions, judge_placement, judge_reassignments, judge_configs, judge_shortened,
)  # fmt: skip


_SHOWN = 3


def judge_health(cluster: Cluster) -> list[Finding]:
    """The findings, the worst first, one for each rule that reports something."""
    cluster = replace(cluster, by_verdict=None)  # the verdict is made of these findings
    found = [finding for judge in _JUDGES for finding in judge(cluster)]
    if not cluster.is_whole:
        message = f"what is said here holds {up_to(cluster.end_offset)}, and the log goes on"
        found.append(health.STATE_NOT_WHOLE.at(cluster.file, message))
    if cluster.uncommitted_from is not None:
        found.append(_uncommitted(cluster, cluster.uncommitted_from))
    if (quorum := cluster.quorum) is not None and quorum.is_leaderless:
        found.append(_without_quorum_leader(cluster, quorum.gave_up))
    return sorted(found, key=by_severity)


def _needed(voters: Collection[int]) -> str:
    """The end of a message that says how many votes a leader needs, of which voters; "" for a
    single voter."""
    if len(voters) < 2:
        return ""
    ids = listed([str(one) for one in sorted(voters)])
    return f"; a leader needs {majority(len(voters))} of the {len(voters)} voters ({ids})"


def _without_quorum_leader(cluster: Cluster, leader: ReplicaKey | None) -> Finding:
    who = "the last leader" if leader is None else f"node {leader.node_id}"
    since = "" if cluster.now is None else f" after {ms_text(cluster.now)}"
    lags = {
        one: cluster.lags[one]
        for one in sorted(cluster.voters & cluster.lags.keys())
        if one not in cluster.unreliable_voters
    }
    behind = [
        f"voter {one}'s log ends {duration_text(lag.ms)} earlier" for one, lag in lags.items()
    ]
    stopped = f"; {listed(behind)}" if behind else ""
    message = (
        f"{who} gave up leading{since}, and no directory here names a later leader{stopped}"
        f"{_needed(cluster.voters)}"
    )
    subjects = tuple(
        Subject(f"voter {one}", _log_end(lag), lag.end - 1) for one, lag in lags.items()
    )
    return replace(health.LEADER_GAVE_UP.at(cluster.file, message), subjects=subjects)


def _log_end(lag: Lag) -> str:
    return f"its log ends at offset {lag.end - 1}, {duration_text(lag.ms)} before the newest log"


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
    """The topics whose newest record, or the newest record of their partitions or configs, is at
    offset `start` or behind it, such as `topics a and b`; "" if there are none."""
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
