"""`kraftlake lake`: what it says of offsets and tables, over small tables made by delta-rs."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cli.lake import lake_content
from pipelines.lake import Lake
from pipelines.lake.schema_version import write_schema_version
from replica.history.ranges import Ranges
from tests.examples import examples
from tests.jobs.conftest import Kraftlake
from tests.pipelines.spark.test_java import fake_java
from tests.without_java import hide_java

AT = datetime(2026, 11, 21, 5, tzinfo=UTC)
CAPTURE = {
    "capture_id": "a",
    "capture_group": "g",
    "cluster_id": "c",
    "node_id": 1,
    "directory_id": "d",
    "captured_at": AT,
    "round_name": "only",
    "has_own_time": True,
    "is_fragment": False,
    "ingest_seq": 1,
    "log_start_offset": 10,
    "log_end_offset": 60,
    "source": "nodes/1",
}


def _batch(first: int, last: int, *, node: int = 1, epoch: int = 1, valid: bool = True) -> Any:
    return {
        "cluster_id": "c",
        "node_id": node,
        "directory_id": "d",
        "base_offset": first,
        "last_offset": last,
        "leader_epoch": epoch,
        "crc_valid": valid,
        "max_timestamp": AT,
        "in_log": _span(AT, None),
    }


def _write(lake: Path, captures: list[Any], batches: list[Any]) -> None:
    write_schema_version(Lake(lake))
    for name, rows in (("captures", captures), ("log_batches", batches)):
        table = pa.Table.from_pylist(rows)
        write_deltalake(str(lake / "bronze" / name), table, mode="overwrite")


def test_gaps_are_what_no_capture_of_a_replica_or_of_its_cluster_holds(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    second = {**CAPTURE, "capture_id": "b", "node_id": 2, "log_start_offset": 0}
    later = {**CAPTURE, "capture_id": "e", "captured_at": AT.replace(hour=6)}
    batches = [
        _batch(2, 4),  # below the log start: held, and no gap behind it
        _batch(10, 19),
        _batch(15, 17, epoch=2),
        _batch(20, 29),
        _batch(30, 39, valid=False),
        _batch(45, 49),
        _batch(0, 1, node=2),
        _batch(30, 59, node=2),
    ]
    _write(tmp_path, [CAPTURE, later, second], batches)
    rows = kraftlake("lake", "--lake", tmp_path, "--json").rows
    one, two = (row for row in rows if row["kind"] == "replica")
    assert one["held"] == [{"start": s, "end": e} for s, e in ((2, 5), (10, 30), (45, 50))]
    assert one["gaps"] == [{"start": 30, "end": 45}, {"start": 50, "end": 60}]
    assert (one["captures"], one["last_captured"] - one["first_captured"]) == (2, 3_600_000)
    assert two["gaps"] == [{"start": 2, "end": 30}]
    (cluster,) = (row for row in rows if row["kind"] == "cluster")
    assert cluster["gaps"] == [{"start": 5, "end": 10}]
    text = kraftlake("lake", "--lake", tmp_path)
    assert text.code == 0
    assert "2 to 5, 10 to 30, 45 to 50  30 to 45, 50 to 60" in text.out


def test_the_java_of_spark_is_shown(
    kraftlake: Kraftlake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, [CAPTURE], [_batch(2, 4)])
    own = fake_java(tmp_path / "own", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(own))
    (row,) = (
        r for r in kraftlake("lake", "--lake", tmp_path, "--json").rows if r["kind"] == "java"
    )
    assert row == {"kind": "java", "version": 21, "origin": "JAVA_HOME", "home": str(own)}
    hide_java(monkeypatch)
    assert kraftlake("lake", "--lake", tmp_path).out.endswith("the Java of Spark\nnone\n")


def test_a_replica_s_log_start_and_end_are_those_of_its_newest_capture(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    later = {**CAPTURE, "capture_id": "e", "captured_at": AT.replace(hour=6), "ingest_seq": 2}
    later |= {"log_start_offset": 40, "log_end_offset": 55}
    second = {**CAPTURE, "capture_id": "b", "node_id": 2, "log_start_offset": 12}
    _write(tmp_path, [CAPTURE, later, second], [_batch(10, 29), _batch(40, 59)])
    rows = kraftlake("lake", "--lake", tmp_path, "--json").rows
    starts = {
        (row["kind"], row.get("node_id"), row["captures"]): (
            row["log_start_offset"],
            row["log_end_offset"],
        )
        for row in rows
        if row["kind"] in ("cluster", "replica")
    }
    assert starts == {
        ("cluster", None, 3): (12, 60),
        ("replica", 1, 2): (40, 55),
        ("replica", 2, 1): (12, 60),
    }
    one = next(row for row in rows if row["kind"] == "replica")
    assert one["held"] == [{"start": 10, "end": 30}, {"start": 40, "end": 60}]
    assert one["gaps"] == [{"start": 30, "end": 40}], "of all that any capture had"


def test_rounds_without_a_time_of_their_own_are_called_by_name_and_newest_record(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    later, looked_at = AT.replace(microsecond=1), AT.replace(hour=4)
    split = {**CAPTURE, "round_name": "split", "has_own_time": False}
    final = {**split, "round_name": "final", "captured_at": later, "capture_group": "h"}
    timed = {**split, "round_name": None, "has_own_time": True, "captured_at": looked_at}
    batches = [
        {**_batch(10, 59), "max_timestamp": AT.replace(hour=1), "in_log": _span(AT, later)},
        {**_batch(60, 69), "max_timestamp": AT.replace(hour=2), "in_log": _span(later, None)},
    ]
    captures = [{**timed, "capture_group": "f", "node_id": 2}, split, final]
    _write(tmp_path, captures, batches)
    rows = kraftlake("lake", "--lake", tmp_path, "--json").rows
    rounds = [row for row in rows if row["kind"] == "round"]
    assert [(row["round_name"], row["has_own_time"], row["captures"]) for row in rounds] == [
        (None, True, 1),
        ("split", False, 1),
        ("final", False, 1),
    ]
    assert [row["captured_at"] for row in rounds] == [_ms(looked_at), None, None]
    newest = [row["newest_record_at"] for row in rounds]
    assert newest == [None, _ms(AT.replace(hour=1)), _ms(AT.replace(hour=2))]
    told = [(row["round_name"], row["has_own_time"]) for row in rows if row["kind"] == "capture"]
    assert told == [(None, True), ("split", False), ("final", False)]

    text = kraftlake("lake", "--lake", tmp_path).out
    section = text.partition("rounds (captures that were taken together)\n")[2].partition("\n\n")[0]
    assert "2026-11-21T04:00:00.000Z" in section
    assert "split (newest record 2026-11-21T01:00:00.000Z)" in section
    assert "final (newest record 2026-11-21T02:00:00.000Z)" in section
    assert "2026-11-21T05:00" not in text, "the time of the ingest says nothing of these rounds"


def test_the_newest_record_of_a_round_may_have_a_time_that_no_calendar_has(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    split = {**CAPTURE, "round_name": "split", "has_own_time": False}
    far = pa.table(
        {
            **{name: [value] for name, value in _batch(10, 59).items()},
            "max_timestamp": pa.array([270_000_000_000_000_000], pa.timestamp("us", "UTC")),
            "in_log": [_span(AT, None)],
        }
    )
    write_schema_version(Lake(tmp_path))
    write_deltalake(str(tmp_path / "bronze/captures"), pa.Table.from_pylist([split]))
    write_deltalake(str(tmp_path / "bronze/log_batches"), far)
    assert "split (newest record 270000000000000ms)" in kraftlake("lake", "--lake", tmp_path).out


def _span(first: datetime, last: datetime | None) -> list[dict[str, Any]]:
    return [{"from": first, "to": last}]


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def test_tables_have_their_version_files_bytes_and_rows(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    _write(tmp_path, [CAPTURE], [_batch(10, 59)])
    added = pa.Table.from_pylist([_batch(0, 9)])
    write_deltalake(str(tmp_path / "bronze/log_batches"), added, mode="append")
    rows = kraftlake("lake", "--lake", tmp_path, "--json").rows
    tables = {row["name"]: row for row in rows if row["kind"] == "table"}
    assert list(tables) == ["bronze.captures", "bronze.log_batches"]
    batches = tables["bronze.log_batches"]
    assert (batches["version"], batches["files"], batches["rows"]) == (1, 2, 2)
    stored = (tmp_path / "bronze/log_batches").glob("*.parquet")
    assert batches["size_bytes"] == sum(file.stat().st_size for file in stored)


def test_a_lake_that_lacks_its_captures_or_can_t_be_read_is_refused_in_one_line(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    write_schema_version(Lake(tmp_path))
    write_deltalake(str(tmp_path / "bronze/captures"), pa.Table.from_pylist([CAPTURE]))
    ended = kraftlake("lake", "--lake", tmp_path)
    assert ended.code == 2
    assert "it has no bronze.log_batches; run `kraftlake ingest --lake`" in ended.error
    (tmp_path / "bronze/log_batches/_delta_log").mkdir(parents=True)
    ended = kraftlake("lake", "--lake", tmp_path)
    assert ended.code == 1
    assert str(tmp_path / "bronze/log_batches") in ended.error


@settings(max_examples=examples(25))
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=8),
    st.integers(0, 30),
    st.integers(0, 30),
)
def test_held_and_gaps_are_right_for_every_offset(
    batches: list[tuple[int, int]], start: int, length: int
) -> None:
    with TemporaryDirectory() as folder:
        capture = {**CAPTURE, "log_start_offset": start, "log_end_offset": start + length}
        rows = [_batch(base, base + size, epoch=n) for n, (base, size) in enumerate(batches)]
        _write(Path(folder), [capture], rows)
        (found,) = lake_content.replicas(Lake(folder))
    covered = {offset for base, size in batches for offset in range(base, base + size + 1)}
    assert _offsets(found.held) == covered
    assert _offsets(found.gaps) == set(range(start, start + length)) - covered
    ends = [(one.start, one.end) for one in found.held]
    assert all(end < start for (_, end), (start, _) in pairwise(ends))


def _offsets(ranges: Ranges) -> set[int]:
    assert all(one.start < one.end for one in ranges)
    return {offset for one in ranges for offset in range(one.start, one.end)}
