"""An ingest killed with -9 at each of its steps, and run again, makes the same tables."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run
from pipelines.lake import Lake
from tests.fuzz import ingest_kills

POINTS = (
    "damage",
    "log records",
    "snapshot records",
    "snapshots",
    "log batches",
    "findings",
    "state",
    "captures",
)

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def ingest(lake: Path, nodes: tuple[str, ...], captured_at: str) -> None:
    """In the session of all tests, which starts no Spark for it."""
    paths = [str(ingest_kills.DATA / node) for node in nodes]
    assert run(IngestOptions(paths, Lake(lake), captured_at=captured_at)) == 0


@pytest.fixture(scope="module")
def base(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with the first captures."""
    lake = tmp_path_factory.mktemp("kills") / "base"
    ingest(lake, ingest_kills.BEFORE, ingest_kills.BEFORE_AT)
    return lake


@pytest.fixture(scope="module")
def expected(base: Path) -> dict[str, list[str]]:
    """The tables of a second ingest that nobody disturbed."""
    lake = base.with_name("whole")
    shutil.copytree(base, lake)
    ingest(lake, ingest_kills.AFTER, ingest_kills.AFTER_AT)
    return ingest_kills.tables(lake)


@pytest.mark.parametrize("point", POINTS)
def test_an_ingest_killed_there_and_run_again_makes_the_same_tables(
    point: str, base: Path, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    lake = Path(shutil.copytree(base, tmp_path / "lake"))
    assert ingest_kills.kill_second(lake, at_line=f": {point}"), "it was killed"
    ingest(lake, ingest_kills.AFTER, ingest_kills.AFTER_AT)
    found = ingest_kills.tables(lake)
    assert {name: len(rows) for name, rows in found.items()} == {
        name: len(rows) for name, rows in expected.items()
    }
    assert found == expected
