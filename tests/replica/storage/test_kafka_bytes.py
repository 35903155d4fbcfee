"""What is written is, byte for byte, what Kafka wrote for the same batches; and Kafka reads it."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import crc32c
import pytest

from replica.format.batch import CRC_START, decode_header
from replica.format.control import SnapshotHeader
from replica.format.directory import read_directory
from replica.format.record import Record, records_of
from replica.format.segment import scan
from replica.format.snapshot import parse_name
from replica.format.whole_batch import control_batch, messages_in, value_batch
from replica.model.batch import Batch
from replica.model.control import KRaftVersion
from replica.model.epochs import OffsetAndEpoch
from replica.storage.batches import batches_of, bytes_of
from replica.storage.filesystem import LocalDisk
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from replica.storage.snapshots import SnapshotFiles
from tests.bench.kafka import dump_log_command

RECORDED = "kafka-4.1.1-dynamic/final/12/__cluster_metadata-0"
"""An observer that was never disturbed and fetched one batch at a time."""
SNAPSHOT = (
    "kafka-4.1.1-dynamic/final/1/__cluster_metadata-0/00000000000000002571-0000000006.checkpoint"
)
SEGMENT_BYTES = 100_000
ROOT = Path(__file__).parents[3]
CRC, CRC_AT = struct.Struct(">I"), 17
TIMES, TIMES_AT = struct.Struct(">qq"), 27
"""Of a batch: base and max timestamp."""


def recorded_batches(folder: Path) -> Iterator[Batch]:
    for path in sorted(folder.glob("*.log")):
        yield from batches_of(path.read_bytes(), int(path.stem))


def replayed(folder: Path, target: Path) -> FileLog:
    log = open_log(LocalDisk(), str(target), LogConfig(segment_bytes=SEGMENT_BYTES))
    for batch in recorded_batches(folder):
        log.append([batch])
        log.flush()
    return log


def test_segments_indexes_and_checkpoint_are_those_that_kafka_wrote(
    data: Path, tmp_path: Path
) -> None:
    target = tmp_path / "__cluster_metadata-0"
    replayed(data / RECORDED, target).close()
    names = [path.name for path in target.iterdir()]
    assert len(names) == 3 * 3 + 2
    for name in names:
        assert (target / name).read_bytes() == (data / RECORDED / name).read_bytes(), name


@pytest.mark.parametrize(
    "pattern", ["kafka-4.1.1-dynamic/split/*/*", "kafka-3.7.2-static/final/*/*"]
)
def test_control_batches_are_encoded_as_kafka_encodes_them(data: Path, pattern: str) -> None:
    seen = 0
    for path in [*data.glob(f"{pattern}/*.log"), *data.glob(f"{pattern}/*.checkpoint")]:
        content = path.read_bytes()
        for found in scan(content).batches:
            header = found.header
            if header.is_control:
                whole = content[found.position : found.position + header.size_bytes]
                messages = messages_in(whole)
                made = control_batch(
                    header.base_offset, header.leader_epoch, header.max_timestamp, messages
                )
                assert made == whole
                seen += 1
    assert seen > 10


def test_a_control_batch_of_the_core_becomes_the_bytes_it_came_from(data: Path) -> None:
    control = [batch for batch in recorded_batches(data / RECORDED) if batch.control]
    assert {type(record).__name__ for batch in control for record in batch.control} == {
        "LeaderChange",
        "KRaftVersion",
        "KRaftVoters",
    }
    for batch in control:
        assert bytes_of(replace(batch, data=b"")) == batch.data


def test_a_batch_of_values_is_the_batch_that_a_kafka_leader_made_of_them(data: Path) -> None:
    seen = 0
    for path in sorted(data.glob("kafka-*/final/*/*/*.log")):
        for batch in batches_of(path.read_bytes(), int(path.stem)):
            if not batch.control:
                values = [value_of(record) for record in records_in(batch)]
                made = value_batch(batch.base_offset, batch.epoch, batch.timestamp, values)
                assert made == batch.data, (path, batch.base_offset)
                seen += 1
    assert seen > 3000


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "tests/data").glob("kafka-*/*/*/__cluster_metadata-0/*.checkpoint")),
    ids=lambda path: "/".join(path.relative_to(ROOT / "tests/data").parts),
)
def test_a_snapshot_of_the_same_content_is_kafkas_but_for_the_time_of_writing(
    path: Path, tmp_path: Path
) -> None:
    """Kafka stamps each batch with the time at which it was written, so no two of its replicas
    write the same; ours carry the header's."""
    content, name = path.read_bytes(), parse_name(path.name)
    assert name is not None
    batches = batches_of(content, 0)
    header = messages_in(batches[0].data)[0]
    assert isinstance(header, SnapshotHeader)
    snapshots = SnapshotFiles(LocalDisk(), str(tmp_path))
    time = header.last_contained_log_timestamp
    writer = snapshots.write(name.id, time, batches[0].control)
    for batch in batches[1:-1]:
        writer.append([value_of(record) for record in records_in(batch)])
    writer.freeze()
    assert (tmp_path / path.name).read_bytes() == b"".join(
        restamped(batch.data, time) for batch in batches
    )


def restamped(batch: bytes, timestamp: int) -> bytes:
    """The same batch, written at another time (ms)."""
    header = decode_header(batch)
    assert header.base_timestamp == header.max_timestamp
    changed = bytearray(batch)
    TIMES.pack_into(changed, TIMES_AT, timestamp, timestamp)
    CRC.pack_into(changed, CRC_AT, crc32c.crc32c(changed[CRC_START:]))
    return bytes(changed)


def records_in(batch: Batch) -> Iterator[Record]:
    return records_of(decode_header(batch.data), batch.data)


def value_of(record: Record) -> bytes:
    assert record.value is not None
    return record.value


def metadata_values(log: FileLog, end: int) -> list[bytes]:
    """The records' values of the log's last batches."""
    return [
        value_of(record)
        for batch in log.batches(end - 50, end)
        if not batch.control
        for record in records_in(batch)
    ]


@pytest.fixture
def written(data: Path, tmp_path: Path) -> Path:
    """A directory with rolled, truncated and trimmed segments and a snapshot, of real records."""
    target = tmp_path / "__cluster_metadata-0"
    log = replayed(data / RECORDED, target)
    kafkas = data / SNAPSHOT
    fetched = OffsetAndEpoch(2571, 6)
    log.snapshots.write_part(fetched, 0, kafkas.read_bytes())
    assert log.snapshots.freeze(fetched).voters is not None
    end = log.truncate_to(3000)
    made = OffsetAndEpoch(end, log.facts().epochs[-1].epoch)
    writer = log.snapshots.write(made, 1_795_231_128_672, (KRaftVersion(1),))
    writer.append(metadata_values(log, end))
    writer.freeze()
    log.advance_log_start(2571)
    log.close()
    return target


def test_our_own_reader_finds_no_damage(written: Path) -> None:
    found = read_directory(str(written))
    assert found.damages == ()
    assert found.log_start_offset == 2571
    assert found.leader_epochs is not None
    assert [segment.base_offset for segment in found.segments] == [1262, 2722]
    assert all(snapshot.is_usable for snapshot in found.snapshots)
    assert len(found.indexes) == 4


@pytest.mark.slow
def test_kafka_dump_log_reads_every_file_without_complaint(written: Path) -> None:
    kinds = ("*.log", "*.checkpoint", "*.index", "*.timeindex")
    files = sorted(path for kind in kinds for path in written.glob(kind))
    assert len(files) == 2 * 3 + 2
    ran = subprocess.run(
        dump_log_command(Path(",".join(map(str, files)))),
        capture_output=True,
        text=True,
        check=False,
    )
    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, said
    assert said.count("Dumping ") == len(files)
    for complaint in ("isvalid: false", "mismatch", "Exception", "Non-secutive", "out of order"):
        assert complaint not in said
    assert "SnapshotFooter" in said
    assert "TOPIC_RECORD" in said
