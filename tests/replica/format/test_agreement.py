"""This package reads every recorded file as Kafka's own kafka-dump-log prints it."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replica.format.control import decode_control, to_plain
from replica.format.file_names import FileKind, classify
from replica.format.record import records_of
from replica.format.segment import SegmentScan, scan
from replica.format.snapshot import SnapshotState

DATA = Path(__file__).parents[2] / "data"
FILES, BATCHES, RECORDS = 122, 11568, 101342
CONTROLS = {
    "LeaderChange": 149,
    "KRaftVersion": 63,
    "KRaftVoters": 114,
    "SnapshotHeader": 53,
    "SnapshotFooter": 53,
}
"""Counted by hand in Kafka's dump, so that the tests fail for a file that both sides skip."""
CONTROL_TYPES = tuple(CONTROLS)


def kafka_lines(kind: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / "kafka-dump-log.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = json.loads(line)
            if fields["kind"] == kind:
                yield fields


def dumped_files() -> list[Path]:
    """Every segment and complete snapshot of the recordings, which Kafka has dumped."""
    found = []
    for path in sorted(DATA.rglob("*")):
        name = classify(path.name)
        whole = name.snapshot is not None and name.snapshot.state is SnapshotState.COMPLETE
        if whole or (name.kind is FileKind.SEGMENT and not name.deleted):
            found.append(path)
    return found


@pytest.fixture(scope="module")
def scans() -> dict[str, tuple[bytes, SegmentScan]]:
    found = {}
    for path in dumped_files():
        data = path.read_bytes()
        base_offset = classify(path.name).base_offset or 0
        found[str(path.relative_to(DATA))] = data, scan(data, expected_offset=base_offset)
    return found


def test_every_batch_is_the_one_that_kafka_lists(
    scans: dict[str, tuple[bytes, SegmentScan]],
) -> None:
    theirs: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for line in kafka_lines("batch"):
        keys = ("base_offset", "last_offset", "count", "epoch", "control", "position", "size")
        theirs[line["file"]].append(
            (*(line[key] for key in keys), line["crc"], line["valid"], line["ts"])
        )
    ours = {
        file: [
            (
                batch.header.base_offset,
                batch.header.last_offset,
                batch.header.record_count,
                batch.header.leader_epoch,
                batch.header.is_control,
                batch.position,
                batch.header.size_bytes,
                batch.header.crc,
                batch.crc_valid,
                batch.header.max_timestamp,
            )
            for batch in found.batches
        ]
        for file, (_, found) in scans.items()
        if found.batches
    }
    assert set(ours) == set(theirs)
    for file, batches in theirs.items():
        assert ours[file] == batches, file
    assert (len(ours), sum(map(len, ours.values()))) == (FILES, BATCHES)


def test_recorded_logs_hold_no_damage_and_no_zero_tail(
    scans: dict[str, tuple[bytes, SegmentScan]],
) -> None:
    for file, (data, found) in scans.items():
        assert (found.damages, found.zero_tail, found.end_position) == ((), 0, len(data)), file


def test_control_records_print_as_kafka_prints_them(
    scans: dict[str, tuple[bytes, SegmentScan]],
) -> None:
    theirs = defaultdict(list)
    for line in kafka_lines("record"):
        if line["type"] in CONTROL_TYPES:
            theirs[line["file"]].append((line["offset"], json.dumps(line["data"])))
    ours = defaultdict(list)
    types: Counter[str] = Counter()
    for file, (data, found) in scans.items():
        for batch in found.batches:
            if not batch.header.is_control:
                continue
            body = data[batch.position : batch.position + batch.header.size_bytes]
            for record in records_of(batch.header, body):
                message = decode_control(record.key, record.value)
                plain = json.dumps(to_plain(message))
                ours[file].append((record.offset, plain))
                types[type(message).__name__] += 1
    assert ours == theirs
    assert types == CONTROLS


def test_every_record_has_the_offset_time_and_epoch_that_kafka_prints(
    scans: dict[str, tuple[bytes, SegmentScan]],
) -> None:
    theirs = defaultdict(list)
    for line in kafka_lines("record"):
        theirs[line["file"]].append((line["offset"], line["ts"], line["epoch"]))
    count = 0
    for file, (data, found) in scans.items():
        ours = [
            (record.offset, record.timestamp, batch.header.leader_epoch)
            for batch in found.batches
            for record in records_of(batch.header, memoryview(data)[batch.position :])
        ]
        assert ours == theirs[file], file
        count += len(ours)
    assert count == RECORDS
