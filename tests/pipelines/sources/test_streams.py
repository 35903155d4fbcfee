"""kraft_log and kraft_snapshot as streams, on a log that grows between and during the queries."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

from pipelines.sources import register
from pipelines.sources.kraft_log import KraftLogReader, KraftSnapshotReader
from pipelines.sources.streams import LogStreamReader, Offset, SnapshotStreamReader
from replica.errors import UsageError
from replica.format.file_names import METADATA_FOLDER
from replica.format.segment import scan

LOG = f"{0:020d}.log"


@pytest.fixture
def log(data: Path, tmp_path: Path) -> Path:
    """A recorded segment that can be cut and grown."""
    source = data / "kafka-3.7.2-static/final/1" / METADATA_FOLDER / LOG
    return Path(shutil.copy(source, tmp_path / LOG))


def offsets_of(reader: LogStreamReader, start: Offset, end: Offset) -> list[int]:
    """Base offsets of the batches between two stream offsets."""
    found: list[int] = []
    for part in reader.partitions(start, end):
        for batch in reader.read(part):
            found.extend(batch.column("base_offset").to_pylist())
    return found


def reader(log: Path, **options: str) -> LogStreamReader:
    given = {"path": str(log), "content": "batches", **options}
    return LogStreamReader(given, KraftLogReader(given))


def all_batches(
    log: Path, start: Offset | None = None, **options: str
) -> tuple[list[int], int, Offset]:
    """What comes until nothing is new, in how many micro-batches, and where that ends."""
    found: list[int] = []
    at, rounds = start or {}, 0
    stream = reader(log, **options)
    while True:
        end = stream.latestOffset(at, stream.getDefaultReadLimit())
        if end == at:
            return found, rounds, at
        found += offsets_of(stream, at, end)
        at, rounds = end, rounds + 1


def base_offsets(data: bytes) -> list[int]:
    return [batch.header.base_offset for batch in scan(data, expected_offset=0).batches]


@pytest.mark.parametrize("limit", [None, 1, 5000, 30_000])
def test_limits_change_the_number_of_micro_batches_and_nothing_else(
    limit: int | None, log: Path
) -> None:
    options = {} if limit is None else {"maxBytesPerTrigger": str(limit)}
    cut = log.read_bytes()[:40_000]
    log.write_bytes(cut)
    found, rounds, _ = all_batches(log, **options)
    assert found == base_offsets(cut)
    assert rounds >= (1 if limit is None else min(len(found), len(cut) // limit))


def test_a_batch_that_is_being_written_waits_until_it_is_whole(log: Path) -> None:
    content = log.read_bytes()
    batches = scan(content, expected_offset=0).batches
    log.write_bytes(content[: batches[10].position + 20])
    first, _, at = all_batches(log)
    assert first == base_offsets(content)[:10]
    log.write_bytes(content)
    rest, _, _ = all_batches(log, at)
    assert first + rest == base_offsets(content)


def test_a_rewritten_tail_is_read_from_the_beginning(data: Path, tmp_path: Path) -> None:
    """The ghost records of node 2 make way for the leader's."""
    before, after = (
        data / f"kafka-3.7.2-static/{capture}/2" / METADATA_FOLDER / LOG
        for capture in ("split", "final")
    )
    log = Path(shutil.copy(before, tmp_path / LOG))
    _, _, at = all_batches(log)
    shutil.copy(after, log)
    found, _, _ = all_batches(log, at)
    assert found == base_offsets(after.read_bytes())


def test_available_now_ends_where_the_files_ended_when_it_began(log: Path) -> None:
    content = log.read_bytes()
    batches = scan(content, expected_offset=0).batches
    log.write_bytes(content[: batches[50].position])
    stream = reader(log)
    stream.prepareForTriggerAvailableNow()
    log.write_bytes(content)
    end = stream.latestOffset({}, ReadMaxBytes(10**9))
    assert offsets_of(stream, {}, end) == base_offsets(content)[:50]
    assert stream.latestOffset(end, ReadAllAvailable()) == end


def test_files_are_limited_too_and_snapshots_come_whole_and_once(data: Path) -> None:
    folder = data / "kafka-4.1.1-dynamic/final"
    given = {"path": str(folder), "maxFilesPerTrigger": "1"}
    stream = SnapshotStreamReader(given, KraftSnapshotReader(given))
    at: Offset = {}
    sizes = []
    while True:
        end = stream.latestOffset(at, stream.getDefaultReadLimit())
        if end == at:
            break
        sizes.append(
            sum(batch.num_rows for p in stream.partitions(at, end) for batch in stream.read(p))
        )
        at = end
    assert len(sizes) == len(list(folder.rglob("*.checkpoint"))) - len(
        list(folder.rglob("bootstrap.checkpoint"))
    )
    assert all(sizes)


def test_a_limit_that_is_no_number_is_refused(log: Path) -> None:
    with pytest.raises(UsageError, match="option maxBytesPerTrigger=x"):
        reader(log, maxBytesPerTrigger="x")


@pytest.mark.spark
def test_spark_streams_a_growing_log_into_a_table_across_restarts(
    spark: SparkSession, log: Path, tmp_path: Path
) -> None:
    register(spark)
    content = log.read_bytes()
    batches = scan(content, expected_offset=0).batches

    def drain() -> None:
        stream = spark.readStream.format("kraft_log").option("maxBytesPerTrigger", "60000")
        query = (
            stream.load(str(log))
            .select("offset", "leader_epoch", "record_type")
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    log.write_bytes(content[: batches[-40].position])
    drain()
    log.write_bytes(content)
    drain()
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    end = batches[-1].header.next_offset
    assert sorted(row.offset for row in rows) == list(range(end))
    commits = list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    assert len(commits) >= 3
