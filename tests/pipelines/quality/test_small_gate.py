"""The gate of a build without Spark: what it lets pass, and what it writes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pipelines import delta
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there
from pipelines.quality.results import PAGES
from pipelines.quality.small_gate import SmallGate
from pipelines.tables.bronze import (
    BRONZE,
    CAPTURES,
    DAMAGE,
    LOG_BATCHES,
    LOG_RECORDS,
    REPLICA_STATE,
)
from pipelines.tables.gold import GOLD, QUALITY_RESULTS, QUARANTINED_ROWS
from pipelines.tables.silver import SILVER
from replica.errors import CorruptDataError
from tests.pipelines.quality.broken_rows import GOOD
from tests.pipelines.quality.example_lakes import lake_of, lake_of_bronze

_ROOT = Path(__file__).parents[3]


def _rows(lake: Lake, name: str) -> list[dict[str, Any]]:
    table = open_if_there(lake, name)
    assert table is not None
    rows: list[dict[str, Any]] = table.to_pyarrow_table().to_pylist()
    return rows


def _quarantine(lake: delta.Lake, *tables: str) -> None:
    """A row of each table that a run before left out."""
    delta.ensure_table(lake, QUARANTINED_ROWS)
    row = {"run_id": "before", "at": datetime(2026, 1, 1, tzinfo=UTC), "table_version": 0}
    row |= {"reason": "r", "row_key": "{}", "content": "{}"}
    delta.add_values(lake, QUARANTINED_ROWS, [row | {"table_name": name} for name in tables])


def test_a_layer_of_which_nothing_is_broken_passes_and_has_results_and_pages(
    tmp_path: Path,
) -> None:
    lake = lake_of_bronze(tmp_path)
    with SmallGate(lake, pytest.fail, "run-1") as gate:
        assert gate.admit(BRONZE)
        assert [(one.table, one.version) for one in gate.results] == [(one, 1) for one in BRONZE]
    rows = _rows(lake, QUALITY_RESULTS.name)
    assert {row["run_id"] for row in rows} == {"run-1"}
    assert all(row["success"] and not row["unexpected_rows"] for row in rows)
    (unique,) = (
        row
        for row in rows
        if row["table_name"] == "bronze.log_records" and row["meaning"] == "keys are unique"
    )
    assert (unique["evaluated_rows"], unique["table_version"]) == (2, 1)
    pages = {page.stem: page.read_text(encoding="utf-8") for page in (tmp_path / PAGES).iterdir()}
    assert set(pages) == {"index", *(table.name for table in BRONZE)}
    assert "keys are unique" in pages["bronze.log_records"]
    assert "<p>2 rows." in pages["bronze.log_records"]


def test_a_run_with_the_id_of_an_earlier_attempt_replaces_its_results(tmp_path: Path) -> None:
    lake = lake_of_bronze(tmp_path)
    for run_id in ("it's one", "two", "it's one"):
        with SmallGate(lake, pytest.fail, run_id) as gate:
            gate.admit(BRONZE)
    rows = _rows(lake, QUALITY_RESULTS.name)
    of_one = [row for row in rows if row["run_id"] == "it's one"]
    assert len(of_one) * 2 == len(rows) > 0


def test_rows_that_were_left_out_before_are_forgotten_for_the_tables_that_are_judged(
    tmp_path: Path,
) -> None:
    lake = lake_of_bronze(tmp_path)
    _quarantine(lake, "bronze.log_batches", "silver.committed_log")
    for _ in range(2):
        with SmallGate(lake, pytest.fail) as gate:
            assert gate.admit(BRONZE)
        left = _rows(lake, QUARANTINED_ROWS.name)
        assert [row["table_name"] for row in left] == ["silver.committed_log"]
    table = open_if_there(lake, QUARANTINED_ROWS.name)
    assert table is not None
    assert table.version() == 2, "where there is nothing to forget nothing is committed"


def test_a_layer_of_which_a_row_is_only_warned_of_passes_and_its_verdict_has_the_row(
    tmp_path: Path,
) -> None:
    lake = lake_of_bronze(tmp_path, damage={"kind": "<b>gremlins</b>"})
    lines: list[str] = []
    with SmallGate(lake, lines.append) as gate:
        assert gate.admit(BRONZE)
    key = '{"capture_id": "i", "file": "f", "position": 0, "kind": "<b>gremlins</b>"}'
    told = "1 of 1 rows break 'kind is one of its known values' (warn)"
    assert lines == [f"bronze.damage: {told}, such as {key}"]
    (broken,) = (row for row in _rows(lake, QUALITY_RESULTS.name) if not row["success"])
    assert (broken["table_name"], broken["columns"]) == ("bronze.damage", ["kind"])
    assert (broken["evaluated_rows"], broken["unexpected_rows"]) == (1, 1)
    assert broken["sample_keys"] == [key]
    pages = {page.stem: page.read_text(encoding="utf-8") for page in (tmp_path / PAGES).iterdir()}
    assert set(pages) == {"index", *(table.name for table in BRONZE)}
    assert "&lt;b&gt;gremlins&lt;/b&gt;" in pages["bronze.damage"]
    assert "gremlins" not in pages["bronze.findings"]


def test_a_condition_that_sql_cannot_say_is_judged_by_its_predicate(tmp_path: Path) -> None:
    lake = lake_of_bronze(tmp_path, replica_state={"leader_epochs": [(2, 0), (1, 5)]})
    lines: list[str] = []
    with SmallGate(lake, lines.append) as gate:
        assert gate.admit(BRONZE)
    assert len(lines) == 1
    assert "1 of 1 rows break 'epochs and offsets of leader-epoch-checkpoint ascend'" in lines[0]
    page = (tmp_path / PAGES / "bronze.replica_state.html").read_text(encoding="utf-8")
    assert "start_offset" in page


def test_of_many_broken_rows_the_first_keys_in_their_order_are_told(tmp_path: Path) -> None:
    rows = [GOOD["bronze.damage"].rows[0] | {"kind": "x", "position": n} for n in range(30, 10, -1)]
    lake = lake_of(tmp_path, {DAMAGE: rows})
    with SmallGate(lake, lambda _: None) as gate:
        assert gate.admit([DAMAGE])
    (broken,) = (row for row in _rows(lake, QUALITY_RESULTS.name) if not row["success"])
    assert broken["unexpected_rows"] == 20
    assert [json.loads(key)["position"] for key in broken["sample_keys"]] == [11, 12, 13, 14, 15]


def test_a_row_that_no_input_can_cause_ends_the_build_and_is_told(tmp_path: Path) -> None:
    lake = lake_of_bronze(tmp_path, damage={"kind": "gremlins", "length": -1, "position": -2})
    lines: list[str] = []
    with pytest.raises(CorruptDataError) as caught, SmallGate(lake, lines.append) as gate:
        gate.admit(BRONZE)
    assert str(caught.value) == (
        f"{lake.path_of(DAMAGE)}: 1 of 1 rows break 'position is 0 or more' (stop), such as "
        '{"capture_id": "i", "file": "f", "position": -2, "kind": "gremlins"}; '
        "1 more expectations are broken. Nothing was derived from it; gold.quality_results has all"
    )
    assert len(lines) == 3
    told = [row["meaning"] for row in _rows(lake, QUALITY_RESULTS.name) if not row["success"]]
    assert len(told) == 3


def test_a_table_with_too_few_rows_ends_the_build(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, {CAPTURES: [], REPLICA_STATE: []})
    with (
        pytest.raises(CorruptDataError, match="0 rows break 'the table has 1 rows or more'"),
        SmallGate(lake, lambda _: None) as gate,
    ):
        gate.admit([CAPTURES, REPLICA_STATE])
    assert (tmp_path / PAGES / "bronze.captures.html").exists()


_BACKWARDS = {"log_batches": {"last_offset": -1}}
"""A row that asks to be left out; then the records of its batch lie in none."""


def test_rows_that_ask_for_it_are_left_out_and_kept_with_the_reason(tmp_path: Path) -> None:
    lake = lake_of_bronze(tmp_path, **_BACKWARDS)
    _quarantine(lake, "bronze.log_batches", "silver.committed_log")
    lines: list[str] = []
    with SmallGate(lake, lines.append, "run-1") as gate:
        assert gate.admit(BRONZE)
        assert gate.admitted.rows_of(LOG_BATCHES).num_rows == 0
        assert gate.admitted.rows_of(LOG_RECORDS).num_rows == 0
        assert gate.admitted.rows_of(DAMAGE).num_rows == 1
        assert gate.admitted.rows_of(LOG_RECORDS).schema.names == list(LOG_RECORDS.column_names)
    left_out = _rows(lake, QUARANTINED_ROWS.name)
    assert sorted((row["table_name"], row["run_id"]) for row in left_out) == [
        ("bronze.log_batches", "run-1"),
        ("bronze.log_records", "run-1"),
        ("bronze.log_records", "run-1"),
        ("silver.committed_log", "before"),
    ]
    (batch,) = (row for row in left_out if row["table_name"] == "bronze.log_batches")
    assert batch["row_key"] == (
        '{"cluster_id":"c","node_id":1,"directory_id":"d","base_offset":10,"leader_epoch":2,"crc":7}'
    )
    assert '"first_seen":"2026-01-01T00:00:00.000Z"' in batch["content"]
    assert "from 0 on" in batch["reason"]
    assert any("bronze.log_records: 2 of 2 rows break 'a record lies" in line for line in lines)


def test_of_a_layer_that_is_refused_nothing_is_written(tmp_path: Path) -> None:
    lake = lake_of_bronze(tmp_path, **_BACKWARDS)
    _quarantine(lake, "bronze.log_batches")
    lines: list[str] = []
    before = sorted(tmp_path.rglob("*"))
    with SmallGate(lake, lines.append) as gate:
        assert not gate.admit(BRONZE, leave_out=False)
    assert "bronze.log_batches has rows to leave out: Spark judges them" in lines
    assert sorted(tmp_path.rglob("*")) == before


def test_rows_that_an_earlier_run_quarantined_stay_where_the_build_fails(tmp_path: Path) -> None:
    lake = lake_of_bronze(tmp_path, damage={"length": -1}, **_BACKWARDS)
    _quarantine(lake, "bronze.log_batches")
    with pytest.raises(CorruptDataError), SmallGate(lake, lambda _: None) as gate:
        gate.admit(BRONZE)
    assert [row["run_id"] for row in _rows(lake, QUARANTINED_ROWS.name)] == ["before"]


def test_results_found_before_an_error_are_written(tmp_path: Path) -> None:
    lake = lake_of_bronze(tmp_path)
    with pytest.raises(OSError, match="no room"):
        _admit_and_fail(lake)
    assert _rows(lake, QUALITY_RESULTS.name)


def _admit_and_fail(lake: delta.Lake) -> None:
    with SmallGate(lake, pytest.fail) as gate:
        gate.admit(BRONZE)
        raise OSError("no room")


@pytest.mark.parametrize("kind", ["framing", "gremlins"], ids=["whole", "warned of"])
def test_no_jvm_is_needed_and_great_expectations_only_where_a_row_is_broken(
    tmp_path: Path, kind: str
) -> None:
    lake = lake_of_bronze(tmp_path, damage={"kind": kind})
    script = f"""
import sys
from pipelines.lake import Lake
from pipelines.quality.small_gate import SmallGate
from pipelines.tables.bronze import BRONZE
with SmallGate(Lake({lake.root!r}), print) as gate:
    assert gate.admit(BRONZE)
from pyspark import SparkContext
assert SparkContext._gateway is None
assert ("great_expectations" in sys.modules) == ({kind!r} == "gremlins")
"""
    file = tmp_path / "script.py"  # pyspark ends a process that has no main file
    file.write_text(script, encoding="utf-8")
    named = os.environ | {"PYTHONPATH": str(_ROOT)}
    subprocess.run([sys.executable, str(file)], check=True, cwd=_ROOT, env=named, timeout=60)
    assert (tmp_path / PAGES / "index.html").exists()


@pytest.mark.spark
def test_the_results_and_pages_are_those_of_a_build_with_spark(
    built_lake: Path, tmp_path: Path
) -> None:
    lake = delta.Lake(shutil.copytree(built_lake, tmp_path / "lake"))
    pages = Path(lake.root, PAGES)
    by_spark = {page.name: page.read_bytes() for page in pages.iterdir()}
    with SmallGate(lake, pytest.fail, "small") as gate:
        assert all(gate.admit(tables) for tables in (BRONZE, SILVER, GOLD))
    own = ("run_id", "at")
    results: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for row in DeltaTable(f"{lake.root}/gold/quality_results").to_pyarrow_table().to_pylist():
        is_small = row["run_id"] == "small"
        results[is_small].append({name: row[name] for name in row if name not in own})
    assert _in_order(results[True]) == _in_order(results[False])
    by_small = {page.name: page.read_bytes() for page in pages.iterdir()}
    assert by_small.keys() == by_spark.keys()
    changed = {name for name, content in by_small.items() if content != by_spark[name]}
    assert changed == {"index.html"}, "which says when"


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["table_name"], row["meaning"]))
