"""A consumer reads from the leader and the followers of a quorum of kraftlake voters."""

import asyncio
from contextlib import aclosing

import pytest

from replica.consumer.client import AsyncConsumer
from replica.consumer.connections import WireConnections
from replica.consumer.selector import LeaderSelector, selector_named
from replica.consumer.session import Session, SessionSettings
from replica.consumer.translate import TopicPartition
from replica.consumer.values import FetchPosition, RefreshMetadata, ResetPolicy
from replica.model.kafka_errors import ErrorCode
from tests.replica.consumer.asking import Chosen
from tests.replica.consumer.quorum import TOPIC, running

WITHIN_S = 60
VALUES = [b"record %d" % number for number in range(20)]
PARTITION = TopicPartition(TOPIC)


def run(test, folder):
    async def main():
        async with running(folder) as quorum:
            await test(quorum)

    asyncio.run(asyncio.wait_for(main(), WITHIN_S))


def consumer_of(quorum, selector=None, start=None, rack="", policy=ResetPolicy.EARLIEST):
    session = Session(policy, selector or LeaderSelector(), start, SessionSettings(rack=rack))
    return aclosing(AsyncConsumer(session, WireConnections(quorum.bootstrap, PARTITION)))


async def read_to(consumer, end):
    """The offsets and values of the data records below the offset `end`."""
    found = []
    while consumer.session.position is None or consumer.session.position.offset < end:
        polled = await consumer.poll(1000)
        assert not polled.reports
        found += [(r.offset, r.record.value) for r in polled.records if not r.is_control]
    return found


async def end_of(quorum):
    return quorum.nodes[await quorum.leader()].driver.host.raft.high_watermark


def fetches(quorum):
    """The number of readers' fetches to which each node gave records."""
    return {node_id: node.partition.fetches for node_id, node in quorum.nodes.items()}


def test_every_committed_record_is_read_from_the_leader(tmp_path):
    async def test(quorum):
        await quorum.append(*VALUES)
        async with consumer_of(quorum) as consumer:
            found = await read_to(consumer, await end_of(quorum))
            assert [value for _, value in found] == VALUES
            assert consumer.session.high_watermark == consumer.session.position.offset
        assert [n for n, count in fetches(quorum).items() if count] == [await quorum.leader()]

    run(test, tmp_path)


def test_a_follower_serves_a_reader_that_selects_it(tmp_path):
    async def test(quorum):
        await quorum.append(*VALUES)
        leader = await quorum.leader()
        follower = next(n for n in quorum.nodes if n != leader)
        async with consumer_of(quorum, Chosen(follower)) as consumer:
            found = await read_to(consumer, await end_of(quorum))
            assert [value for _, value in found] == VALUES
        assert [n for n, count in fetches(quorum).items() if count] == [follower]

    run(test, tmp_path)


def test_a_leader_sends_a_reader_with_a_rack_to_the_replica_in_this_rack(tmp_path):
    async def test(quorum):
        await quorum.append(*VALUES)
        leader = await quorum.leader()
        follower = next(n for n in quorum.nodes if n != leader)
        quorum.tell_racks(leader)
        async with consumer_of(quorum, rack=f"rack-{follower}") as consumer:
            found = await read_to(consumer, await end_of(quorum))
            assert [value for _, value in found] == VALUES
        assert [n for n, count in fetches(quorum).items() if count] == [follower]

    run(test, tmp_path)


def test_records_that_come_while_a_fetch_waits_are_read_at_once(tmp_path):
    async def test(quorum):
        await quorum.append(*VALUES[:1])
        async with consumer_of(quorum) as consumer:
            await read_to(consumer, await end_of(quorum))
            assert not await consumer.poll(50)
            await quorum.append(*VALUES[1:3])
            found = await read_to(consumer, await end_of(quorum))
            assert [value for _, value in found] == VALUES[1:3]

    run(test, tmp_path)


def test_the_latest_offset_and_a_seek_with_an_epoch(tmp_path):
    async def test(quorum):
        await quorum.append(*VALUES)
        end = await end_of(quorum)
        async with consumer_of(quorum, policy=ResetPolicy.LATEST) as consumer:
            while consumer.session.position is None:
                await consumer.poll(50)
            assert consumer.session.position.offset == end
            consumer.session.seek(FetchPosition(end - 2, consumer.session.position.epoch))
            found = await read_to(consumer, end)
            assert [value for _, value in found] == VALUES[-2:]

    run(test, tmp_path)


@pytest.mark.parametrize("wish", ["leader", "follower"])
def test_a_leader_that_goes_is_followed_by_the_next_one_without_loss_or_repetition(tmp_path, wish):
    async def test(quorum):
        await quorum.append(*VALUES[:10])
        first = await quorum.leader()
        follower = next(n for n in quorum.nodes if n != first)
        selector = Chosen(follower if wish == "follower" else None)
        async with consumer_of(quorum, selector) as consumer:
            found = await read_to(consumer, await end_of(quorum))
            await quorum.stop(first)
            await quorum.append(*VALUES[10:])
            found += await read_to(consumer, await end_of(quorum))
            assert [value for _, value in found] == VALUES

    run(test, tmp_path)


def test_metadata_has_racks_round_trips_and_lag_for_selectors_that_measure(tmp_path):
    async def test(quorum):
        await quorum.append(*VALUES)
        connections = WireConnections(quorum.bootstrap, PARTITION, measures=True)
        try:
            metadata = await connections.call(RefreshMetadata())
        finally:
            await connections.close()
        replicas = metadata.partition.replicas
        assert {r.node_id for r in replicas} == {1, 2, 3}
        assert metadata.partition.leader_id == await quorum.leader()
        assert all(r.round_trip_ms > 0 and r.lag >= 0 for r in replicas)

    run(test, tmp_path)


@pytest.mark.parametrize("name", ["nearest", "least-lag"])
def test_the_selectors_that_measure_read_everything_too(tmp_path, name):
    async def test(quorum):
        await quorum.append(*VALUES)
        selector = selector_named({"replica.selector.class": name})
        session = Session(ResetPolicy.EARLIEST, selector)
        connections = WireConnections(quorum.bootstrap, PARTITION, measures=True)
        async with aclosing(AsyncConsumer(session, connections)) as consumer:
            found = await read_to(consumer, await end_of(quorum))
            assert [value for _, value in found] == VALUES
        served = {n for n, count in fetches(quorum).items() if count}
        if name == "least-lag":
            assert served
            assert await quorum.leader() not in served

    run(test, tmp_path)


def test_an_unknown_topic_is_waited_for_and_named(tmp_path):
    async def test(quorum):
        await quorum.leader()
        connections = WireConnections(quorum.bootstrap, TopicPartition("nothing"))
        metadata = await connections.call(RefreshMetadata())
        await connections.close()
        assert metadata.partition is None
        assert metadata.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert connections.trouble == "nothing-0: UNKNOWN_TOPIC_OR_PARTITION"

    run(test, tmp_path)


def test_a_refused_connection_is_named_as_the_trouble():
    async def main():
        connections = WireConnections([("127.0.0.1", 1)], PARTITION)
        metadata = await connections.call(RefreshMetadata())
        assert metadata.partition is None
        assert connections.trouble.startswith("127.0.0.1:1: no connection")
        await connections.close()

    asyncio.run(main())
