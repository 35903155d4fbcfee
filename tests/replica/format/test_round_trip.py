"""Decoding and encoding gives the same bytes back for every file that Kafka wrote."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from replica.format import (
    index,
    leader_epoch_checkpoint,
    meta_properties,
    partition_metadata,
    producer_snapshot,
    quorum_state,
    snapshot,
)
from replica.format.batch import encode_header
from replica.format.control import decode_control, encode_control
from replica.format.file_names import FileKind, classify
from replica.format.record import encode_records, records_of
from replica.format.segment import scan
from tests.replica.format.encoded import encode_batch

DATA = Path(__file__).parents[2] / "data"
LOG_BATCHES, CONTROL_RECORDS, SNAPSHOT_NAMES = 11745, 495, 55


def recorded(*kinds: FileKind) -> list[Path]:
    return [
        path
        for path in sorted(DATA.rglob("*"))
        if path.is_file() and classify(path.name).kind in kinds
    ]


WHOLE_FILES: dict[FileKind, tuple[int, Callable[[bytes], bytes]]] = {
    FileKind.OFFSET_INDEX: (
        71,
        lambda data: index.encode_offset_index(index.decode_offset_index(data)),
    ),
    FileKind.TIME_INDEX: (71, lambda data: index.encode_time_index(index.decode_time_index(data))),
    FileKind.PRODUCER_SNAPSHOT: (
        59,
        lambda data: producer_snapshot.encode(producer_snapshot.decode(data)),
    ),
    FileKind.LEADER_EPOCH_CHECKPOINT: (
        42,
        lambda data: leader_epoch_checkpoint.encode(leader_epoch_checkpoint.decode(data)),
    ),
    FileKind.QUORUM_STATE: (42, lambda data: quorum_state.encode(quorum_state.decode(data))),
    FileKind.META_PROPERTIES: (
        42,
        lambda data: meta_properties.encode(meta_properties.decode(data)),
    ),
    FileKind.PARTITION_METADATA: (
        42,
        lambda data: partition_metadata.encode(partition_metadata.decode(data)),
    ),
}


@pytest.mark.parametrize("kind", WHOLE_FILES, ids=str)
def test_a_recorded_file_encodes_to_its_own_bytes(kind: FileKind) -> None:
    count, again = WHOLE_FILES[kind]
    paths = recorded(kind)
    assert len(paths) == count
    for path in paths:
        data = path.read_bytes()
        assert again(data) == data, path


def log_batches() -> Iterable[tuple[Path, bytes]]:
    for path in recorded(FileKind.SEGMENT, FileKind.SNAPSHOT, FileKind.BOOTSTRAP):
        data = path.read_bytes()
        for batch in scan(data).batches:
            yield path, data[batch.position : batch.position + batch.header.size_bytes]


def test_every_recorded_batch_encodes_to_its_own_bytes_with_its_crc() -> None:
    count = 0
    for path, batch in log_batches():
        header = scan(batch).batches[0].header
        records = list(records_of(header, batch))
        again = encode_batch(
            base_offset=header.base_offset,
            leader_epoch=header.leader_epoch,
            records=encode_records(records, header.base_offset, header.base_timestamp),
            record_count=len(records),
            last_offset_delta=records[-1].offset - header.base_offset,
            base_timestamp=header.base_timestamp,
            max_timestamp=max(record.timestamp for record in records),
            attributes=header.attributes,
        )
        assert again == batch, path
        assert encode_header(header) == batch[:61]
        count += 1
    assert count == LOG_BATCHES


def test_every_recorded_control_record_encodes_to_its_own_bytes() -> None:
    count = 0
    for path, batch in log_batches():
        header = scan(batch).batches[0].header
        if not header.is_control:
            continue
        for record in records_of(header, batch):
            message = decode_control(record.key, record.value)
            assert encode_control(message) == (record.key, record.value), path
            count += 1
    assert count == CONTROL_RECORDS


def test_both_versions_of_quorum_state_were_recorded() -> None:
    versions = [
        quorum_state.decode(path.read_bytes()).version for path in recorded(FileKind.QUORUM_STATE)
    ]
    assert sorted(versions) == [0] * 19 + [1] * 23


def test_a_new_quorum_state_has_the_bytes_that_kafka_writes() -> None:
    for path in recorded(FileKind.QUORUM_STATE):
        data = path.read_bytes()
        state = quorum_state.decode(data)
        again = quorum_state.new_state(
            version=state.version,
            leader_id=state.leader_id,
            leader_epoch=state.leader_epoch,
            voted_id=state.voted_id,
            voted_directory_id=state.voted_directory_id,
            current_voters=state.current_voters,
        )
        assert again == state
        assert quorum_state.encode(again) == data, path


def test_new_meta_properties_have_the_lines_that_kafka_writes() -> None:
    for path in recorded(FileKind.META_PROPERTIES):
        data = path.read_bytes()
        meta = meta_properties.decode(data)
        assert meta.replica is not None
        comments = tuple(line[1:] for line in meta.lines if line.startswith("#"))
        again = meta_properties.new_meta_properties(meta.replica, comments)
        assert again.replica == meta.replica
        # Java writes a hash table in its own order
        assert sorted(again.lines) == sorted(meta.lines), path


def test_snapshot_names_format_to_themselves() -> None:
    names = [path.name for path in recorded(FileKind.SNAPSHOT)]
    assert len(names) == SNAPSHOT_NAMES
    for name in names:
        parsed = snapshot.parse_name(name)
        assert parsed is not None
        assert snapshot.format_name(parsed) == name


def test_preallocated_index_bytes_come_back() -> None:
    entries = struct.pack(">iiii", 7, 4096, 12, 8200)
    for tail in (0, 8, 80):
        found = index.decode_offset_index(entries + bytes(tail))
        assert found.preallocated_bytes == tail
        assert index.encode_offset_index(found) == entries + bytes(tail)
