"""kraft_log and kraft_snapshot through Spark, against the reader that they are built on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from replica.format.batch import CONTROL_ATTRIBUTE
from replica.format.file_names import METADATA_FOLDER
from replica.format.record import Record, encode_records, records_of
from replica.format.segment import scan
from replica.metadata.log_record import LogRecordReader, may_hold_secret
from replica.metadata.redact import Redactor
from tests.replica.format.encoded import encode_batch

pytestmark = pytest.mark.spark

KEY = b"a key that must never be shown"
LOG = f"{0:020d}.log"
UNKNOWN = b"\x01\xff\x01\x00secret of the future"
"""Frame version 1, api key 255, version 0, a body nobody knows."""
LATE, EARLY = 2**62, -(2**62)
OWNER = ("cluster_id", "node_id", "directory_id", "directory")
OF_BATCH = ("last_offset", "record_count", "size_bytes")
NOT_READ_DIRECTLY = (*OWNER, *OF_BATCH)


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("key") / "key"
    path.write_bytes(KEY)
    return str(path)


@pytest.fixture(scope="module")
def recorded(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of both recorded clusters and the generated segment, as one tree."""
    root = tmp_path_factory.mktemp("recorded")
    (root / "a").symlink_to(data / "kafka-3.7.2-static" / "final" / "12")
    (root / "b").symlink_to(data / "kafka-4.1.1-dynamic" / "final" / "1")
    (root / "c" / METADATA_FOLDER).mkdir(parents=True)
    shutil.copy(data / "generated-all-types" / LOG, root / "c" / METADATA_FOLDER / LOG)
    return root


def read_directly(path: Path, redactor: Redactor | None) -> Iterator[dict[str, Any]]:
    """Every record of the file's sound batches, by replica.format and replica.metadata."""
    content = path.read_bytes()
    reader = LogRecordReader(redactor)
    for batch in scan(content, expected_offset=None).batches:
        header = batch.header
        whole = content[batch.position : batch.position + header.size_bytes]
        crc = header.crc
        if redactor is not None and may_hold_secret(header, whole):
            crc = redactor.batch_crc(header.base_offset, crc)
        for record in records_of(header, whole) if batch.crc_valid else ():
            read = reader.read(record, is_control=header.is_control)
            yield {
                "file": str(path),
                "position": batch.position,
                "base_offset": header.base_offset,
                "leader_epoch": header.leader_epoch,
                "crc": crc,
                "offset": record.offset,
                "timestamp": record.timestamp,
                "is_control": header.is_control,
                "record_type": read.record_type,
                "record_version": read.version,
                "payload": read.data,
                "value": read.value,
                "error": read.error,
            }


def plain(row: Row) -> dict[str, Any]:
    """A row in the words of `read_directly`."""
    cells = {name: value for name, value in row.asDict().items() if name not in NOT_READ_DIRECTLY}
    cells["timestamp"] = row["timestamp"] and round(row["timestamp"].timestamp() * 1000)
    cells["payload"] = row["payload"] and json.loads(row["payload"].toJson())
    cells["value"] = row["value"] and bytes(row["value"])
    return cells


def in_json(rows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "payload": json.loads(json.dumps(row["payload"]))} for row in rows]


def by_place(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["file"], row["position"], row["offset"]))


def expected_rows(root: Path, redactor: Redactor | None) -> list[dict[str, Any]]:
    paths = sorted(path for path in root.glob(f"*/{METADATA_FOLDER}/*.log"))
    return by_place([row for path in paths for row in in_json(read_directly(path, redactor))])


def test_records_are_those_of_the_reader_also_in_many_ranges(
    source: Callable[..., DataFrame], recorded: Path
) -> None:
    frame = source(recorded, keepSecrets="true", rangeBytes="20000")
    assert frame.rdd.getNumPartitions() > 20
    rows = by_place([plain(row) for row in frame.collect()])
    expected = expected_rows(recorded, None)
    assert len(expected) > 5000
    assert len({row["record_type"] for row in expected}) >= 29
    assert rows == expected


@pytest.mark.slow
def test_secrets_are_fingerprints_that_agree_across_ranges_and_reads(
    source: Callable[..., DataFrame], recorded: Path, key_file: str
) -> None:
    frame = source(recorded, redactKeyFile=key_file, rangeBytes="20000")
    rows = by_place([plain(row) for row in frame.collect()])
    assert rows == expected_rows(recorded, Redactor(KEY))
    assert sum(row["value"] is None for row in rows) > 5
    shown = frame._jdf.queryExecution().toString()
    assert KEY.decode() not in shown
    assert KEY.hex() not in shown


@pytest.mark.slow
def test_without_a_key_reads_agree_where_register_was_called_and_each_with_itself_otherwise(
    source: Callable[..., DataFrame], spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    segment = data / "generated-all-types" / LOG
    for name in ("x", "y"):
        (tmp_path / name / METADATA_FOLDER).mkdir(parents=True)
        (tmp_path / name / METADATA_FOLDER / LOG).write_bytes(segment.read_bytes())
    query = "record_type = 'USER_SCRAM_CREDENTIAL_RECORD'"

    def fingerprints(frame: DataFrame) -> set[str]:
        rows = frame.where(query).selectExpr("payload:salt::string AS salt").collect()
        assert len(rows) >= 2
        return {row.salt for row in rows}

    def redaction(frame: DataFrame) -> str:
        return str(frame.schema["payload"].metadata["redaction"])

    registered = [source(tmp_path) for _ in range(2)]
    first, second = map(fingerprints, registered)
    assert first == second
    assert all(text.startswith("***:") for text in first)
    assert len({*map(redaction, registered)}) == 1
    found_by_spark = spark.newSession().read.format("kraft_log")
    frames = [found_by_spark.load(str(tmp_path)) for _ in range(2)]
    third, fourth = map(fingerprints, frames)
    assert len(third) == len(first), "equal secrets of two files have one fingerprint"
    assert not third & fourth
    assert not third & first
    assert len({*map(redaction, [*registered, *frames])}) == 3
    shown = source(tmp_path, keepSecrets="true")
    assert redaction(shown) == "none"


@pytest.mark.slow
def test_rows_say_whose_they_are_and_how_long_their_batch_is(
    source: Callable[..., DataFrame], data: Path
) -> None:
    root = data / "kafka-4.1.1-dynamic" / "split"
    for name in ("kraft_log", "kraft_snapshot", "kraft_replica"):
        found = source(root, name).select(*OWNER).distinct().collect()
        assert len(found) >= 4
        for row in found:
            folder = root / str(row.node_id) / METADATA_FOLDER
            meta = (folder.parent / "meta.properties").read_text()
            assert row.directory == str(folder)
            assert f"cluster.id={row.cluster_id}" in meta
            assert f"directory.id={row.directory_id}" in meta
    batches = source(root, content="batches").select("file", "position", *OF_BATCH)
    records = source(root, rangeBytes="20000").select("file", "position", *OF_BATCH)
    assert {*records.distinct().collect()} == {*batches.collect()}


def test_an_option_says_whose_files_are_where_no_file_does(
    source: Callable[..., DataFrame], odd: Path
) -> None:
    (row,) = source(odd, replica="abc:7:dir").select(*OWNER).distinct().collect()
    assert (*row,) == ("abc", 7, "dir", str(odd))


def batch(offset: int, *records: Record, control: bool = False) -> bytes:
    return encode_batch(
        base_offset=offset,
        leader_epoch=3,
        records=encode_records(records, offset, 0),
        record_count=len(records),
        last_offset_delta=len(records) - 1,
        base_timestamp=0,
        max_timestamp=0,
        attributes=CONTROL_ATTRIBUTE if control else 0,
    )


@pytest.fixture(scope="module")
def odd(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose log holds what logs rarely hold, and a segment of 0 bytes."""
    good = next(
        row["value"]
        for row in read_directly(data / "generated-all-types" / LOG, None)
        if row["record_type"] == "TOPIC_RECORD"
    )
    flipped = bytearray(batch(5, Record(5, 1, None, good)))
    flipped[-3] ^= 1
    broken_frame = bytearray(encode_records([Record(6, 0, None, good)], 6, 0))
    broken_frame[0] = 3
    unframed = encode_batch(
        base_offset=6,
        leader_epoch=3,
        records=bytes(broken_frame),
        record_count=1,
        last_offset_delta=0,
        base_timestamp=0,
        max_timestamp=0,
    )
    batches = [
        batch(0, Record(0, LATE, None, good), Record(1, EARLY, None, good)),
        batch(2, Record(2, -1, None, UNKNOWN)),
        batch(3, Record(3, 253_402_300_799_999, None, None)),
        batch(4, Record(4, 0, b"\x00\x00\x00\x63", b"x"), control=True),
        bytes(flipped),
        unframed,
        batch(7, Record(7, 7, None, good)),
    ]
    folder = tmp_path_factory.mktemp("odd") / METADATA_FOLDER
    folder.mkdir()
    (folder / LOG).write_bytes(b"".join(batches))
    (folder / f"{8:020d}.log").write_bytes(b"")
    return folder


def test_odd_records_of_a_log_have_a_row_too(
    source: Callable[..., DataFrame], odd: Path, key_file: str
) -> None:
    frame = source(odd, redactKeyFile=key_file)
    rows = {row.offset: row for row in frame.where("offset <> 3").collect()}
    assert list(rows) == [0, 1, 2, 4, 6, 7], "the records of the flipped batch are absent"
    assert [rows[offset].timestamp for offset in (0, 1, 2)] == [None, None, None]
    assert rows[7].timestamp.timestamp() == 0.007
    assert rows[2].record_type.startswith("UNKNOWN")
    assert rows[2].value is None
    assert b"secret of the future" not in rows[2].payload.value
    assert rows[4].is_control
    assert (rows[6].record_type, rows[6].payload, rows[6].record_version) == (
        "UNREADABLE",
        None,
        None,
    )
    assert bytes(rows[6].value).startswith(b"***:")
    assert "\n" not in rows[6].error
    assert {offset for offset, row in rows.items() if row.error} == {6}
    (last_day,) = (
        frame.where("offset = 3").selectExpr("unix_millis(timestamp) AS at", "*").collect()
    )
    assert (last_day["at"], last_day.record_type) == (253_402_300_799_999, "UNREADABLE")


def test_batches_show_which_crc_is_wrong(source: Callable[..., DataFrame], odd: Path) -> None:
    frame = source(odd, content="batches", keepSecrets="true")
    rows = frame.orderBy("position").collect()
    hidden = source(odd, content="batches").orderBy("position").collect()
    differ = [row.base_offset for row, other in zip(rows, hidden, strict=True) if row != other]
    assert differ == [2, 3, 4, 5, 6], "unknown, unreadable or damaged: they may hold a secret"
    kept = source(odd, content="batches", keepCrcs="true").orderBy("position").collect()
    assert kept == rows
    assert [(row.base_offset, row.crc_valid) for row in rows] == [
        (0, True),
        (2, True),
        (3, True),
        (4, True),
        (5, False),
        (6, True),
        (7, True),
    ]
    content = (odd / LOG).read_bytes()
    for row, found in zip(rows, scan(content, expected_offset=0).batches, strict=True):
        header = found.header
        assert row.asDict() == {
            **dict.fromkeys(OWNER),
            "directory": str(odd),
            "file": str(odd / LOG),
            "position": found.position,
            "base_offset": header.base_offset,
            "last_offset": header.last_offset,
            "leader_epoch": 3,
            "crc": header.crc,
            "crc_valid": found.crc_valid,
            "is_control": header.is_control,
            "record_count": header.record_count,
            "size_bytes": header.size_bytes,
            "base_timestamp": datetime.fromtimestamp(0, UTC).astimezone().replace(tzinfo=None),
            "max_timestamp": datetime.fromtimestamp(0, UTC).astimezone().replace(tzinfo=None),
        }


def test_a_payload_is_a_variant_that_sql_can_open(
    source: Callable[..., DataFrame], odd: Path
) -> None:
    (row,) = (
        source(odd)
        .where("offset = 7")
        .selectExpr(
            "payload:name::string AS name",
            "variant_get(payload, '$.topicId', 'string') AS id",
            "schema_of_variant(payload) AS shape",
        )
        .collect()
    )
    assert row.name
    assert len(row.id) == 22
    assert row.shape == "OBJECT<name: STRING, topicId: STRING>"


def test_snapshot_records_are_those_of_the_reader_by_path_and_by_uri(
    source: Callable[..., DataFrame], data: Path
) -> None:
    folder = data / "kafka-4.1.1-dynamic" / "split" / "2"
    frame = source(folder.as_uri(), "kraft_snapshot", keepSecrets="true")
    paths = [p for p in folder.rglob("*.checkpoint") if p.name != "bootstrap.checkpoint"]
    assert len(paths) == 2
    expected = []
    for path in paths:
        end_offset, epoch = (int(part) for part in path.stem.split("-"))
        for row in in_json(read_directly(path, None)):
            changed = {"file": path.as_uri(), "end_offset": end_offset, "epoch": epoch}
            changed["index"] = row.pop("offset")
            for name in ("base_offset", "leader_epoch", "crc"):
                del row[name]
            expected.append(row | changed)

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["file"], row["index"]

    rows = sorted((plain(row) for row in frame.collect()), key=place)
    assert rows == sorted(expected, key=place)


def test_a_folder_without_logs_is_an_error_and_one_with_empty_ones_is_empty(
    source: Callable[..., DataFrame], tmp_path: Path
) -> None:
    with pytest.raises(PySparkException, match="no metadata directory below it"):
        source(tmp_path).collect()
    (tmp_path / LOG).write_bytes(b"")
    assert source(tmp_path).collect() == []


def test_a_file_that_goes_between_plan_and_read_is_named(
    source: Callable[..., DataFrame], odd: Path, tmp_path: Path
) -> None:
    path = tmp_path / LOG
    path.write_bytes((odd / LOG).read_bytes())
    rows = source(tmp_path).rdd
    rows.getNumPartitions()
    path.unlink()
    with pytest.raises(Exception, match=f"{path}: file is gone"):
        rows.count()
