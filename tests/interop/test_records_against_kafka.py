"""Metadata records of every type in every version that a Kafka release has, written by its classes
and printed by its kafka-dump-log: read, shown and written again by ours as by Kafka."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from replica.format.record import Record, encode_records
from replica.metadata.codec import decode, encode
from replica.metadata.json_text import json_text
from replica.metadata.record import MetadataRecord
from replica.terminal_text import safe_json
from tests.interop.class_archive import java
from tests.interop.kafka_dump import kafka_dump, payloads
from tests.interop.kafka_jars import class_path
from tests.interop.matrix import hold
from tests.kraftlake_process import kraftlake
from tests.replica.format.encoded import encode_batch

_DRIVER = Path(__file__).with_name("KafkaRecords.java")
EACH, SEED = 12, 1
PER_BATCH = 40


@pytest.fixture(scope="module")
def values(kafka_version: str) -> tuple[bytes, ...]:
    """As Kafka's classes write them, EACH of a type and version."""
    command = [str(java().executable), "-cp", class_path(kafka_version), str(_DRIVER)]
    ran = subprocess.run([*command, str(EACH), str(SEED)], check=True, capture_output=True)
    return tuple(base64.b64decode(line) for line in ran.stdout.split())


@pytest.fixture(scope="module")
def segment(values: tuple[bytes, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of the values; the framing is ours, and Kafka's tool checks it."""
    path = tmp_path_factory.mktemp("records") / "00000000000000000000.log"
    path.write_bytes(b"".join(_batches(values)))
    return path


def _batches(values: tuple[bytes, ...]) -> Iterator[bytes]:
    for base in range(0, len(values), PER_BATCH):
        part = values[base : base + PER_BATCH]
        entries = [Record(base + i, 0, None, value) for i, value in enumerate(part)]
        yield encode_batch(
            base_offset=base,
            leader_epoch=1,
            records=encode_records(entries, base, 0),
            record_count=len(part),
            last_offset_delta=len(part) - 1,
            base_timestamp=0,
            max_timestamp=0,
        )


def test_every_value_is_read_and_written_again_as_the_same_bytes(values: tuple[bytes, ...]) -> None:
    for value in values:
        record = decode(value)
        assert isinstance(record, MetadataRecord), record
        assert encode(record.with_fields({})) == value, record


def test_every_record_is_shown_as_kafka_dump_log_shows_it(
    values: tuple[bytes, ...], segment: Path, kafka_version: str
) -> None:
    ran = kafka_dump(
        [segment], "--cluster-metadata-decoder", "--print-data-log", version=kafka_version
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "isvalid: false" not in ran.stdout
    theirs = payloads(ran.stdout)
    ours = kraftlake("dump", "--json", "--keep-secrets", segment)
    assert (ours.returncode, ours.stderr) == (0, "")
    shown = ours.stdout.rstrip("\n").split("\n")  # texts hold other ends of lines
    assert len(theirs) == len(shown) == len(values)
    kinds = set()
    for value, payload, line in zip(values, theirs, shown, strict=True):
        record = decode(value)
        assert isinstance(record, MetadataRecord)
        data = f'"data":{json_text(record)}}}'
        head = f'{{"type":"{record.type}","version":{record.version},'
        assert payload == head + data
        # texts that turn a terminal's writing are escaped: another spelling of the same JSON
        assert line.endswith(safe_json(data))
        kinds.add((record.type, record.version))
    types = {name for name, _ in kinds}
    hold(kafka_version, "records", f"{len(types)} types in {len(kinds)} versions")
