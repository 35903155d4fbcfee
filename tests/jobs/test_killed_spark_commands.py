"""maintain and register that are killed with -9, run twice at once, or meet a full disk: no row and
no name is lost, the reason is one line, and the same command ends well afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.jobs.killing import WITHIN_S, at_once, bounded, killed_when, last_line, rows
from tests.kraftlake_process import kraftlake

TABLES = ("bronze.captures", "bronze.findings", "gold.elections")

MADE_BY_REGISTER = (
    "metastore_db", "metastore_db/seg0", "metastore_db/service.properties", "warehouse/gold.db",
)  # fmt: skip
"""In the order in which the command makes them in --catalog."""

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def lake(built_lake: Path, tmp_path: Path) -> Path:
    """With a few of the tables, so that maintain takes seconds."""
    place = Path(shutil.copytree(built_lake, tmp_path / "lake"))
    for table in place.glob("*/*/"):
        if f"{table.parent.name}.{table.name}" not in TABLES:
            shutil.rmtree(table)
    return place


@pytest.fixture
def out(tmp_path: Path) -> Path:
    place = tmp_path / "out"
    place.mkdir()
    return place


def test_a_killed_maintain_is_run_again_and_no_row_is_lost(lake: Path, tmp_path: Path) -> None:
    before = rows(lake)
    for number, table in enumerate(TABLES[1:]):
        call = ("maintain", "--lake", str(lake))
        said = tmp_path / f"said-{number}"
        killed_when(said, f"maintain: {table}", *call)
        assert rows(lake) == before
    done = kraftlake("maintain", "--lake", lake, within_s=WITHIN_S)
    assert done.returncode == 0, done.stderr
    assert rows(lake) == before


def test_the_second_of_two_maintains_waits(lake: Path, tmp_path: Path) -> None:
    before = rows(lake)
    for code, said in at_once(tmp_path, "maintain", "--lake", str(lake)):
        assert code == 0, said
    assert rows(lake) == before


def test_a_full_disk_ends_maintain_in_one_line_and_loses_no_row(lake: Path) -> None:
    before = rows(lake)
    done = bounded(500, "maintain", "--lake", str(lake))
    assert done.returncode == 1
    assert "File too large; make room there" in last_line(done.stderr)
    assert rows(lake) == before
    assert kraftlake("maintain", "--lake", lake, within_s=WITHIN_S).returncode == 0
    assert rows(lake) == before


def test_a_killed_register_is_run_again(built_lake: Path, out: Path, tmp_path: Path) -> None:
    """Killed while Derby makes its database, and while names are made."""
    catalog = out / "catalog"
    call = ("register", "--lake", str(built_lake), "--catalog", str(catalog))
    for number, made in enumerate(MADE_BY_REGISTER):
        killed_when(tmp_path / f"said-{number}", (catalog / made).exists, *call)
    done = kraftlake(*call, within_s=WITHIN_S)
    assert done.returncode == 0, done.stderr
    assert "gold.findings" in done.stdout


def test_one_of_two_registers_is_told_of_the_other(
    built_lake: Path, out: Path, tmp_path: Path
) -> None:
    call = ("register", "--lake", str(built_lake), "--catalog", str(out / "catalog"))
    ends = at_once(tmp_path, *call)
    assert 0 in {code for code, _ in ends}
    for code, said in ends:
        assert code == 0 or "is open in another process" in last_line(said), said
    assert kraftlake(*call, within_s=WITHIN_S).returncode == 0


def test_a_full_disk_ends_register_in_one_line(built_lake: Path, out: Path) -> None:
    call = ("register", "--lake", str(built_lake), "--catalog", str(out / "catalog"))
    done = bounded(100_000, *call)
    assert done.returncode == 1
    assert "File too large" in last_line(done.stderr)
    done = kraftlake(*call, within_s=WITHIN_S)
    assert done.returncode == 0, done.stderr
