"""`kraftlake replica observe` on a real Kafka cluster of three controllers and a broker:
under load, through kills of leaders, a start from a snapshot, and a divergence."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from replica.wire.apis.fetching import FETCH, FETCH_SNAPSHOT
from tests.interop.kafka_cluster import BROKER, CLUSTER_ID, CONTROLLERS, STARTED, KafkaCluster
from tests.interop.kafka_dump import kafka_dump
from tests.interop.kafka_node import free_ports, run_tool
from tests.interop.matrix import hold
from tests.interop.observer_process import (
    WITHIN_S,
    ObserverProcess,
    RecordingProxy,
    first_offset,
    log_bytes,
)
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow

SETTINGS = {
    "metadata.log.max.record.bytes.between.snapshots": 3000,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
OBSERVER_ID = 700


class Load:
    """Topics, configs and ACLs through an Admin client, as fast as they are taken, until stopped;
    what fails while nobody leads is left out."""

    def __init__(self, bootstrap: str) -> None:
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self.done = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def topics(self, prefix: str, count: int) -> None:
        """Created, however often it must be asked for."""
        deadline = time.monotonic() + WITHIN_S
        while not self.request_topics(prefix, count, wait_s=20):
            assert time.monotonic() < deadline, f"the topics {prefix} were never created"

    def request_topics(self, prefix: str, count: int, wait_s: float = 0) -> bool:
        """Whether all of them were there in time."""
        wanted = [NewTopic(f"{prefix}-{number}", 2, 1) for number in range(count)]
        futures = self.admin.create_topics(wanted, request_timeout=30).values()
        created = [_is_created(future, wait_s) for future in futures]
        return all(created)

    def wait_for(self, count: int) -> None:
        """Until so many more changes were taken."""
        wanted, deadline = self.done + count, time.monotonic() + WITHIN_S
        while self.done < wanted:
            assert time.monotonic() < deadline, f"{wanted - self.done} changes were never taken"
            time.sleep(0.1)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._stop.wait(0.05):
            number += 1
            with suppress(KafkaException, TimeoutError):
                self._change(f"load-{number}")
                self.done += 1

    def _change(self, name: str) -> None:
        if not self.request_topics(name, 1, wait_s=5):
            return
        entry = ConfigEntry("retention.ms", "86400000", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, f"{name}-0", incremental_configs=[entry])
        acl = AclBinding(
            ResourceType.TOPIC,
            name,
            ResourcePatternType.LITERAL,
            f"User:{name}",
            "*",
            AclOperation.READ,
            AclPermissionType.ALLOW,
        )
        futures = self.admin.incremental_alter_configs([resource], request_timeout=5)
        futures |= self.admin.create_acls([acl], request_timeout=5)
        for future in futures.values():
            future.result(5)


def _is_created(future: Future[None], wait_s: float) -> bool:
    try:
        future.result(wait_s)
    except KafkaException as error:
        return bool(error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS)
    except TimeoutError:
        return False
    return True


@dataclass
class Story:
    """What came of it. leader: the partition of the last one. held: the recording's log when the
    leader that could not commit died. listed: kafka-metadata-quorum's line
    of the observer, in each sample."""

    cluster: KafkaCluster
    observer: ObserverProcess
    leader: Path
    held: bytes
    listed: list[list[str]] = field(default_factory=list)


def quorum_line(cluster: KafkaCluster) -> list[str]:
    """NodeId DirectoryId LogEndOffset Lag LastFetch LastCaughtUp Status of the observer."""
    ran = run_tool(
        "org.apache.kafka.tools.MetadataQuorumCommand",
        "--bootstrap-controller",
        cluster.controllers,
        "describe",
        "--replication",
        version=cluster.version,
    )
    lines = [line.split() for line in ran.stdout.splitlines()]
    return next((line for line in lines if line[:1] == [str(OBSERVER_ID)]), [])


def has_snapshot(cluster: KafkaCluster, node_id: int) -> bool:
    found = {path.name for path in cluster.nodes[node_id].partition.glob("*.checkpoint")}
    return bool(found - {"00000000000000000000-0000000000.checkpoint"})


def restart(cluster: KafkaCluster, node_id: int) -> None:
    cluster.nodes[node_id].start()
    cluster.nodes[node_id].wait_for(STARTED)


def play_split(cluster: KafkaCluster, load: Load, observer: ObserverProcess) -> bytes:
    """The leader alone takes topics that can never commit, and the observer fetches them; then it
    dies and the others elect one of themselves. The observer's log before that, as bytes."""
    old = cluster.leader()
    others = [node_id for node_id in CONTROLLERS if node_id != old]
    for node_id in others:
        cluster.nodes[node_id].kill()
    load.request_topics("ghost", 5)
    cluster.wait_until(lambda: b"ghost-4" in log_bytes(observer.partition), "ghosts never observed")
    cluster.nodes[old].kill()
    held = log_bytes(observer.partition)
    for node_id in others:
        restart(cluster, node_id)
    cluster.leader(other_than=old)
    observer.wait_for("truncated to offset")
    restart(cluster, old)
    return held


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, kafka_version: str) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("observed")
    with KafkaCluster(folder, SETTINGS, kafka_version) as cluster:
        load = Load(cluster.broker)
        load.topics("first", 20)
        leader = cluster.leader()
        cluster.wait_until(lambda: has_snapshot(cluster, leader), "no snapshot")
        observer = ObserverProcess(
            folder / "recording", cluster.broker, "--node-id", str(OBSERVER_ID)
        )
        with observer:
            observer.wait_for("caught up at offset")
            with load:
                for _ in range(2):
                    old = cluster.leader()
                    cluster.nodes[old].kill()
                    cluster.leader(other_than=old)
                    restart(cluster, old)
                    load.wait_for(10)
                observer.kill()
                observer.start()
                observer.wait_for("caught up at offset", times=2)
                load.wait_for(10)
            held = play_split(cluster, load, observer)
            load.topics("last", 5)
            found = Story(cluster, observer, cluster.nodes[cluster.leader()].partition, held)
            for _ in range(6):
                found.listed.append(quorum_line(cluster))
                if found.listed[-1][3:4] == ["0"]:
                    break
            assert observer.stop() == 0
            yield found


def test_the_recording_starts_at_the_leaders_newest_snapshot(story: Story) -> None:
    assert "starting from snapshot" in story.observer.log
    start = first_offset(story.observer.partition)
    (ours,) = story.observer.partition.glob("*.checkpoint")
    assert start == int(ours.name[:20]) > 0
    theirs = [story.cluster.nodes[node].partition / ours.name for node in CONTROLLERS]
    assert ours.read_bytes() in [path.read_bytes() for path in theirs if path.exists()]


def test_the_recording_is_the_leaders_log_byte_for_byte(story: Story) -> None:
    start = first_offset(story.observer.partition)
    ours, theirs = log_bytes(story.observer.partition, start), log_bytes(story.leader, start)

    assert b"last-4" in ours
    assert len(ours) > 10_000
    assert theirs.startswith(ours)
    hold(story.cluster.version, "observer", "byte for byte")


def test_records_that_the_quorum_truncated_are_only_in_the_archive(story: Story) -> None:
    """Also what a leader that was killed under load had not yet got to the others."""
    entries = (story.observer.folder / "archive").glob("truncated-*")
    kept = [log_bytes(entry / "__cluster_metadata-0") for entry in entries]
    (ghosts,) = (data for data in kept if b"ghost-4" in data)
    end_of_held = story.held[story.held.index(ghosts[:100]) :]

    assert b"ghost-4" in end_of_held
    assert ghosts.startswith(end_of_held)
    # the Admin client may have asked the new leader again: other records, with other topic ids
    log = log_bytes(story.observer.partition)
    assert not any(data in log for data in kept)


def test_kafka_dump_log_reads_recording_and_archive(story: Story) -> None:
    files = sorted(story.observer.folder.rglob("*.log"))
    assert len(files) >= 2
    ran = kafka_dump(files, "--cluster-metadata-decoder", version=story.cluster.version)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "isvalid: false" not in ran.stdout
    assert '"name":"last-4"' in ran.stdout
    assert '"name":"ghost-4"' in ran.stdout


def test_kafka_lists_the_recorder_as_an_observer_without_lag(story: Story) -> None:
    assert all(line[-1] == "Observer" for line in story.listed)
    assert "0" in [line[3] for line in story.listed], story.listed


def test_our_own_check_and_dump_read_the_recording(story: Story) -> None:
    checked = kraftlake("check", story.observer.folder)
    assert checked.returncode == 0, checked.stdout
    dumped = kraftlake("dump", "--json", "--type", "TOPIC", story.observer.folder / "archive")
    names = {json.loads(line)["data"]["name"] for line in dumped.stdout.splitlines()}
    assert {f"ghost-{number}" for number in range(5)} <= names


def test_a_voters_id_never_reaches_a_fetch(story: Story, tmp_path: Path) -> None:
    """One voter is dead, so that all the leader hears of it would be the observer."""
    cluster = story.cluster
    leader = cluster.leader()
    dead = next(node_id for node_id in CONTROLLERS if node_id != leader)
    cluster.nodes[dead].kill()
    try:
        before = settled(lambda: last_fetch(cluster, leader, dead))
        with RecordingProxy(cluster.ports[leader]) as proxy:
            ran = observe(tmp_path / "r", f"127.0.0.1:{proxy.port}", "--node-id", str(dead))
        assert ran.returncode == 2
        assert f"node id {dead} is a voter's of this quorum" in ran.stderr
        assert len(proxy.asked) >= 3
        assert not {FETCH.key, FETCH_SNAPSHOT.key} & set(proxy.asked)
        assert last_fetch(cluster, leader, dead) == before
    finally:
        restart(cluster, dead)


def test_a_brokers_id_is_refused(story: Story, tmp_path: Path) -> None:
    ran = observe(tmp_path / "r", story.cluster.controllers, "--node-id", str(BROKER))

    assert ran.returncode == 2
    assert f"node id {BROKER} is another observer's" in ran.stderr


def test_an_anonymous_recording_is_taken_at_once_and_listed_by_nobody(
    story: Story, tmp_path: Path
) -> None:
    cluster = story.cluster
    options = ("--anonymous", "--until-caught-up", "--json")
    ran = observe(tmp_path / "r", cluster.controllers, *options)

    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["cluster_id"] == CLUSTER_ID
    assert told["log_end_offset"] >= told["high_watermark"] > told["log_start_offset"] > 0
    described = cluster.described(cluster.leader())
    assert described is not None
    assert {each["replicaId"] for each in described["observers"]} <= {BROKER, OBSERVER_ID}
    start = told["log_start_offset"]
    ours = log_bytes(tmp_path / "r" / "__cluster_metadata-0", start)
    leader = cluster.nodes[cluster.leader()].partition
    assert log_bytes(leader, start).startswith(ours)


def test_a_recording_is_served_to_a_kafka_client(story: Story, tmp_path: Path) -> None:
    from confluent_kafka import Consumer, TopicPartition

    (port,) = free_ports(1)
    options = ("--anonymous", "--listen", f"127.0.0.1:{port}")
    observer = ObserverProcess(tmp_path / "r", story.cluster.controllers, *options)
    with observer:
        observer.wait_for("caught up at offset")
        start = first_offset(observer.partition)
        # to commit offsets it would wait for a coordinator, which no replica has
        settings = {"group.id": "none", "enable.auto.commit": False}
        consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{port}", **settings})
        try:
            consumer.assign([TopicPartition("__cluster_metadata", 0, start)])
            got = [message.offset() for message in consumer.consume(1, timeout=30)]
        finally:
            consumer.close()
        assert got
        assert got[0] >= start


def last_fetch(cluster: KafkaCluster, leader: int, voter: int) -> tuple[Any, Any]:
    """When the leader heard of a voter last, and how far it was."""
    described = cluster.described(leader)
    assert described is not None
    (found,) = (each for each in described["currentVoters"] if each["replicaId"] == voter)
    return found["lastFetchTimestamp"], found["logEndOffset"]


def settled(look: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
    """What stays the same for longer than a fetch waits: as one of a voter that is dead ends, 500
    ms after it came, Kafka's leader counts it once more (KafkaRaftClient.handleFetchRequest)."""
    found = look()
    while True:
        time.sleep(1.0)
        before, found = found, look()
        if found == before:
            return found


def observe(folder: Path, bootstrap: str, *options: str) -> subprocess.CompletedProcess[str]:
    return kraftlake("replica", "observe", "-b", bootstrap, "-o", folder, *options)
