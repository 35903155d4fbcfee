"""An appender tells of each batch whether it was appended once, was certainly not appended, or has
an unknown outcome."""

import asyncio
import contextlib

import pytest

from replica.admin.appending import (
    Appender,
    AppendRefusedError,
    UnknownOutcomeError,
)
from replica.admin.records import batch_of, record_of_value
from replica.errors import NoLeaderError
from replica.format.record import records_of
from replica.format.segment import scan
from replica.model.kafka_errors import ErrorCode
from replica.wire.client import ClientConfig
from tests.interop.kafka_node import free_ports
from tests.replica.admin.scripted import Scripted
from tests.replica.consumer.quorum import running as one_voter
from tests.replica.node.running import TOPIC, leads, quorum_of_three, running

ADMINISTRATOR = {"kraftlake__principals__administrator": "*"}
BATCH = batch_of([record_of_value(b"a"), record_of_value(b"b")], 1)


@contextlib.asynccontextmanager
async def appender_at(*ports, timeout_s=20.0, topic=TOPIC):
    config = ClientConfig(timeout_s=10.0)
    appender = Appender([("127.0.0.1", port) for port in ports], topic, config, timeout_s)
    try:
        yield appender
    finally:
        await appender.close()


def port_of(node):
    (listener,) = node.settings.listeners
    return listener.port


async def closed(port):
    """Wait until nobody listens at the port."""
    with contextlib.suppress(ConnectionError):
        while True:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            await asyncio.sleep(0.02)


def values_of(node):
    """The values of all records in the log, also of those that aren't committed."""
    log = node.driver.host.log
    data = b"".join(batch.data for batch in log.batches(log.log_start, log.log_end))
    return [
        record.value
        for batch in scan(data).batches
        if not batch.header.is_control
        for record in records_of(
            batch.header, data[batch.position : batch.position + batch.header.size_bytes]
        )
    ]


@pytest.fixture
def in_quorum(tmp_path):
    def run(story):
        async def main():
            started = quorum_of_three(tmp_path, **ADMINISTRATOR)
            async with asyncio.timeout(60), started as (leader, followers):
                await story(leader, followers)

        asyncio.run(main())

    return run


def test_a_batch_finds_the_leader_through_a_follower(in_quorum):
    async def story(leader, followers):
        async with appender_at(port_of(followers[0])) as appender:
            first = await appender.append(BATCH)
            second = await appender.append(BATCH)
        raft = leader.driver.host.raft
        assert (first.epoch, second.base_offset) == (raft.role.epoch, first.base_offset + 2)
        assert raft.high_watermark == second.base_offset + 2
        assert values_of(leader) == [b"a", b"b", b"a", b"b"]

    in_quorum(story)


def test_a_batch_waits_for_the_next_leader(in_quorum):
    async def story(leader, followers):
        ports = [port_of(node) for node in (leader, *followers)]
        async with appender_at(*ports) as appender:
            before = await appender.append(BATCH)
        leader.driver.shut_down(2000)
        await closed(port_of(leader))
        # An appender with an open connection to the old leader could send the batch over it, and
        # would then not know the outcome.
        async with appender_at(*ports) as appender:
            after = await appender.append(BATCH)
        assert after.epoch > before.epoch
        # Both nodes have the batch, because each of them was needed for the majority.
        assert [values_of(node) for node in followers] == [[b"a", b"b", b"a", b"b"]] * 2

    in_quorum(story)


def test_a_batch_without_a_majority_is_of_unknown_outcome_and_not_sent_again(in_quorum):
    async def story(leader, followers):
        async with appender_at(port_of(leader)) as appender:
            await appender.append(BATCH)
            for node in followers:
                node.driver.shut_down(50)
            with pytest.raises(UnknownOutcomeError, match="NOT_ENOUGH_REPLICAS_AFTER_APPEND"):
                await appender.append(BATCH)
        assert values_of(leader) == [b"a", b"b", b"a", b"b"]

    in_quorum(story)


def test_a_batch_goes_to_no_node_of_another_cluster_in_the_place_of_the_one_before(tmp_path):
    """Node id, topic name, topic id and port are the same in both clusters. Only the check of the
    cluster id keeps the batch from the other cluster."""

    async def main():
        started = one_voter(tmp_path, voters=1, topic=TOPIC, administrators="*")
        async with asyncio.timeout(60), started as first:
            (port,) = first.ports.values()
            async with appender_at(port, timeout_s=3.0) as appender:
                await appender.append(BATCH)
                await first.stop(1)
                (tmp_path / "other").mkdir()
                async with running(tmp_path / "other", 1, port, **ADMINISTRATOR) as other:
                    await leads(other)
                    with pytest.raises(NoLeaderError, match=r"of cluster A{22} now, not of"):
                        await appender.append(BATCH)
                    assert values_of(other) == []

    asyncio.run(main())


def scripted(story, *codes):
    async def main():
        node = Scripted(*codes)
        async with (
            asyncio.timeout(30),
            node.serving(),
            appender_at(node.port, timeout_s=3.0) as appender,
        ):
            await story(node, appender)

    asyncio.run(main())


@pytest.mark.parametrize(
    "code", ["NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "LEADER_NOT_AVAILABLE"]
)
def test_a_batch_that_was_certainly_not_appended_is_sent_again(code):
    async def story(node, appender):
        assert (await appender.append(BATCH)).base_offset == 7
        assert node.asked == 3

    scripted(story, ErrorCode[code], ErrorCode[code], ErrorCode.NONE)


@pytest.mark.parametrize(
    "code", ["REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "UNKNOWN_SERVER_ERROR", None]
)
def test_a_batch_that_may_be_in_the_log_is_not_sent_again(code):
    async def story(node, appender):
        with pytest.raises(UnknownOutcomeError):
            await appender.append(BATCH)
        assert node.asked == 1
        assert (await appender.append(BATCH)).base_offset == 7

    scripted(story, None if code is None else ErrorCode[code], ErrorCode.NONE)


@pytest.mark.parametrize("code", ["TOPIC_AUTHORIZATION_FAILED", "INVALID_RECORD"])
def test_a_refused_batch_is_not_sent_again(code):
    async def story(node, appender):
        with pytest.raises(AppendRefusedError, match=code):
            await appender.append(BATCH)
        assert node.asked == 1

    scripted(story, ErrorCode[code])


def test_without_a_leader_the_error_names_each_node_and_its_reason():
    async def main():
        ports = free_ports(2)
        async with appender_at(*ports, timeout_s=0.3) as appender:
            with pytest.raises(NoLeaderError) as caught:
                await appender.append(BATCH)
        for port in ports:
            assert f"127.0.0.1:{port}: no connection: Connection refused" in str(caught.value)

    asyncio.run(main())


def test_another_topic_is_refused(in_quorum):
    async def story(leader, followers):
        async with appender_at(port_of(leader), topic="other") as appender:
            with pytest.raises(AppendRefusedError, match="other: UNKNOWN_TOPIC_OR_PARTITION"):
                await appender.append(BATCH)

    in_quorum(story)
