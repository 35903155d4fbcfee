"""Ranges written directly make the table that kraft_log's rows make, byte for byte."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import VariantVal

from pipelines import delta
from pipelines.bronze.log_ranges import LogRange, log_ranges, log_record_batches
from pipelines.bronze.new_records import decoded_into
from pipelines.delta import Lake, PendingAppend
from pipelines.delta.task_files import Writing
from pipelines.runners.spark import SparkRunner
from pipelines.runners.stage import Grain
from pipelines.sources import register
from pipelines.sources.files import SourceFile, log_files
from pipelines.tables.bronze import LOG_RECORDS
from replica.errors import UnreadableFileError
from replica.metadata.redact import Redactor
from replica.model.keys import ReplicaId
from tests.replica.format.encoded import encode_batch

pytestmark = pytest.mark.spark

LOG = f"{0:020d}.log"
OWNER = ReplicaId("cluster", 3, "directory")
KEY = b"a key"
RANGE_BYTES = 20_000
"""Small enough that recorded segments are cut."""


@pytest.fixture(scope="module")
def files(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[SourceFile]:
    """Recorded segments, all record types with unknown and undecodable ones, damage, emptiness."""
    recorded = log_files(str(data / "kafka-4.1.1-dynamic" / "final" / "1"))
    generated = data / "generated-all-types" / LOG
    folder = tmp_path_factory.mktemp("segments")
    damaged = bytearray(generated.read_bytes())
    for position in range(5000, len(damaged), 50_000):
        damaged[position] ^= 0xFF
    unreadable = encode_batch(
        base_offset=0,
        leader_epoch=1,
        records=b"\x02",
        record_count=2,
        last_offset_delta=1,
        base_timestamp=0,
        max_timestamp=0,
    )
    contents = {"damaged": bytes(damaged), "torn": generated.read_bytes()[:70_000], "empty": b""}
    contents["unreadable"] = unreadable
    for name, content in contents.items():
        (folder / name).mkdir()
        (folder / name / LOG).write_bytes(content)
    made = [folder / name / LOG for name in contents]
    return [*recorded, *(SourceFile(str(path), str(path)) for path in (generated, *made))]


def write_directly(
    spark: SparkSession, lake: Lake, files: list[SourceFile], key: bytes | None
) -> delta.Written:
    delta.ensure_table(lake, LOG_RECORDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipelines.bronze.log_ranges.MOST_RANGE_BYTES", RANGE_BYTES)
        parts = log_ranges([(file, OWNER) for file in files])
    assert len(parts) > len(files), "some file is cut"
    return append(spark, lake, parts, None if key is None else Redactor(key))


def append(
    spark: SparkSession, lake: Lake, parts: list[LogRange], redactor: Redactor | None
) -> delta.Written:
    begun = PendingAppend.begun(lake, LOG_RECORDS)
    decode = partial(log_record_batches, redactor=redactor)
    stage = Writing(
        "log records",
        Grain.FILE_RANGE,
        partial(decoded_into, decode=decode),
        LOG_RECORDS.name,
    )
    decoded = begun.written_by(SparkRunner.of(spark), stage, parts)
    return begun.commit([one.file for one in decoded if one.file is not None])


def by_spark(spark: SparkSession, files: list[SourceFile], **options: str) -> DataFrame:
    register(spark)
    paths = [[file.path, file.shown] for file in files]
    reader = spark.read.format("kraft_log").options(**options)
    rows = reader.option("files", str(paths).replace("'", '"')).load()
    owner = {"cluster_id": "cluster", "node_id": 3, "directory_id": "directory"}
    assert rows.where("error IS NOT NULL").count() > 0, "rows that must not be in the table"
    rows = rows.withColumns({name: F.lit(value) for name, value in owner.items()})
    return rows.where("error IS NULL")


def sorted_rows(frame: DataFrame) -> list[str]:
    return sorted(
        repr([(v.value, v.metadata) if isinstance(v, VariantVal) else v for v in row])
        for row in frame.select(*LOG_RECORDS.column_names).collect()
    )


@pytest.mark.slow
@pytest.mark.parametrize("key", [KEY, None], ids=["redacted", "with secrets"])
def test_the_rows_are_those_of_kraft_log(
    key: bytes | None, spark: SparkSession, files: list[SourceFile], tmp_path: Path
) -> None:
    lake = Lake(tmp_path / "lake")
    written = write_directly(spark, lake, files, key)

    (tmp_path / "key").write_bytes(KEY)
    option = {"keepSecrets": "true"} if key is None else {"redactKeyFile": str(tmp_path / "key")}
    wanted = sorted_rows(by_spark(spark, files, **option))
    found = sorted_rows(delta.read(spark, lake, LOG_RECORDS))
    assert len(found) == len(wanted) == written.rows > 5000
    assert found == wanted


@pytest.mark.parametrize(("at_once", "count"), [(1, 3), (2, 4), (5, 5)])
def test_ranges_are_even_and_fill_whole_rounds_of_tasks(
    at_once: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.bronze.log_ranges._WORTH_A_TASK_BYTES", 1)
    path = tmp_path / LOG
    batch = partial(
        encode_batch, leader_epoch=1, records=bytes(100), record_count=1, last_offset_delta=0
    )
    with path.open("wb") as out:
        for offset in range(1000):
            out.write(batch(base_offset=offset, base_timestamp=0, max_timestamp=0))
    size = path.stat().st_size
    monkeypatch.setattr("pipelines.bronze.log_ranges.MOST_RANGE_BYTES", size // 3 + 1000)
    parts = log_ranges([(SourceFile(str(path), "x"), OWNER)], at_once=at_once)
    sizes = [part.range.end - part.range.start for part in parts]
    assert len(sizes) == count
    assert sum(sizes) == size
    assert max(sizes) - min(sizes) < 0.1 * max(sizes)
    assert {part.replica for part in parts} == {OWNER}


def test_a_small_segment_is_one_task(tmp_path: Path) -> None:
    path = tmp_path / LOG
    path.write_bytes(bytes(1000))
    assert len(log_ranges([(SourceFile(str(path), "x"), OWNER)], at_once=8)) == 1
    assert log_ranges([], at_once=8) == []


def test_a_segment_that_is_gone_is_one_clear_line(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / LOG
    path.write_bytes(b"x" * 100)
    lake = Lake(tmp_path / "lake")
    delta.ensure_table(lake, LOG_RECORDS)
    parts = log_ranges([(SourceFile(str(path), "x"), OWNER)])
    path.unlink()
    with pytest.raises(UnreadableFileError, match=f"^{path}: file is gone$"):
        append(spark, lake, parts, Redactor(KEY))
    assert delta.version(lake, LOG_RECORDS) == 0
