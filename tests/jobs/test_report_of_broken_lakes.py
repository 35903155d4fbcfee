"""The report of a lake that is empty or broken: one line that says what to do, and no file."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.main import app
from jobs.cli.outcome import run
from tests.pipelines.report.journeys import journey
from tests.pipelines.report.small_lake import Rows, write_lake


def _value(text: str) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        row: Any = rows["gold.metadata_history"][4]
        row["value"] = text

    return change


def _drop_files(table: Path) -> None:
    for file in table.glob("*.parquet"):
        file.unlink()


def _garble_files(table: Path) -> None:
    for file in table.glob("*.parquet"):
        file.write_bytes(b"garbage" * 10)


def _cut_log(table: Path) -> None:
    for file in (table / "_delta_log").glob("*.json"):
        file.write_text("{", encoding="utf-8")


BROKEN = {
    "a data file is gone": (_drop_files, "bronze/captures", "fill a new lake"),
    "a data file is garbage": (_garble_files, "gold/metadata_history", "fill a new lake"),
    "a table's log is cut": (_cut_log, "gold/findings", "gold/findings"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_is_one_line_that_names_it_and_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    broken, table, told = BROKEN[name]
    lake = write_lake(tmp_path / "lake", journey())
    broken(lake / table)
    assert told in _refusal(lake, tmp_path / "report.html", capsys)


@pytest.mark.parametrize(
    "text", ["no json", '{"a":1}', '{"leader":"x","isr":null,"replicas":[1]}', "[]"]
)
def test_a_value_that_no_build_writes_is_named_with_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    rows = journey()
    _value(text)(rows)
    lake = write_lake(tmp_path / "lake", rows)
    told = _refusal(lake, tmp_path / "report.html", capsys)
    assert f"{lake}/gold/metadata_history: a value in it is no entity" in told
    assert f"run `kraftlake build --lake {lake}` again" in told


def test_a_lake_without_tables_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    assert "no tables in it" in _refusal(lake, tmp_path / "report.html", capsys, code=2)


def test_a_table_that_the_journey_needs_may_be_gone(tmp_path: Path) -> None:
    lake = write_lake(tmp_path / "lake", journey())
    shutil.rmtree(lake / "gold" / "metadata_history")
    page = tmp_path / "report.html"
    assert run(app, ["report", "--lake", str(lake), "-o", str(page)]) == 0
    assert "The cluster at any moment" not in page.read_text(encoding="utf-8")


def _refusal(lake: Path, page: Path, capsys: pytest.CaptureFixture[str], *, code: int = 1) -> str:
    """What the command says of the lake, in one line and soon; it writes no page."""
    start = time.monotonic()
    assert run(app, ["report", "--lake", str(lake), "-o", str(page)]) == code
    assert time.monotonic() - start < 30
    assert not page.exists()
    told = capsys.readouterr().err
    assert told.startswith("kraftlake: error: ")
    assert told.count("\n") == 1
    return told
