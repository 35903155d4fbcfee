"""The migration from ZooKeeper: whether it waits, is under way, or ended with brokers left."""

from __future__ import annotations

from collections.abc import Iterator

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Subject
from replica.doctor.health.cluster import Cluster, listed
from replica.metadata.image.settings import (
    MIGRATION,
    POST_MIGRATION,
    PRE_MIGRATION,
    migration_name,
)

_RULES = {
    PRE_MIGRATION: health.MIGRATION_WAITS,
    MIGRATION: health.MIGRATION_RUNS,
    POST_MIGRATION: health.ZK_BROKER_LEFT,
}


def judge_migration(cluster: Cluster) -> Iterator[Finding]:
    """The rule about the state that the migration is in; none for a cluster without a migration,
    and for one that ended with no broker left."""
    state = cluster.zk_migration
    rule = _RULES.get(state)
    brokers = cluster.values("brokers")
    of_zookeeper = cluster.zk_brokers
    if rule is None or (rule is health.ZK_BROKER_LEFT and not of_zookeeper):
        return
    since = cluster.offsets("zk_migration").get("")
    offsets = cluster.offsets("brokers")
    subjects = [
        Subject("ZooKeeper migration", migration_name(state), since),
        *(Subject(f"broker {one}", "of ZooKeeper", offsets[one]) for one in of_zookeeper),
    ]
    others = sorted(set(brokers) - set(of_zookeeper))
    which = f"brokers of ZooKeeper {listed(of_zookeeper)}, of KRaft {listed(others)}"
    message = f"{migration_name(state)}; registered {which}"
    yield from cluster.about(rule, message, subjects)
