"""`kraftlake export`: what other programs find in what it writes."""

from __future__ import annotations

import csv
import json
import os
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from jobs.cli.asking.sql_views import VIEWS
from tests.jobs.conftest import Kraftlake

RECORDS = "bronze.log_records"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "out"


def of_lake(lake: Path, name: str) -> int:
    """The rows that a table of the lake has, as delta-rs counts them."""
    table = DeltaTable(str(lake.joinpath(*name.split("."))))
    return int(table.to_pyarrow_dataset().count_rows())


def counts(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {row["table"]: row["rows"] for row in rows}


def test_a_duckdb_file_has_every_table_with_its_rows_under_its_name(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    file = place.with_suffix(".duckdb")
    ended = kraftlake("export", "--lake", built_lake, "-o", file, "--json")
    assert ended.code == 0
    told = counts(ended.rows)
    assert {RECORDS, "silver.leader_epochs", "gold.findings"} <= told.keys()
    with duckdb.connect(str(file), read_only=True) as database:
        tables = database.execute(
            "SELECT table_schema || '.' || table_name FROM information_schema.tables"
        ).fetchall()
        assert {name for (name,) in tables} == told.keys()
        for name, rows in told.items():
            found = database.execute(f"SELECT count(*) FROM {name}").fetchone()
            assert found == (rows,) == (of_lake(built_lake, name),), name


def test_duckdb_looks_into_payloads_without_any_extension(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    file = place.with_suffix(".duckdb")
    assert kraftlake("export", "--lake", built_lake, "-o", file, RECORDS).code == 0
    with duckdb.connect(str(file), read_only=True) as database:
        found = database.execute(
            f"SELECT DISTINCT payload->>'name' FROM {RECORDS} "
            "WHERE record_type = 'TOPIC_RECORD' AND payload->>'name' LIKE 'ghost-%-0'"
        ).fetchall()
    assert ("ghost-8-0",) in found


def test_payloads_in_parquet_are_the_json_that_sql_shows(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    file = place.with_suffix(".parquet")
    order = 'cluster_id, node_id, directory_id, "offset", leader_epoch, crc'
    query = f"SELECT payload FROM {RECORDS} ORDER BY {order} LIMIT 50"
    assert kraftlake("export", "--lake", built_lake, "-o", file, "--query", query).code == 0
    shown = [row["payload"] for row in kraftlake("sql", "--lake", built_lake, "--json", query).rows]
    assert [json.loads(text) for text in pd.read_parquet(file)["payload"]] == shown
    assert len(shown) == 50


def test_sqlite_has_times_as_iso_texts_and_lists_as_json(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    file = place.with_suffix(".sqlite")
    ended = kraftlake("export", "--lake", built_lake, "-o", file, "gold.leader_epoch_history")
    assert ended.code == 0
    with sqlite3.connect(file) as database:
        found = database.execute(
            "SELECT started_at, voters, leader_id FROM gold_leader_epoch_history "
            "WHERE cluster_id LIKE 'Lr3U%' AND epoch = 1"
        ).fetchone()
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+Z", found[0])
    assert [voter["voter_id"] for voter in json.loads(found[1])] == [1, 2, 3]
    assert found[2] == 2


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_folder_has_a_file_for_each_table(
    kraftlake: Kraftlake, built_lake: Path, place: Path, form: str
) -> None:
    tables = ("gold.findings", "gold.truncations")
    assert kraftlake("export", "--lake", built_lake, "--to", form, "-o", place, *tables).code == 0
    files = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    assert files == {f"gold/findings.{form}", f"gold/truncations.{form}"}
    assert ds.dataset(place / "gold" / f"findings.{form}", format=form).count_rows() == of_lake(
        built_lake, "gold.findings"
    )


def test_a_question_is_answered_into_a_file(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    file = place.with_suffix(".csv")
    ended = kraftlake("export", "--lake", built_lake, "-o", file, "--question", "leader-epochs")
    assert ended.code == 0
    with file.open(newline="") as lines:
        rows = list(csv.reader(lines))
    asked = kraftlake("sql", "--lake", built_lake, "--csv", "--question", "leader-epochs")
    assert rows == list(csv.reader(asked.lines))


def test_an_existing_file_is_kept_without_overwrite(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    file = place.with_suffix(".csv")
    file.write_text("mine")
    call = ("export", "--lake", built_lake, "-o", file, "gold.findings")
    assert "is there already" in kraftlake(*call).error
    assert file.read_text() == "mine"
    assert kraftlake(*call, "--overwrite").code == 0
    assert file.read_text().startswith("rule,")


def test_a_folder_of_other_things_is_never_replaced(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    place.mkdir()
    (place / "thesis.odt").write_text("mine")
    call = ("export", "--lake", built_lake, "--to", "csv", "-o", place, "--overwrite")
    assert "no export that could be replaced" in kraftlake(*call, "gold.findings").error
    assert (place / "thesis.odt").read_text() == "mine"


def test_a_link_in_the_place_is_never_followed(
    kraftlake: Kraftlake, built_lake: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.csv").write_text("mine")
    (tmp_path / "link.csv").symlink_to(tmp_path / "elsewhere.csv")
    call = ("export", "--lake", built_lake, "-o", tmp_path / "link.csv", "--overwrite")
    assert "no export that could be replaced" in kraftlake(*call, "gold.findings").error
    assert (tmp_path / "elsewhere.csv").read_text() == "mine"


def test_a_failed_export_leaves_the_earlier_file(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    file = place.with_suffix(".csv")
    file.write_text("mine")
    query = "SELECT 1 / (epoch - epoch) FROM gold.leader_epoch_history"
    ended = kraftlake("export", "--lake", built_lake, "-o", file, "--overwrite", "--query", query)
    assert ended.code == 1
    assert "zero" in ended.error.lower()
    assert file.read_text() == "mine"
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "x.duckdb", "gold.findigns"), "gold.findigns: the lake has no such table; it has"),
        (("-o", "x.csv"), "one csv file holds one table"),
        (("-o", "x.odt"), "its ending doesn't say what is wanted"),
        (("-o", "x", "--to", "excel"), "--to excel: choose one of duckdb"),
        (("-o", "x.csv", "--query", "DROP TABLE gold.findings"), "sql only reads"),
        (("-o", "x.csv", "--query", "SELECT 1", "gold.findings"), "exclude each other"),
        (("-o", "no/such/x.csv", "gold.findings"), "there is no folder no/such: make it first"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line_and_writes_nothing(
    kraftlake: Kraftlake,
    built_lake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kraftlake("export", "--lake", built_lake, *words)
    assert said in ended.error
    assert ended.code == 2
    assert os.listdir(tmp_path) == []


def test_a_formula_in_a_cell_stays_a_text_for_spreadsheets(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    file = place.with_suffix(".csv")
    query = "SELECT '=1+1' AS cell"
    assert kraftlake("export", "--lake", built_lake, "-o", file, "--query", query).code == 0
    assert file.read_text() == "cell\n'=1+1\n"


def test_without_duckdb_the_line_that_adds_it_is_told(
    kraftlake: Kraftlake, built_lake: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    ended = kraftlake("export", "--lake", built_lake, "-o", place.with_suffix(".duckdb"))
    assert "duckdb is not installed" in ended.error
    assert "[duckdb]" in ended.error
    assert not place.with_suffix(".duckdb").exists()


def test_a_plain_duckdb_reads_every_table_by_the_file_of_views(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    file = place.with_suffix(".sql")
    told = counts(kraftlake("export", "--lake", built_lake, "-o", file, "--json").rows)
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(file.read_text())
        for name, rows in told.items():
            assert database.execute(f"SELECT count(*) FROM {name}").fetchone() == (rows,), name
            table = DeltaTable(str(built_lake.joinpath(*name.split("."))))
            names = [one for one in table.to_pyarrow_dataset().schema.names if one != "payload"]
            assert [
                column for column, *_ in database.execute(f"DESCRIBE {name}").fetchall()
            ] == names
        for view in VIEWS:
            query = f"SELECT * FROM {view.name} WHERE cluster_id LIKE 'Lr3U%'"
            own = kraftlake("sql", "--lake", built_lake, "--json", query).rows
            assert len(database.execute(query).fetchall()) == len(own)
    assert {"bronze.damage", "gold.findings"} <= told.keys()
    assert "bronze.log_records: without payload" in file.read_text()


def test_views_are_of_tables_and_not_of_an_answer(
    kraftlake: Kraftlake, built_lake: Path, place: Path
) -> None:
    file = place.with_suffix(".sql")
    ended = kraftlake("export", "--lake", built_lake, "-o", file, "--question", "leaders")
    assert (ended.code, "views are of tables" in ended.error) == (2, True)
    assert not file.exists()
