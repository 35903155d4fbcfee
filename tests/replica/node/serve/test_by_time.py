"""ListOffsets by timestamp: a walk over the whole log, in which voters must not wait."""

import asyncio
from types import SimpleNamespace

from replica.history.log import OffsetRange
from replica.model.batch import Batch
from replica.model.keys import ZERO_UUID
from replica.node.serve.partition import ServedPartition
from replica.node.serve.readers import list_offsets
from replica.node.settings import Topic
from replica.wire.apis.fetching import LIST_OFFSETS
from replica.wire.header import WireRequest
from replica.wire.server import ANONYMOUS, Client

BATCHES = 2000


def batch(offset, size=8):
    """Its time is ten times its offset."""
    return Batch(offset, offset, 1, 10 * offset, data=bytes(size))


class CountedLog:
    """Its batches, and how many, of how many bytes, were read since the last turn."""

    def __init__(self, size):
        self.data = [batch(offset, size) for offset in range(BATCHES)]
        self.read = self.size = self.most = self.largest = self.turns = self.start = 0

    def batches(self, start, end):
        assert start >= self.start, "what lies before the log start is gone"
        for offset in range(start, end):
            self.read += 1
            self.size += len(self.data[offset].data)
            self.most, self.largest = max(self.most, self.read), max(self.largest, self.size)
            yield self.data[offset]

    async def turn(self, address):
        assert address == "192.0.2.1"
        self.turns += 1
        self.read = self.size = 0


class Served(ServedPartition):
    """That of a leader which has committed all of the log."""

    leads = True
    epoch = 1
    committed = BATCHES

    @property
    def readable(self):
        return OffsetRange(self.driver.log.start, BATCHES)


def asked_for(log, timestamp):
    raft = SimpleNamespace(log=SimpleNamespace(epochs=()))
    driver = SimpleNamespace(log=log, raft=raft)
    partition = Served(Topic(), driver, (), turn=log.turn)
    asked = {"name": Topic().name, "topicId": ZERO_UUID, "partitions": []}
    asked["partitions"].append({"partitionIndex": 0, "timestamp": timestamp})
    request = WireRequest(LIST_OFFSETS, 7, 1, None, {"topics": [asked]})
    client = Client("192.0.2.1:4711", ANONYMOUS, "CONTROLLER")
    answer = asyncio.run(list_offsets(partition, client, request))
    return answer["topics"][0]["partitions"][0]


def test_a_search_by_time_reads_a_bounded_part_of_the_log_in_one_turn():
    log = CountedLog(8)
    assert asked_for(log, 10 * BATCHES - 15)["offset"] == BATCHES - 1
    assert log.most <= 256
    assert log.turns >= 7
    assert asked_for(CountedLog(8), 10 * BATCHES)["offset"] == -1
    assert asked_for(CountedLog(8), -3)["offset"] == BATCHES - 1


def test_large_batches_count_by_their_bytes():
    log = CountedLog(100_000)
    log.data = log.data[:100] + [batch(offset) for offset in range(100, BATCHES)]
    assert asked_for(log, 10 * BATCHES - 15)["offset"] == BATCHES - 1
    assert log.largest < 1024 * 1024 + 110_000


def test_a_log_start_that_moves_meanwhile_moves_the_search():
    log = CountedLog(8)

    async def turn(address):
        await CountedLog.turn(log, address)
        log.start = 1000

    log.turn = turn
    assert asked_for(log, 5000)["offset"] == 1000
