"""Which lakes are built in this process, and what is left behind of one that isn't."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable, QueryBuilder

from jobs.cli.commands.lake import IngestOptions
from jobs.cli.lake import ingest
from pipelines import small_build
from pipelines.delta import Lake
from pipelines.small_build import build_small


@pytest.fixture(scope="module")
def ingested(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of one replica, not built."""
    lake = tmp_path_factory.mktemp("small") / "lake"
    assert (
        ingest.run(IngestOptions([str(data / "kafka-3.7.2-static" / "final" / "12")], Lake(lake)))
        == 0
    )
    return lake


@pytest.fixture
def lake(ingested: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(ingested, tmp_path / "lake"))


@pytest.mark.parametrize("limit", ["_MOST_ROWS", "_MOST_OFFSETS"])
def test_a_cluster_beyond_a_limit_leaves_the_lake_to_spark_as_it_was(
    lake: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(small_build, limit, 100)
    before = sorted(lake.rglob("*"))
    assert build_small(Lake(lake), lambda _: None) is None
    assert sorted(lake.rglob("*")) == before


def test_records_of_many_bytes_leave_the_lake_to_spark_however_few_they_are(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_build, "_SURELY_SMALL_BYTES", 0)
    records = QueryBuilder().register("t", DeltaTable(str(lake / "bronze" / "log_records")))
    found = records.execute("SELECT * FROM t").read_all()["value"]
    size = sum(len(value.as_py() or b"") for value in found)
    assert size > 1000
    monkeypatch.setattr(small_build, "_MOST_VALUE_BYTES", size - 1)
    assert build_small(Lake(lake), lambda _: None) is None
    monkeypatch.setattr(small_build, "_MOST_VALUE_BYTES", 10 * size)
    assert build_small(Lake(lake), lambda _: None) is not None


def test_a_lake_without_bronze_tables_is_left_to_spark_which_says_so(tmp_path: Path) -> None:
    assert build_small(Lake(tmp_path), lambda _: None) is None


def test_a_second_build_of_the_same_lake_writes_no_table(lake: Path) -> None:
    told: list[str] = []
    first = build_small(Lake(lake), told.append)
    assert first is not None
    assert told[0] == "quality of bronze"
    assert told[-1] == "quality of gold"
    tables = [folder.parent for folder in lake.glob("*/*/_delta_log")]
    derived = [table for table in tables if table.parent.name in ("silver", "gold")]
    before = {table: DeltaTable(str(table)).version() for table in derived}
    assert build_small(Lake(lake), told.append) == first
    after = {table: DeltaTable(str(table)).version() for table in derived}
    assert {table.name for table in derived if after[table] != before[table]} == {"quality_results"}
