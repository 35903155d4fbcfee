"""A real Prometheus scrapes `kraftlake replica observe --metrics` beside real quorums: no alert
fires while all is well, the right ones in incidents that are made, and every query of the dashboard
has data."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from replica.metadata.codec import encode
from replica.metadata.record import new_record
from tests.interop.kafka_cluster import BROKER, CONTROLLERS, STARTED, KafkaCluster
from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import free_ports
from tests.interop.observer_process import ObserverProcess
from tests.monitoring.prometheus import (
    OF_THE_LAST_QUARTER,
    Prometheus,
    needs_prometheus,
    prometheus,
    queries,
)
from tests.replica.consumer.quorum import Quorum
from tests.replica.consumer.quorum import running as quorum_running
from tests.replica.doctor.watching.quorum import broker, page, topic_with_partition

pytestmark = [pytest.mark.slow, needs_prometheus]
SNAPSHOTS = "Age of the newest snapshot"


def observer(folder: Path, bootstrap: str) -> tuple[ObserverProcess, int]:
    (port,) = free_ports(1)
    return ObserverProcess(folder, bootstrap, "--metrics", f"127.0.0.1:{port}"), port


def wait_until_ready(port: int) -> None:
    """Until the recording shows what the quorum commits: records that come then are counted."""
    deadline = time.monotonic() + 60
    while page(port, "/readyz")[0] != 200:
        assert time.monotonic() < deadline, page(port, "/readyz")[1]
        time.sleep(0.2)


def without_data(server: Prometheus) -> set[str]:
    """Panels of which a query gives nothing."""
    return {title for title, query in queries() if not server.values(query)}


def wait_for_data(server: Prometheus, *, missing: set[str]) -> None:
    deadline = time.monotonic() + 90
    while (found := without_data(server) - missing) and time.monotonic() < deadline:
        time.sleep(1)
    assert not found, "these panels have no data"


def partition_change(topic: int, **changed: object) -> bytes:
    """A change of partition 0. changed: the fields of the record that say what is new."""
    fields = {"partitionId": 0, "topicId": f"{topic:021}A", **changed}
    return encode(new_record("PARTITION_CHANGE_RECORD", 0, fields))


def large_record(number: int) -> bytes:
    fields = {
        "resourceType": 2,
        "resourceName": "topic-1",
        "name": "retention.ms",
        "value": f"{number:020000}",
    }
    return encode(new_record("CONFIG_RECORD", 0, fields))


async def a_voter_stops(quorum: Quorum, server: Prometheus) -> None:
    leader = await quorum.leader()
    follower = next(node_id for node_id in quorum.nodes if node_id != leader)
    await quorum.stop(follower)
    await asyncio.to_thread(server.wait_for, "KraftlakeVoterSilent", "KraftlakeNoVoterMayFail")
    quorum.start(follower)
    await asyncio.to_thread(server.wait_for_silence)


async def a_partition_loses_its_leader(quorum: Quorum, server: Prometheus) -> None:
    await quorum.append(partition_change(1, leader=-1))
    fired = await asyncio.to_thread(server.wait_for, "KraftlakeClusterBroken")
    assert fired <= {"KraftlakeClusterBroken", *OF_THE_LAST_QUARTER}
    await quorum.append(partition_change(1, leader=1))
    await asyncio.to_thread(server.wait_for_silence)


async def a_partition_loses_a_replica_in_sync(quorum: Quorum, server: Prometheus) -> None:
    await quorum.append(partition_change(1, isr=(1,)))
    await asyncio.to_thread(server.wait_for, "KraftlakeClusterUnwell")
    await quorum.append(partition_change(1, isr=(1, 2)))
    await asyncio.to_thread(server.wait_for_silence)


async def a_follower_misses_many_records(quorum: Quorum, server: Prometheus) -> None:
    """The records that the follower misses are large as well, so that the log grows fast."""
    leader = await quorum.leader()
    follower = next(node_id for node_id in quorum.nodes if node_id != leader)
    await quorum.stop(follower)

    async def append_until_told() -> None:
        while True:
            await asyncio.gather(*(quorum.append(large_record(number)) for number in range(50)))
            await asyncio.sleep(0.2)

    appending = asyncio.create_task(append_until_told())
    alerts = ("KraftlakeReplicaLags", "KraftlakeLogGrows")
    try:
        await asyncio.to_thread(server.wait_for, *alerts)
    finally:
        appending.cancel()
        await asyncio.wait((appending,))
    quorum.start(follower)
    await asyncio.to_thread(server.wait_for_silence)


async def leaders_resign_again_and_again(quorum: Quorum, server: Prometheus) -> None:
    for _ in range(5):
        leader = await quorum.leader()
        await quorum.stop(leader)
        await quorum.leader()
        quorum.start(leader)
    await asyncio.to_thread(server.wait_for, "KraftlakeElectionsFrequent")
    await asyncio.to_thread(server.wait_for_silence)


async def the_majority_stops(quorum: Quorum, server: Prometheus, port: int) -> None:
    stopped = []
    for _ in range(2):
        stopped.append(next(iter(quorum.nodes)))
        await quorum.stop(stopped[-1])
    await asyncio.to_thread(server.wait_for, "KraftlakeNoLeader")
    status, text = await asyncio.to_thread(page, port, "/readyz")
    assert status == 503
    assert "no-leader" in text
    for node_id in stopped:
        quorum.start(node_id)
    await asyncio.to_thread(server.wait_for_silence)


def test_alerts_fire_on_incidents_of_a_kraftlake_quorum_and_are_silent_between(tmp_path):
    async def story() -> None:
        async with quorum_running(tmp_path, voters=3, topic_id=None) as quorum:
            await quorum.append(broker(1), broker(2), *topic_with_partition(1))
            bootstrap = ",".join(f"{host}:{port}" for host, port in quorum.bootstrap)
            process, port = observer(tmp_path / "recording", bootstrap)
            with process:
                await asyncio.to_thread(process.wait_for, "metrics at")
                await asyncio.to_thread(wait_until_ready, port)
                with prometheus(tmp_path / "prometheus", port) as server:
                    await asyncio.to_thread(server.wait_for_silence)
                    await quorum.append(*topic_with_partition(2))
                    await asyncio.to_thread(wait_for_data, server, missing={SNAPSHOTS})
                    assert server.firing() == set()
                    await a_voter_stops(quorum, server)
                    await a_partition_loses_its_leader(quorum, server)
                    await a_partition_loses_a_replica_in_sync(quorum, server)
                    await a_follower_misses_many_records(quorum, server)
                    assert "KraftlakeElectionsFrequent" not in server.firing()
                    await leaders_resign_again_and_again(quorum, server)
                    await the_majority_stops(quorum, server, port)
                    assert process.stop() == 0
                    await asyncio.to_thread(server.wait_for, "KraftlakeDown")

    asyncio.run(story())


def test_alerts_fire_on_incidents_of_a_kafka_cluster_and_are_silent_between(tmp_path):
    class_path_or_skip(NEWEST)
    settings = {
        "metadata.log.max.record.bytes.between.snapshots": 3000,
        "broker.session.timeout.ms": 4000,
    }
    with KafkaCluster(tmp_path, settings) as cluster:
        from tests.interop.test_observe_kafka import Load

        load = Load(cluster.broker)
        load.topics("first", 10)
        process, port = observer(tmp_path / "recording", cluster.controllers)
        with process:
            process.wait_for("metrics at")
            wait_until_ready(port)
            with prometheus(tmp_path / "prometheus", port) as server:
                server.wait_for_silence()
                load.topics("second", 10)
                wait_for_data(server, missing=set())
                assert server.firing() == set()

                follower = next(each for each in CONTROLLERS if each != cluster.leader())
                cluster.nodes[follower].kill()
                server.wait_for("KraftlakeVoterSilent", "KraftlakeNoVoterMayFail")
                restart(cluster, follower)
                server.wait_for_silence()

                cluster.nodes[BROKER].kill()
                server.wait_for("KraftlakeClusterBroken")
                restart(cluster, BROKER)
                server.wait_for_silence()

                for node_id in CONTROLLERS[:2]:
                    cluster.nodes[node_id].kill()
                server.wait_for("KraftlakeNoLeader")
                assert page(port, "/readyz")[0] == 503
                for node_id in CONTROLLERS[:2]:
                    restart(cluster, node_id)
                server.wait_for_silence()
                assert page(port, "/readyz")[0] == 200


def restart(cluster: KafkaCluster, node_id: int) -> None:
    cluster.nodes[node_id].start()
    cluster.nodes[node_id].wait_for(STARTED)
