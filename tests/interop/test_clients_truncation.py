"""A quorum loses what was committed: two of three disks come back without the end of their logs.
Consumers that had read it find out from the new leader, each in its way, where the logs part."""

from __future__ import annotations

import json
import subprocess
from contextlib import AbstractContextManager, ExitStack, closing
from itertools import islice
from pathlib import Path

import confluent_kafka
import kafka
import pytest

from replica.format.segment import scan
from tests.interop.client_matrix import hold_to_matrix
from tests.interop.reader_quorum import Node, ReaderQuorum, reader_quorum
from tests.interop.reading_clients import CONFLUENT, CONSUME, KAFKA_PYTHON, Reading
from tests.kraftlake_process import followed

KEPT = [b"kept %d" % number for number in range(10)]
LOST = [b"lost %d" % number for number in range(10)]
OTHER = [b"other %d" % number for number in range(30)]
WITHIN_S = 60


def lose(node: Node, end_offset: int) -> None:
    """Cut a stopped node's log: what a disk keeps that lied about its syncs."""
    (segment,) = node.partition.glob("*.log")
    data = segment.read_bytes()
    batches = scan(data).batches
    end = next(each.position for each in batches if each.header.base_offset >= end_offset)
    segment.write_bytes(data[:end])


def consuming(quorum: ReaderQuorum) -> AbstractContextManager[subprocess.Popen[str]]:
    options = ("--topic", "orders", "--json", "--follow")
    return followed("consume", "-b", quorum.bootstrap, *options)


def consumed(process: subprocess.Popen[str], count: int) -> list[bytes]:
    """The next values; control records are printed without one."""
    assert process.stdout is not None
    found: list[bytes] = []
    while len(found) < count:
        row = json.loads(process.stdout.readline())
        found += [row["value"].encode()] if "value" in row else []
    return found


@pytest.mark.scenario("K01", "K02", "K08")
@pytest.mark.slow
def test_every_consumer_learns_where_the_logs_part(tmp_path: Path) -> None:
    with ExitStack() as stack:
        quorum = stack.enter_context(reader_quorum(tmp_path))
        kept = quorum.append(KEPT)
        quorum.replicated(quorum.append(LOST))
        streams = {}
        for client in (CONFLUENT, KAFKA_PYTHON):
            assert client.streamed is not None
            reading = Reading(quorum.bootstrap, "orders", client.name, "", "read_committed")
            streams[client] = stack.enter_context(closing(client.streamed(reading)))
            assert list(islice(streams[client], 20)) == KEPT + LOST
        printing = stack.enter_context(consuming(quorum))
        assert consumed(printing, 20) == KEPT + LOST

        _, epoch = quorum.leadership(quorum.leader())
        for node in quorum.nodes.values():
            node.kill()
        for node_id in (1, 2):
            lose(quorum.nodes[node_id], kept)
            quorum.nodes[node_id].start()
        quorum.leader(above_epoch=epoch)
        quorum.append(OTHER)

        with pytest.raises(confluent_kafka.KafkaException) as said:
            list(islice(streams[CONFLUENT], 1))
        assert said.value.args[0].code() == confluent_kafka.KafkaError._AUTO_OFFSET_RESET
        assert f"broker end offset is {kept} " in str(said.value)
        with pytest.raises(kafka.errors.LogTruncationError) as found:
            list(islice(streams[KAFKA_PYTHON], 1))
        (diverging,) = found.value.divergent_offsets.values()
        assert diverging.offset == kept
        assert consumed(printing, len(OTHER)) == OTHER
        printing.terminate()
        _, errors = printing.communicate(timeout=WITHIN_S)
        text = f"orders-0: records from offset {kept} up to {kept + len(LOST)} (exclusive)"
        assert text in errors

        for client in (CONFLUENT, KAFKA_PYTHON, CONSUME):
            calls = quorum.proxies.of(client.name)
            assert "OffsetForLeaderEpoch" in {call.api for call in calls}
            hold_to_matrix(client, calls)
