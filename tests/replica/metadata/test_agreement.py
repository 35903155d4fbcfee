"""Every recorded metadata record is read as Kafka itself reads it."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql.types import VariantVal

from replica.format.record import records_of
from replica.format.segment import scan
from replica.message.json_text import Plain
from replica.metadata.codec import decode, encode
from replica.metadata.json_text import json_text, to_plain
from replica.metadata.redact import Redactor, holds_secret
from replica.metadata.variant import encode_variant

RECORDED = 101_342
CONTROL = 432

_Key = tuple[str, int]


@pytest.fixture(scope="module")
def kafkas_reading(data: Path) -> dict[_Key, dict[str, object]]:
    """(file, offset) -> what kafka-dump-log printed, control records left out."""
    reading = {}
    total = 0
    with gzip.open(data / "kafka-dump-log.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["kind"] == "record":
                total += 1
                if row["type"].endswith("_RECORD"):
                    reading[row["file"], row["offset"]] = row
    assert total == RECORDED
    assert total - len(reading) == CONTROL
    return reading


@pytest.fixture(scope="module")
def values(data: Path, kafkas_reading: dict[_Key, dict[str, object]]) -> list[tuple[_Key, bytes]]:
    """The value of every data record of the same files, in their order."""
    return [
        ((file, offset), value)
        for file in sorted({file for file, _ in kafkas_reading})
        for offset, value in _values_of(data / file)
    ]


def _values_of(path: Path) -> Iterator[tuple[int, bytes]]:
    content = path.read_bytes()
    for batch in scan(content).batches:
        if not batch.header.is_control:
            for record in records_of(batch.header, content[batch.position :]):
                assert record.value is not None
                yield record.offset, record.value


def test_every_record_reads_as_kafka_reads_it(
    kafkas_reading: dict[_Key, dict[str, object]], values: list[tuple[_Key, bytes]]
) -> None:
    assert {key for key, _ in values} == kafkas_reading.keys()
    for key, value in values:
        row = kafkas_reading[key]
        record = decode(value)
        assert (record.type, record.version) == (row["type"], row["version"])
        # repr, as it tells order, integers from doubles, and -0.0 from 0.0
        assert repr(to_plain(record)) == repr(row["data"])
        assert repr(json.loads(json_text(record))) == repr(row["data"])


def test_every_record_gives_back_its_bytes(values: list[tuple[_Key, bytes]]) -> None:
    from_fields: defaultdict[str, int] = defaultdict(int)
    for _, value in values:
        record = decode(value)
        assert encode(record) == value
        from_fields[record.type] += record.original is None
    # Only the generated log holds forms that Kafka itself doesn't write (explicit defaults).
    assert len(values) - sum(from_fields.values()) == 64


def test_every_distinct_shape_reads_back_from_variant(values: list[tuple[_Key, bytes]]) -> None:
    samples = {value[:3] + value[-40:]: value for _, value in values}
    assert len(samples) > 1000
    for value in samples.values():
        plain: Plain = {"data": to_plain(decode(value)), "z": 0}
        assert VariantVal(*encode_variant(plain)).toPython() == plain


def test_no_scram_secret_of_a_recorded_cluster_is_shown(
    values: list[tuple[_Key, bytes]],
) -> None:
    redactor = Redactor(b"key")
    met = 0
    for (file, _), value in values:
        if file.startswith("generated") or value[1] != 11:
            continue
        record = decode(value)
        text = json_text(redactor.redact(record)[0])
        plain = to_plain(record)
        met += 1
        assert holds_secret(record)
        assert not any(str(plain[f]) in text for f in ("salt", "storedKey", "serverKey"))
    assert met == 285 + 599 + 376
