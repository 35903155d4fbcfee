"""The gate of a build: what warn, quarantine and stop do with rows that are really bad."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from jobs.cli.commands.lake import IngestOptions
from jobs.cli.main import app
from jobs.cli.outcome import run as run_command
from jobs.ingest import run as ingest
from pipelines import delta
from pipelines.changed_clusters import DERIVED
from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_versions
from pipelines.quality.results import PAGES
from pipelines.tables import bronze, silver
from pipelines.tables.contract import Contract
from pipelines.tables.gold import QUALITY_RESULTS, QUARANTINED_ROWS
from tests.pipelines.quality.broken_rows import GOOD

_RUN_ID = "5a3a1a6e-3f0b-4c58-8a34-0d8a2f4c1b11"
_DYNAMIC, _STATIC = "kafka-4.1.1-dynamic", "kafka-3.7.2-static"


def _rows(lake: Lake, contract: Contract) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(lake.path_of(contract)).to_pyarrow_table().to_pylist()
    return rows


def _first(lake: Lake, contract: Contract, where: str = "true") -> dict[str, Any]:
    rows = delta.values(lake, contract, contract.column_names, where)
    return min(rows, key=lambda row: [str(row[key]) for key in contract.keys])


def _build(lake: Lake) -> int:
    return run_command(app, ["build", "--engine", "local", "--lake", lake.root])


def _index(lake: Lake) -> str:
    return Path(lake.root, PAGES, "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def dynamic(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bronze of one recorded cluster."""
    lake = tmp_path_factory.mktemp("dynamic") / "lake"
    assert ingest(IngestOptions([str(data / _DYNAMIC)], Lake(lake), order="live,split,final")) == 0
    return lake


@pytest.fixture
def lake(dynamic: Path, tmp_path: Path) -> Lake:
    return Lake(shutil.copytree(dynamic, tmp_path / "lake"))


@pytest.mark.slow
def test_bad_rows_are_left_out_kept_and_told_also_when_another_cluster_is_built(
    lake: Lake, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Warned of: a damage of no known kind. Left out: a batch that ends before it begins, and a
    record of no batch."""
    assert _build(lake) == 0
    sound = _derived(lake)
    shutil.rmtree(Path(lake.root, "silver"))
    shutil.rmtree(Path(lake.root, "gold"))
    batch = _first(lake, bronze.LOG_BATCHES, "NOT is_control AND record_count > 1")
    record = _first(lake, bronze.LOG_RECORDS)
    damage = GOOD[bronze.DAMAGE.name].rows[0] | {"kind": "gremlins"}
    delta.add_values(lake, bronze.LOG_BATCHES, [batch | {"crc": 1, "last_offset": -1}])
    delta.add_values(lake, bronze.LOG_RECORDS, [record | {"crc": 1, "payload": None}])
    delta.add_values(
        lake, bronze.DAMAGE, [{name: damage.get(name) for name in bronze.DAMAGE.column_names}]
    )
    capsys.readouterr()
    assert _build(lake) == 0
    error = capsys.readouterr().err
    assert "bronze.damage: 1 of 1 rows break 'kind is one of its known values' (warn)" in error
    assert _derived(lake) == sound, "nothing is derived from what is left out"
    left_out = _left_out(lake)
    assert set(left_out) == {"bronze.log_batches", "bronze.log_records"}
    assert '"last_offset":-1' in left_out["bronze.log_batches"]["content"]
    assert "from 0 on" in left_out["bronze.log_batches"]["reason"]
    assert "lies within its batch" in left_out["bronze.log_records"]["reason"]
    assert json.loads(left_out["bronze.log_batches"]["row_key"])["crc"] == 1
    assert "are in gold.quarantined_rows: 1 of bronze.log_batches, 1 of bronze.log_rec" in _index(
        lake
    )

    paths = [str(data / _STATIC)]
    assert ingest(IngestOptions(paths, lake, order="live,split,final")) == 0
    capsys.readouterr()
    assert _build(lake) == 0
    assert "1 of 2 clusters have changed" in capsys.readouterr().err
    assert _left_out(lake) == left_out
    newest = max(row["at"] for row in _rows(lake, QUALITY_RESULTS))
    told = [row for row in _rows(lake, QUALITY_RESULTS) if row["at"] == newest]
    counts = {row["table_name"]: row["evaluated_rows"] for row in told}
    for contract in (*bronze.DERIVED_FROM, *DERIVED):
        assert counts[contract.name] == len(_rows(lake, contract)), contract.name
    broken = {row["table_name"] for row in told if not row["success"]}
    assert {"bronze.damage", "bronze.log_batches", "bronze.log_records"} <= broken


def _derived(lake: Lake) -> dict[str, int]:
    return {one.name: len(_rows(lake, one)) for one in DERIVED}


def _left_out(lake: Lake) -> Mapping[str, dict[str, Any]]:
    rows = _rows(lake, QUARANTINED_ROWS)
    by_table = {row["table_name"]: row for row in rows}
    assert len(by_table) == len(rows)
    return by_table


def test_a_row_that_stops_a_build_moves_no_table_and_all_is_told(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    delta.add_values(lake, bronze.SNAPSHOTS, [_first(lake, bronze.SNAPSHOTS)])
    capsys.readouterr()
    assert _build(lake) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"kraftlake: error: {lake.root}/bronze/snapshots: 2 of ")
    assert "rows break 'keys are unique' (stop), such as {" in error
    assert error.endswith("Nothing was derived from it; gold.quality_results has all")
    versions = newest_versions(lake, [one.name for one in DERIVED])
    assert {name: version for name, version in versions.items() if version} == {}
    assert all(not _rows(lake, one) for one in DERIVED)
    path = Path(lake.path_of(silver.COMMITTED_LOG))
    assert [*path.glob("*.parquet")], "the units' files are there, and no commit names them"
    rows = _rows(lake, QUALITY_RESULTS)
    broken = {(row["table_name"], row["meaning"]) for row in rows if not row["success"]}
    assert broken == {  # what would have been derived was judged, too
        ("bronze.snapshots", "keys are unique"),
        ("gold.snapshot_validity", "keys are unique"),
    }
    assert "The build was stopped and committed nothing: " in _index(lake)
    assert not Path(lake.root, QUARANTINED_ROWS.name.replace(".", "/")).exists()


@pytest.mark.slow
def test_a_build_with_the_id_of_an_earlier_attempt_replaces_its_results(lake: Lake) -> None:
    named = ["build", "--engine", "local", "--lake", lake.root, "--run-id", _RUN_ID]
    for _ in range(2):
        assert run_command(app, named) == 0
        Path(lake.root, "_last_build").unlink()
        rows = _rows(lake, QUALITY_RESULTS)
        assert {row["run_id"] for row in rows} == {_RUN_ID}
    assert len({(row["table_name"], row["meaning"]) for row in rows}) == len(rows) > 0
