"""What Kafka's clients are told of offsets by a kraftlake quorum, and of groups, which it has none
of."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import AdminClient, OffsetSpec
from kafka.admin import OffsetSpec as PythonSpec

from tests.interop.reader_quorum import ORDERS, ReaderQuorum, is_acknowledgement, reader_quorum
from tests.interop.reading_clients import Reading, consumer

BATCHES = 4
EACH = 25
PARTITION = confluent_kafka.TopicPartition(ORDERS.name, 0)
PYTHON_PARTITION = kafka.TopicPartition(ORDERS.name, 0)
FAR_MS = 10**9
FIND_COORDINATOR = 10


@dataclass(frozen=True)
class World:
    """started_ms: later than the leader's first record, not later than the first value. end: the
    high watermark, with more in every log. newest: base offset of the last batch below it."""

    quorum: ReaderQuorum
    started_ms: int
    first: int
    newest: int
    end: int

    def reading(self, client_id: str) -> Reading:
        return Reading(self.quorum.bootstrap, ORDERS.name, client_id, "", "read_committed")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("offsets")
    with reader_quorum(folder, controller__quorum__fetch__timeout__ms=600_000) as quorum:
        first = quorum.nodes[quorum.leader()].high_watermark
        time.sleep(0.01)
        started_ms = int(time.time() * 1000)
        for number in range(BATCHES):
            newest = quorum.nodes[quorum.leader()].high_watermark
            time.sleep(0.01)
            end = quorum.append([b"%d-%d" % (number, each) for each in range(EACH)], batch=EACH)
        quorum.replicated(end)
        quorum.proxies.held = lambda call: is_acknowledgement(call, end)
        time.sleep(0.01)
        quorum.append([b"uncommitted"], is_committed=False)
        yield World(quorum, started_ms, first, newest, end)


def test_confluent_kafka_is_told_where_the_committed_log_begins_and_ends(world: World) -> None:
    reader = consumer(world.reading("confluent-offsets"))
    try:
        assert reader.get_watermark_offsets(PARTITION) == (0, world.end)
        for at, expected in (
            (0, 0),
            (world.started_ms, world.first),
            (world.started_ms + FAR_MS, confluent_kafka.OFFSET_END),
        ):
            asked = confluent_kafka.TopicPartition(ORDERS.name, 0, at)
            (found,) = reader.offsets_for_times([asked], timeout=10)
            assert found.offset == expected
    finally:
        reader.close()


@pytest.mark.parametrize("isolation", list(confluent_kafka.IsolationLevel))
def test_confluent_kafkas_administrator_lists_offsets_with_their_epochs(
    world: World, isolation: confluent_kafka.IsolationLevel
) -> None:
    administrator = AdminClient({"bootstrap.servers": world.quorum.bootstrap})
    _, epoch = world.quorum.leadership(world.quorum.leader())
    for spec, expected in (
        (OffsetSpec.earliest(), 0),
        (OffsetSpec.latest(), world.end),
        (OffsetSpec.max_timestamp(), world.newest),
        (OffsetSpec.for_timestamp(world.started_ms), world.first),
    ):
        asked = administrator.list_offsets({PARTITION: spec}, isolation_level=isolation)
        found = asked[PARTITION].result(timeout=10)
        assert (found.offset, found.leader_epoch) == (expected, epoch)


def test_kafka_python_is_told_the_same(world: World) -> None:
    reader = kafka.KafkaConsumer(bootstrap_servers=world.quorum.bootstrap.split(","), group_id=None)
    try:
        assert reader.topics() == {ORDERS.name}
        assert reader.beginning_offsets([PYTHON_PARTITION]) == {PYTHON_PARTITION: 0}
        assert reader.end_offsets([PYTHON_PARTITION]) == {PYTHON_PARTITION: world.end}
        (found,) = reader.offsets_for_times({PYTHON_PARTITION: world.started_ms}).values()
        assert found.offset == world.first
        (found,) = reader.offsets_for_times({PYTHON_PARTITION: world.started_ms + FAR_MS}).values()
        assert found is None
    finally:
        reader.close()
    administrator = kafka.KafkaAdminClient(bootstrap_servers=world.quorum.bootstrap.split(","))
    try:
        asked = {PYTHON_PARTITION: PythonSpec.MAX_TIMESTAMP}
        (found,) = administrator.list_partition_offsets(asked).values()
        assert found.offset == world.newest
    finally:
        administrator.close()


def test_a_subscription_by_confluent_kafka_gets_no_partition_and_asks_for_no_coordinator(
    world: World,
) -> None:
    reader = consumer(world.reading("confluent-group"))
    try:
        reader.subscribe([ORDERS.name])
        assert reader.poll(2.0) is None
        assert reader.assignment() == []
    finally:
        reader.close()
    asked = {call.api_key for call in world.quorum.proxies.of("confluent-group")}
    assert FIND_COORDINATOR not in asked


def test_a_group_of_kafka_python_is_refused_at_the_first_poll(world: World) -> None:
    servers = world.quorum.bootstrap.split(",")
    reader = kafka.KafkaConsumer(ORDERS.name, bootstrap_servers=servers, group_id="readers")
    try:
        with pytest.raises(kafka.errors.IncompatibleBrokerVersion, match="FindCoordinator"):
            reader.poll(timeout_ms=10_000)
    finally:
        reader.close(autocommit=False)
