"""A node that claims to lead and gives false answers, and connections that
damage what they carry."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

from replica.format.whole_batch import value_batch
from replica.wire.apis.cluster import DESCRIBE_CLUSTER
from replica.wire.apis.fetching import FETCH, FETCH_SNAPSHOT
from replica.wire.apis.quorum import DESCRIBE_QUORUM, VOTE
from replica.wire.server import Client, Server, Service

CLUSTER_ID, DIRECTORY_ID = "Lr3UIdBxT-GFPYE5uprmrg", "sZ3XTpIORUSvUTLyzXIrrQ"
NO_OP = b"\x01\x14\x00\x00"
ESCAPES = "h\x1b]0;x\x07\u202e\n"
LAST = 2**63 - 1

Message = dict[str, Any]
Lie = Callable[[Message, int], None]
"""Changes the answer to a fetch from an offset."""


class Liar:
    """A leader of epoch 5 at 127.0.0.1. lie: changes its answers. host: the host that it names for
    another controller."""

    def __init__(self, lie: Lie, host: str = "127.0.0.1") -> None:
        self._lie = lie
        self._host = host
        self.port = 0

    async def answer(self, _: Client, request: Any) -> Message:
        name, asked = request.api.name, request.message
        if name == "DescribeCluster":
            named = ((1, "127.0.0.1"), (2, self._host))
            nodes = [{"brokerId": n, "host": host, "port": self.port} for n, host in named]
            return {"errorCode": 0, "endpointType": 2, "clusterId": CLUSTER_ID, "brokers": nodes}
        if name == "DescribeQuorum":
            return self._described()
        if name == "Vote":
            return self._voted(asked["topics"][0])
        topic = asked["topics"][0]
        partition = topic["partitions"][0]
        if name == "FetchSnapshot":
            return _snapshot(topic, partition)
        return self._fetched(topic, partition["fetchOffset"])

    def _voted(self, topic: Message) -> Message:
        """Answers a vote request without a vote, but with the leader."""
        part = {"partitionIndex": 0, "leaderId": 1, "leaderEpoch": 5}
        node = {"nodeId": 1, "host": "127.0.0.1", "port": self.port}
        named = {"topicName": topic["topicName"], "partitions": [part]}
        return {"topics": [named], "nodeEndpoints": [node]}

    def _described(self) -> Message:
        voter = {"replicaId": 1, "replicaDirectoryId": DIRECTORY_ID, "logEndOffset": 10}
        state = {
            "leaderId": 1,
            "leaderEpoch": 5,
            "highWatermark": 10,
            "currentVoters": [voter],
            "observers": [],
        }
        listener = {"name": "CONTROLLER", "host": "127.0.0.1", "port": self.port}
        topic = {"topicName": "__cluster_metadata", "partitions": [state]}
        return {"topics": [topic], "nodes": [{"nodeId": 1, "listeners": [listener]}]}

    def _fetched(self, topic: Message, offset: int) -> Message:
        part: Message = {
            "partitionIndex": 0,
            "highWatermark": offset + 10,
            "logStartOffset": 0,
            "currentLeader": {"leaderId": 1, "leaderEpoch": 5},
            "records": b"",
            "abortedTransactions": None,
        }
        self._lie(part, offset)
        named = {key: topic[key] for key in ("topic", "topicId") if key in topic}
        return {"responses": [{**named, "partitions": [part]}], "nodeEndpoints": []}


def _snapshot(topic: Message, partition: Message) -> Message:
    """A megabyte of a snapshot that claims 4 EiB."""
    part = {
        "index": 0,
        "snapshotId": partition["snapshotId"],
        "currentLeader": {"leaderId": 1, "leaderEpoch": 5},
        "size": 2**62,
        "position": partition["position"],
        "unalignedRecords": bytes(1 << 20),
    }
    return {"topics": [{"name": topic["name"], "partitions": [part]}]}


@contextmanager
def listening(liar: Liar) -> Iterator[str]:
    """The address of the liar, which answers in a thread of its own."""
    served = (FETCH, FETCH_SNAPSHOT, DESCRIBE_QUORUM, DESCRIBE_CLUSTER, VOTE)
    loop = asyncio.new_event_loop()
    server = Server(Service(liar.answer, {api.key: api.versions for api in served}))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        started = asyncio.run_coroutine_threadsafe(server.start("127.0.0.1", 0), loop)
        liar.port = started.result(10)
        yield f"127.0.0.1:{liar.port}"
        asyncio.run_coroutine_threadsafe(server.close(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def endless_snapshot(part: Message, offset: int) -> None:
    part["snapshotId"] = {"endOffset": 1000, "epoch": 1}


def endless_records(part: Message, offset: int) -> None:
    part["records"] = value_batch(offset, 5, 1, [bytes(500_000)])
    part["highWatermark"] = LAST


def nothing(part: Message, offset: int) -> None:
    part["highWatermark"] = LAST


def other_epoch(part: Message, offset: int) -> None:
    part["currentLeader"] = {"leaderId": 1, "leaderEpoch": 2**31 - 1}
    part["errorCode"] = 74


def last_offset(part: Message, offset: int) -> None:
    part["records"] = value_batch(LAST - 1, 5, 1, [NO_OP])


def ends_before_it_begins(part: Message, offset: int) -> None:
    part["highWatermark"], part["logStartOffset"] = -5, LAST


def divergence_after_the_log(part: Message, offset: int) -> None:
    part["divergingEpoch"] = {"epoch": 4, "endOffset": LAST}


def noise(part: Message, offset: int) -> None:
    part["records"] = b"\xff" * 5000


def before_the_log(part: Message, offset: int) -> None:
    part["records"] = (-1).to_bytes(8, "big", signed=True) + value_batch(0, 5, 1, [NO_OP])[8:]


def back(part: Message, offset: int) -> None:
    """Puts the first records into the answer once more."""
    part["records"] = value_batch(0, 5, 1, [NO_OP])


def of_a_later_epoch(part: Message, offset: int) -> None:
    part["records"] = value_batch(offset, 9, 1, [NO_OP])


def of_no_epoch(part: Message, offset: int) -> None:
    part["records"] = value_batch(offset, -1, 1, [NO_OP])


def behind_a_gap(part: Message, offset: int) -> None:
    part["records"] = value_batch(offset + 7, 5, 1, [NO_OP])


def cut_short(part: Message, offset: int) -> None:
    part["records"] = value_batch(offset, 5, 1, [NO_OP] * 20)[:-5]


ENDURED: tuple[Lie, ...] = (
    nothing,
    last_offset,
    ends_before_it_begins,
    noise,
    before_the_log,
    back,
    of_a_later_epoch,
    of_no_epoch,
    behind_a_gap,
    cut_short,
)
"""The lies after which a replica asks again."""
LIES = (*ENDURED, divergence_after_the_log)
"""The lies that keep the leader's epoch, and that end."""


class EachInTurn:
    """A lie that changes with each fetch. told: the number of lies so far."""

    def __init__(self, lies: tuple[Lie, ...]) -> None:
        self._lies = lies
        self.told = 0

    def __call__(self, part: Message, offset: int) -> None:
        lie = self._lies[self.told % len(self._lies)]
        self.told += 1
        lie(part, offset)


Way = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def slow(port: int) -> Way:
    """A way to a port, on which each byte of an answer takes a twentieth of a second."""

    async def way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asked = await asyncio.open_connection("127.0.0.1", port)
        asking = asyncio.ensure_future(_relay(reader, asked))
        try:
            while byte := await answers.read(1):
                writer.write(byte)
                await writer.drain()
                await asyncio.sleep(0.05)
        finally:
            asking.cancel()
            asked.close()

    return way


async def giant_frame(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers with a frame that claims 2 GiB, and sends as much of it as the client takes."""
    await reader.read(1)
    writer.write(b"\x7f\xff\xff\xff")
    for _ in count():
        writer.write(bytes(1 << 16))
        await writer.drain()


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def _relay(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(1 << 16):
        target.write(data)
        await target.drain()


@contextmanager
def on_the_way(way: Way) -> Iterator[str]:
    """The address at which a way begins, which runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    tasks: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(OSError, asyncio.CancelledError):
            await way(reader, writer)
        writer.close()

    async def end(server: asyncio.Server) -> None:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        starting = asyncio.run_coroutine_threadsafe(asyncio.start_server(one, "127.0.0.1", 0), loop)
        server = starting.result(10)
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        asyncio.run_coroutine_threadsafe(end(server), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
