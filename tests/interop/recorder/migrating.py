"""A cluster that was migrated from ZooKeeper before it is played."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from replica.metadata.image.settings import MIGRATION, POST_MIGRATION, PRE_MIGRATION
from tests.interop.migrating_cluster import BROKERS, PARTITIONS, MigratingCluster


class Migrated(NamedTuple):
    """What a migrated cluster has already. topics: their numbers of partitions."""

    cluster_id: str
    topics: dict[str, int]


def migrated(folder: Path) -> Migrated:
    """Migrates a cluster in this folder. Its topics are made before, during and after the copy of
    its metadata. At the end the cluster is stopped."""
    topics: dict[str, int] = {}
    with MigratingCluster(folder) as cluster:

        def create(name: str) -> None:
            cluster.create_topic(name)
            topics[name] = PARTITIONS

        cluster.start_zookeeper()
        for number in BROKERS:
            cluster.start_broker(number, "zookeeper")
        create("of-zookeeper")
        cluster.controller.format(cluster.cluster_id)
        cluster.start_controller(migrates=True)
        cluster.wait_for(PRE_MIGRATION, "the controller's wait for the brokers")
        for number in BROKERS:
            cluster.start_broker(number, "migrating")
        cluster.wait_for(MIGRATION, "the copy of the metadata")
        create("of-both")
        for number in BROKERS:
            cluster.start_broker(number, "kraft")
        cluster.wait_for(MIGRATION, "brokers in KRaft mode", of_zookeeper=())
        cluster.start_controller(migrates=False)
        cluster.wait_for(POST_MIGRATION, "the end of the migration", of_zookeeper=())
        create("of-kraft")
        return Migrated(cluster.cluster_id, topics)
