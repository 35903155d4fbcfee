"""`kraftlake plan --finish-migration` at each moment of a real migration from ZooKeeper. The
moments are rows of MIGRATION.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replica.metadata.image.settings import MIGRATION, POST_MIGRATION, PRE_MIGRATION, migration_name
from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.migrating_cluster import BROKERS, VERSION, MigratingCluster
from tests.interop.result_page import MIGRATION_PAGE, hold
from tests.kraftlake_process import kraftlake


@pytest.mark.slow
def test_a_migration_may_end_once_no_broker_of_zookeeper_is_left(tmp_path: Path) -> None:
    class_path_or_skip(VERSION)
    with MigratingCluster(tmp_path / "cluster") as cluster:
        cluster.start_zookeeper()
        for number in BROKERS:
            cluster.start_broker(number, "zookeeper")
        cluster.create_topic("orders")
        cluster.controller.format(cluster.cluster_id)
        cluster.start_controller(migrates=True)
        _hold(cluster, "the controller waits for the brokers", PRE_MIGRATION)
        for number in BROKERS:
            cluster.start_broker(number, "migrating")
        _hold(cluster, "both brokers have registered, and the metadata is copied", MIGRATION)
        first, second = BROKERS
        cluster.start_broker(first, "kraft")
        _hold(cluster, "the first broker runs in KRaft mode", MIGRATION, of_zookeeper=(second,))
        cluster.start_broker(second, "kraft")
        _hold(cluster, "both brokers run in KRaft mode", MIGRATION, of_zookeeper=())
        cluster.start_controller(migrates=False)
        _hold(cluster, "the controller runs without the migration", POST_MIGRATION, of_zookeeper=())


def _hold(
    cluster: MigratingCluster, moment: str, state: int, of_zookeeper: tuple[int, ...] | None = None
) -> None:
    """Wait for the state, and hold the answer to the table. of_zookeeper: the registered brokers of
    ZooKeeper to wait for."""
    cluster.wait_for(state, moment, of_zookeeper)
    ran = kraftlake("plan", "--finish-migration", "--json", str(cluster.controller.log_dir))
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    (answer,) = (row for row in rows if row["kind"] == "plan")
    unsafe = [one["subject"] for one in answer["reasons"] if one["answer"] == "unsafe"]
    hold(
        MIGRATION_PAGE,
        (moment,),
        (migration_name(state), answer["answer"], ", ".join(unsafe) or "-"),
    )
