"""Upkeep makes tables smaller, and takes nothing away that somebody may still ask for."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs.cli.main import app
from jobs.cli.outcome import run as run_command
from pipelines import delta
from pipelines.delta import Lake
from pipelines.delta.upkeep import LEAST_RETENTION_DAYS, Upkeep, upkeep
from pipelines.lake.schema_version import write_schema_version
from pipelines.tables.bronze import DAMAGE
from pipelines.tables.contract import FEED_RETENTION_DAYS, Column, Contract
from pipelines.tables.quorum import LOG_GROWTH
from tests.jobs.conftest import Ended
from tests.pipelines.spark_writes import append

pytestmark = pytest.mark.spark

_COLUMNS = (Column("n", "bigint", "A number."), Column("seen", "int", "How often."))
FED = Contract("gold.fed", "With a change data feed.", _COLUMNS, ("n",), change_feed=True)
PLAIN = Contract("gold.plain", "Without one.", _COLUMNS, ("n",))


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two tables of two files each; of the one with a feed a row was updated."""
    place = Lake(tmp_path_factory.mktemp("made"))
    for contract in (FED, PLAIN):
        delta.ensure_table(place, contract)
        for n in (1, 2):
            append(place, contract, spark.createDataFrame([(n, 0)], contract.schema))
    spark.sql(f"UPDATE delta.`{place.path_of(FED)}` SET seen = 1 WHERE n = 1")
    return place


@pytest.fixture
def lake(made: Lake, tmp_path: Path) -> Lake:
    """The same for the test's own."""
    return Lake(shutil.copytree(made.root, tmp_path / "a lake's"))


def _aged(path: Path, days: float) -> Path:
    then = time.time() - days * 86_400
    os.utime(path, (then, then))
    return path


def _orphan(lake: Lake, contract: Contract, days: float) -> Path:
    """A data file of no version, as an interrupted write leaves it."""
    path = Path(lake.path_of(contract), f"part-{days}.parquet")
    path.write_bytes(b"never committed")
    return _aged(path, days)


def _changes(lake: Lake, version: int) -> list[dict[str, object]]:
    """As `publish` reads them."""
    table = DeltaTable(lake.path_of(FED))
    read = table.load_cdf(starting_version=version, ending_version=version)
    return pa.table(read).to_pylist()


@pytest.mark.slow
def test_files_of_versions_within_the_retention_stay(spark: SparkSession, lake: Lake) -> None:
    feed, plain = FEED_RETENTION_DAYS, LEAST_RETENTION_DAYS
    young = [_orphan(lake, FED, feed - 1), _orphan(lake, PLAIN, plain - 1)]
    old = [_orphan(lake, FED, feed + 1), _orphan(lake, PLAIN, plain + 1)]
    (changed,) = Path(lake.path_of(FED), "_change_data").glob("*.parquet")
    _aged(changed, feed - 1)
    told = _changes(lake, 3)
    assert {row["_change_type"] for row in told} == {"update_preimage", "update_postimage"}

    for contract, days in ((FED, feed), (PLAIN, plain)):
        before = delta.version(lake, contract)
        meant = upkeep(spark, lake, contract, dry_run=True)
        assert (meant.retention_days, meant.files, meant.deleted_files) == (days, 2, 1)
        assert delta.version(lake, contract) == before
        assert upkeep(spark, lake, contract, dry_run=False) == Upkeep(days, 2, 1, 1, 0)
        again = delta.version(lake, contract)
        assert upkeep(spark, lake, contract, dry_run=False) == Upkeep(days, 1, 1, 0, 0)
        assert delta.version(lake, contract) == again, "nothing to do is no commit"

    assert [path.exists() for path in (*young, *old)] == [True, True, False, False]
    assert _changes(lake, 3) == told
    later = range(4, DeltaTable(lake.path_of(FED)).version() + 1)
    assert [_changes(lake, version) for version in later] == [[]] * len(later)
    rows = delta.read(spark, lake, FED).orderBy("n").collect()
    assert [tuple(row) for row in rows] == [(1, 1), (2, 0)]


@pytest.mark.slow
def test_more_is_kept_where_that_is_asked(spark: SparkSession, lake: Lake) -> None:
    file = _orphan(lake, PLAIN, 20)
    path = lake.path_of(PLAIN)
    assert upkeep(spark, lake, PLAIN, retain_days=21, dry_run=True).deleted_files is None
    assert upkeep(spark, lake, PLAIN, retain_days=21, dry_run=False).deleted_files == 0
    assert file.exists()
    spark.sql(
        f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES "
        "('delta.deletedFileRetentionDuration' = 'interval 500 hours')"
    )
    assert upkeep(spark, lake, PLAIN, dry_run=False).retention_days == 21
    assert file.exists()


@pytest.mark.slow
def test_old_entries_of_the_log_go_and_the_table_stays(spark: SparkSession, lake: Lake) -> None:
    log = Path(lake.path_of(FED), "_delta_log")
    for entry in log.glob("0*"):
        _aged(entry, FEED_RETENTION_DAYS + 2 - int(entry.name[:20]) / 100)
    before = sorted(path.name for path in log.glob("*.json"))
    done = upkeep(spark, lake, FED, dry_run=False)
    left = sorted(path.name for path in log.glob("*.json"))
    assert done.deleted_log_entries == len(before) + 1 - len(left)
    assert left[0] > before[0]
    assert delta.read(spark, lake, FED).count() == 2
    assert DeltaTable(str(log.parent)).to_pyarrow_table().num_rows == 2


@pytest.mark.slow
def test_the_command_tells_what_it_did_to_each_table(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = Lake(tmp_path / "lake")
    (tmp_path / "lake").mkdir()
    write_schema_version(lake)
    for contract in (DAMAGE, LOG_GROWTH):
        delta.ensure_table(lake, contract)
        values = (
            f"CAST({'NULL' if one.nullable else 0} AS {one.type}) AS {one.name}"
            for one in contract.columns
        )
        rows = spark.range(1).selectExpr(*values)
        for _ in range(2):
            append(lake, contract, rows)
    capsys.readouterr()
    code = run_command(app, ["maintain", "--lake", lake.root, "--json"])
    ended = Ended(code, *capsys.readouterr())
    assert code == 0, ended.err
    assert [(row["table"], row["files"], row["files_after"]) for row in ended.rows] == [
        ("bronze.damage", 2, 1),
        ("gold.log_growth", 2, 1),
    ]
    assert Path(lake.root, "_ingest.lock").exists(), "an ingest would have waited"
