"""`plan -b` and `replica observe` against a node that says it leads and lies in what it answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from replica.format.whole_batch import value_batch
from replica.wire.apis.cluster import DESCRIBE_CLUSTER
from replica.wire.apis.fetching import FETCH, FETCH_SNAPSHOT
from replica.wire.apis.quorum import DESCRIBE_QUORUM, VOTE
from replica.wire.server import Client, Server, Service
from tests.jobs.conftest import Kraftlake

CLUSTER_ID, DIRECTORY_ID = "Lr3UIdBxT-GFPYE5uprmrg", "sZ3XTpIORUSvUTLyzXIrrQ"
NO_OP = b"\x01\x14\x00\x00"
ESCAPES = "h\x1b]0;x\x07\u202e\n"
LAST = 2**63 - 1

Message = dict[str, Any]
Lie = Callable[[Message, int], None]
"""Changes the answer to a fetch from an offset."""


class Liar:
    """A leader of epoch 5 at 127.0.0.1. lie: what it does to its answers. host: what it says of
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
        topic = asked["topics"][0]
        partition = topic["partitions"][0]
        if name == "FetchSnapshot":
            return _snapshot(topic, partition)
        return self._fetched(topic, partition["fetchOffset"])

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
    """A megabyte of a snapshot that has 4 EiB."""
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
    """Where the liar answers, in a thread of its own."""
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


def _endless_snapshot(part: Message, offset: int) -> None:
    part["snapshotId"] = {"endOffset": 1000, "epoch": 1}


def _endless_records(part: Message, offset: int) -> None:
    part["records"] = value_batch(offset, 5, 1, [bytes(500_000)])
    part["highWatermark"] = LAST


def _nothing(part: Message, offset: int) -> None:
    part["highWatermark"] = LAST


def _other_epoch(part: Message, offset: int) -> None:
    part["currentLeader"] = {"leaderId": 1, "leaderEpoch": 2**31 - 1}
    part["errorCode"] = 74


def _last_offset(part: Message, offset: int) -> None:
    part["records"] = value_batch(LAST - 1, 5, 1, [NO_OP])


def _ends_before_it_begins(part: Message, offset: int) -> None:
    part["highWatermark"], part["logStartOffset"] = -5, LAST


def _divergence_after_the_log(part: Message, offset: int) -> None:
    part["divergingEpoch"] = {"epoch": 4, "endOffset": LAST}


def _noise(part: Message, offset: int) -> None:
    part["records"] = b"\xff" * 5000


@pytest.mark.parametrize("lie", [_endless_snapshot, _endless_records])
def test_a_node_that_sends_an_endless_log_fills_no_disk(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("jobs.engine.live_state.MAX_BYTES", 3 << 20)
    with listening(Liar(lie)) as address:
        ended = kraftlake("plan", "--to-dynamic", "-b", address, "--timeout", "60")
    assert ended.code == 1
    assert "the nodes sent more than 3145728 bytes of log and snapshots" in ended.error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "lie",
    [
        _nothing,
        _other_epoch,
        _last_offset,
        _ends_before_it_begins,
        _divergence_after_the_log,
        _noise,
    ],
)
def test_plan_ends_in_time_with_one_line_for_every_hostile_answer(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: Lie
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with listening(Liar(lie)) as address:
        ended = kraftlake("plan", "--to-dynamic", "-b", address, "--timeout", "1")
    assert ended.code == 1
    assert ended.err.count("\n") <= 2
    assert "internal error" not in ended.err
    assert "Traceback" not in ended.err
    assert not list(tmp_path.iterdir())


def test_names_that_a_node_tells_move_no_terminal(kraftlake: Kraftlake, tmp_path: Path) -> None:
    with listening(Liar(_nothing, ESCAPES)) as address:
        ended = kraftlake(
            *("replica", "observe", "-b", address, "-o", tmp_path / "recording"),
            *("--until-caught-up", "--timeout", "1"),
        )
    assert ended.code == 2
    assert "'h\\x1b]0;x\\x07\\u202e\\n:" in ended.err
    assert not {"\x1b", "\x07", "\u202e"} & set(ended.err)
    assert "Traceback" not in ended.err
