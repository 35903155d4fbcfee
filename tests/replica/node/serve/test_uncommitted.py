"""What readers are told of offsets that nobody knows to be committed, yet or any more."""

import asyncio

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ZERO_UUID
from replica.node.serve.cluster import metadata
from replica.node.serve.partition import ServedPartition
from replica.node.serve.reader_fetch import fetch_by_reader
from replica.node.serve.readers import list_offsets, offset_for_leader_epoch
from replica.node.settings import Topic
from replica.raft.messages import FetchRequest, VoteRequest
from replica.raft.roles import Leader
from replica.wire.apis.cluster import METADATA
from replica.wire.apis.fetching import FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from replica.wire.header import WireRequest
from replica.wire.server import ANONYMOUS, Client
from tests.replica.node.quorum import Quorum, propose
from tests.replica.node.running import the

TOPIC = Topic("orders", "AAAAAAAAAAAAAAAAAAAAAg")


@pytest.fixture
def in_quorum(tmp_path):
    """Runs `story(quorum)` on a quorum of three."""

    def run(story):
        async def main():
            async with asyncio.timeout(120):
                await story(Quorum(tmp_path, 3))

        asyncio.run(main())

    return run


def served(driver, **changed):
    return ServedPartition(TOPIC, driver, (), **changed)


def about(**asked):
    return [{"topic": TOPIC.name, "name": TOPIC.name, "topicId": ZERO_UUID, "partitions": [asked]}]


def asked_of(answer, partition, api, version, message):
    """Ask the function that answers this API, as a client at 192.0.2.1."""
    client = Client("192.0.2.1:4711", ANONYMOUS, "CONTROLLER")
    return answer(partition, client, WireRequest(api, version, 1, None, message))


async def fetched(partition, offset, wait_ms=0):
    asked = about(partition=0, fetchOffset=offset, partitionMaxBytes=1 << 20)
    request = {"maxWaitMs": wait_ms, "minBytes": 1, "topics": asked}
    return the((await asked_of(fetch_by_reader, partition, FETCH, 12, request))["responses"])


async def listed(partition, timestamp):
    asked = about(partitionIndex=0, timestamp=timestamp)
    answer = await asked_of(list_offsets, partition, LIST_OFFSETS, 11, {"topics": asked})
    return the(answer["topics"])


async def new_leader(quorum):
    """One that leads, and is not fetched from."""
    while True:
        for driver in quorum.drivers.values():
            if isinstance(driver.host.raft.role, Leader):
                return driver
        await asyncio.sleep(0.01)


async def uncommitted(quorum):
    """The leader, with a record that its followers don't fetch."""
    leader = await quorum.leader()
    await propose(leader, b"committed")
    quorum.lost.add(FetchRequest)
    waiting = asyncio.create_task(propose(leader, b"waits"))
    waiting.add_done_callback(lambda task: task.cancelled() or task.exception())
    end = leader.host.raft.high_watermark
    while leader.host.log.log_end <= end:
        await asyncio.sleep(0.01)
    return leader, end


@pytest.mark.scenario("K25")
def test_an_offset_above_the_high_watermark_is_not_available_or_as_configured_empty(in_quorum):
    async def story(quorum):
        leader, end = await uncommitted(quorum)
        above = end + 1
        assert leader.host.log.log_end == above
        answer = await fetched(served(leader), above)
        assert answer["errorCode"] == ErrorCode.OFFSET_NOT_AVAILABLE
        answer = await fetched(served(leader, uncommitted_is_empty=True), above)
        assert (answer["errorCode"], answer["records"]) == (0, b"")
        assert answer["highWatermark"] == end

    in_quorum(story)


@pytest.mark.scenario("K26", "K27")
def test_a_new_leader_has_no_latest_offset_to_tell_before_its_epoch_commits(in_quorum):
    async def story(quorum):
        quorum.lost.add(FetchRequest)
        partition = served(await new_leader(quorum))
        assert partition.committed is None
        for timestamp in (-1, 1):
            told = await listed(partition, timestamp)
            assert told["errorCode"] == ErrorCode.OFFSET_NOT_AVAILABLE
        assert (await listed(partition, -2))["offset"] == 0
        asked = about(partition=0, currentLeaderEpoch=-1, leaderEpoch=1)
        answer = await asked_of(
            offset_for_leader_epoch, partition, OFFSET_FOR_LEADER_EPOCH, 4, {"topics": asked}
        )
        ended = the(answer["topics"])
        assert ended["errorCode"] == ErrorCode.OFFSET_NOT_AVAILABLE
        quorum.lost.clear()
        partition = served(await quorum.leader())  # on a busy machine perhaps another
        assert (await listed(partition, -1))["offset"] == partition.committed

    in_quorum(story)


@pytest.mark.scenario("K36", "K37")
def test_a_waiting_fetch_goes_on_waiting_until_its_leader_is_none_any_more(in_quorum):
    async def story(quorum):
        leader = await quorum.leader()
        end = leader.host.raft.high_watermark
        partition = served(leader)
        epoch = partition.epoch
        asked = about(
            partition=0, fetchOffset=end, partitionMaxBytes=1 << 20, currentLeaderEpoch=epoch
        )
        request = {"maxWaitMs": 20_000, "minBytes": 1, "topics": asked}
        waiting = asyncio.create_task(asked_of(fetch_by_reader, partition, FETCH, 12, request))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        quorum.cut.add(leader.host.config.local.key.node_id)
        await quorum.leader()
        quorum.cut.clear()
        answer = the((await waiting)["responses"])
        assert answer["errorCode"] == ErrorCode.UNKNOWN_LEADER_EPOCH or (
            answer["errorCode"] == ErrorCode.FENCED_LEADER_EPOCH
        )

    in_quorum(story)


@pytest.mark.scenario("K35")
def test_a_fetch_that_waits_above_what_a_truncation_leaves_is_told(in_quorum):
    async def story(quorum):
        old, end = await uncommitted(quorum)
        partition = served(old, uncommitted_is_empty=True)
        waiting = asyncio.create_task(fetched(partition, end + 1, wait_ms=20_000))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        quorum.cut.add(old.host.config.local.key.node_id)
        quorum.lost.clear()
        for number in range(5):
            await quorum.commit(b"%d" % number)
        quorum.cut.clear()
        answer = await waiting
        # its offset holds another record by now, or nothing that is committed
        assert answer["records"] or answer["errorCode"] != 0

    in_quorum(story)


def test_the_epoch_of_an_election_is_told_together_with_its_leader(in_quorum):
    """librdkafka looks where logs part when the epoch rises, and that it needs a leader for."""

    async def story(quorum):
        leader = await quorum.leader()
        node_id, epoch = leader.host.config.local.key.node_id, leader.host.raft.role.epoch
        voter = next(driver for other, driver in quorum.drivers.items() if other != node_id)
        while voter.host.log.log_end < leader.host.raft.high_watermark:
            await asyncio.sleep(0.01)
        quorum.cut.update(quorum.drivers)  # nobody wins what follows
        mine = voter.host.config.local.key
        candidate = next(other for other in quorum.drivers if other not in (node_id, mine.node_id))
        key = quorum.drivers[candidate].host.config.local.key
        asked = VoteRequest(epoch=epoch + 3, candidate=key, last_epoch=epoch, end_offset=1000)
        await voter.ask(asked)
        assert voter.host.raft.role.epoch == epoch + 3
        assert await told(voter) == (NO_NODE, epoch)
        quorum.cut.clear()
        while (leader := await quorum.leader()).host.raft.role.epoch <= epoch:
            await asyncio.sleep(0.01)
        own = leader.host.config.local.key.node_id
        assert await told(leader) == (own, leader.host.raft.role.epoch)

    in_quorum(story)


async def told(driver):
    """(leader id, leader epoch) in the metadata."""
    partition = served(driver, node_id=driver.host.config.local.key.node_id)
    answer = await asked_of(metadata, partition, METADATA, 12, {"topics": None})
    found = the(answer["topics"])
    return found["leaderId"], found["leaderEpoch"]
