"""Tables of a user's own: a folder of .sql files beside a lake."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pyarrow
import pytest
from deltalake import DeltaTable, write_deltalake

from jobs import build
from jobs.cli.commands.lake import BuildOptions, IngestOptions
from jobs.ingest import run as ingest
from pipelines.lake import Lake
from tests.jobs.conftest import Kraftlake
from tests.jobs.test_build_follow import looked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_NODE = """\
-- How many findings of each severity a node has.
-- keys: cluster_id, node_id, severity
-- column findings: how many there are
-- expect stop: findings > 0
-- expect warn: severity <> 'info'

SELECT cluster_id, node_id, severity, count(*) AS findings, sum("offset") AS places,
       list(DISTINCT rule ORDER BY rule) AS rules, max(base_ms) AS newest
FROM (SELECT *, make_timestamp(1000000 * coalesce("offset", 0)) AS base_ms FROM gold.findings)
GROUP BY ALL;
"""
ONE = "-- keys: n\nSELECT DISTINCT 1 AS n FROM silver.log_runs\n"
STILL = "build: nothing has changed since the last build"


@pytest.fixture
def lake(built_lake: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(built_lake, tmp_path / "lake"))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with one table."""
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "by_node.sql").write_text(BY_NODE)
    return folder


def rows_in(lake: Path, name: str = "by_node") -> pyarrow.Table:
    found = DeltaTable(str(lake / "own" / name)).to_pyarrow_table()
    return found.sort_by([(one, "ascending") for one in found.column_names[:3]])


def test_a_sql_file_becomes_a_table_that_is_derived_once(
    kraftlake: Kraftlake, lake: Path, own: Path
) -> None:
    first = kraftlake("build", "--lake", lake, "--own", own)
    assert first.code == 0
    assert "build: commit" not in first.complaints, "kraftlake's tables had not changed"
    expected = kraftlake(
        "sql", "--lake", lake, "--json",
        "SELECT cluster_id, node_id, severity, count(*) AS findings FROM gold.findings "
        "GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
    ).rows  # fmt: skip
    columns = ["cluster_id", "node_id", "severity", "findings"]
    assert rows_in(lake).select(columns).to_pylist() == expected
    query = "SELECT count(*) AS n FROM own.by_node"
    counted = kraftlake("sql", "--lake", lake, "--engine", "duckdb", "--json", query)
    assert counted.rows == [{"n": len(expected)}], "no engine of SQL needs its definition"
    assert f"own.by_node {len(expected)}" in [" ".join(one.split()) for one in first.lines]
    again = kraftlake("build", "--lake", lake, "--own", own)
    assert (again.code, again.complaints, again.out) == (0, [STILL], first.out)


def test_its_columns_have_types_and_meanings(kraftlake: Kraftlake, lake: Path, own: Path) -> None:
    assert kraftlake("build", "--lake", lake, "--own", own).code == 0
    told = kraftlake("sql", "--lake", lake, "--tables", "--json").rows
    columns = {one["column"]: one for one in told if one["table"] == "own.by_node"}
    types = {name: one["type"] for name, one in columns.items()}
    assert types == {
        "cluster_id": "string", "node_id": "int", "severity": "string", "findings": "bigint",
        "places": "bigint", "rules": "array<string>", "newest": "timestamp",
    }  # fmt: skip
    assert columns["findings"]["comment"] == "how many there are"
    text = kraftlake("sql", "--lake", lake, "--tables").out
    assert "own.by_node: How many findings of each severity a node has." in text


@pytest.mark.slow
@pytest.mark.spark
def test_both_engines_make_the_same_rows(
    spark: SparkSession, lake: Path, own: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(lake, tmp_path / "other"))
    assert build.main(None, BuildOptions(Lake(lake), own=str(own), engine="local")) == 0
    assert build.main(spark, BuildOptions(Lake(other), own=str(own))) == 0
    assert rows_in(lake).num_rows > 0
    assert rows_in(lake).equals(rows_in(other))


@pytest.mark.slow
def test_a_rebuilt_table_commits_only_rows_that_differ(
    kraftlake: Kraftlake, data: Path, own: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "grown"
    cluster = data / "kafka-3.7.2-static"
    assert ingest(IngestOptions([str(cluster / "live")], Lake(lake), captured_at="1000")) == 0
    assert kraftlake("build", "--lake", lake, "--own", own).code == 0
    before = {tuple(map(str, one.values())) for one in rows_in(lake).to_pylist()}
    assert ingest(IngestOptions([str(cluster / "split")], Lake(lake), captured_at="2000")) == 0
    assert kraftlake("build", "--lake", lake, "--own", own).code == 0
    after = {tuple(map(str, one.values())) for one in rows_in(lake).to_pylist()}
    table = DeltaTable(str(lake / "own/by_node"))
    assert table.version() == 2
    assert table.load_cdf(starting_version=2).read_all().num_rows == len(before ^ after) > 0
    assert before & after, "some rows stayed"


def test_another_definition_derives_the_table_anew_with_other_columns_as_another_table(
    kraftlake: Kraftlake, lake: Path, own: Path
) -> None:
    assert kraftlake("build", "--lake", lake, "--own", own).code == 0
    first = DeltaTable(str(lake / "own/by_node")).metadata().id
    file = own / "by_node.sql"
    file.write_text(BY_NODE.replace("count(*) AS findings", "2 * count(*) AS findings"))
    assert kraftlake("build", "--lake", lake, "--own", own).code == 0
    assert min(rows_in(lake)["findings"].to_pylist()) == 2
    assert DeltaTable(str(lake / "own/by_node")).metadata().id == first
    file.write_text(BY_NODE.replace("max(base_ms) AS newest", "1.5 AS factor"))
    assert kraftlake("build", "--lake", lake, "--own", own).code == 0
    assert set(rows_in(lake)["factor"].to_pylist()) == {1.5}
    assert DeltaTable(str(lake / "own/by_node")).metadata().id != first


_BROKEN = (
    ("SELECT 1 AS n FROM gold.findings", "no line says its keys"),
    ("-- keys: n\nSELECT 1 AS n", "it reads no table of silver or gold"),
    ("-- keys: n\nSELECT 1 AS n FROM bronze.captures", "it reads bronze.captures, which is no"),
    ("-- keys: n\nSELECT 1 AS n FROM own.b, gold.votes", "it reads own.b, which is no"),
    ("-- keys: n\nDELETE FROM gold.votes", "it is not one SELECT"),
    ("-- keys: n\nSELECT 1 AS n FROM gold.votes; SELECT 2", "it is not one SELECT"),
    ("-- keys: n\nSELECT 1 AS n FROM gold.votes, read_text('/etc/passwd')", "disabled"),
    ("-- keys: n\nSELECT [1] AS n FROM gold.votes", "key n is array<int>: a key is one value"),
    ("-- keys: n\nSELECT m AS n FROM gold.votes", '"m" not found'),
    ("-- keys: m\nSELECT 1 AS n FROM gold.votes", "key 'm' is no column"),
    ("-- keys: n\nSELECT 1 AS n, 2 AS N FROM gold.votes", "column 'N': a column's name has"),
    ("-- keys: n\nSELECT 1 AS n, count(*) FROM gold.votes", "column 'count_star()': a column's"),
    ("-- keys: n\nSELECT 1 AS n, NULL AS z FROM gold.votes", "column 'z' is of type null"),
    ("-- keys: n\n-- column m: x\nSELECT 1 AS n FROM gold.votes", "column 'm' is described"),
    ("-- keys: n\nSELECT 1 AS n FROM gold.metadata_history", "break 'keys are unique' (stop)"),
    ("-- keys: n\nSELECT NULL::int AS n FROM gold.state_ranges", "column n has no value in "),
    ("-- keys: n\n-- expect stop: n > 1\nSELECT DISTINCT 1 AS n FROM gold.votes",
     "1 of 1 rows break 'n > 1' (stop), such as {\"n\":1}"),
    ("-- keys: n\n-- expect warn: m > 1\nSELECT 1 AS n FROM gold.state_ranges LIMIT 1", "named m"),
    ("-- keys: n\nSELECT '\xff' AS n FROM gold.votes", "is no UTF-8 text"),
)  # fmt: skip


def test_files_that_break_their_contracts_are_named_in_one_line_and_stop_nothing_else(
    kraftlake: Kraftlake, lake: Path, own: Path
) -> None:
    wanted = {own / "A-b.sql": "a table's name has small letters"}
    (own / "A-b.sql").write_text(ONE)
    for number, (text, reason) in enumerate(_BROKEN):
        file = own / f"broken_{number}.sql"
        file.write_bytes(text.encode("latin-1"))
        wanted[file] = reason
    (own / "one.sql").write_text(ONE)
    ended = kraftlake("build", "--lake", lake, "--own", own)
    assert ended.code == 1
    told = ended.complaints[-1].removeprefix("kraftlake: error: ")
    found = dict(one.split(": ", 1) for one in told.split(f"; {own}/"))
    found = {str(own / one.removeprefix(f"{own}/")): reason for one, reason in found.items()}
    assert found.keys() == {*map(str, wanted)}
    for file, reason in wanted.items():
        assert reason in found[str(file)]
    assert {line.split()[0] for line in ended.lines} >= {"own.by_node", "own.one"}
    assert rows_in(lake, "one").to_pylist() == [{"n": 1}]
    assert sorted(log.parent.name for log in lake.glob("own/*/_delta_log")) == ["by_node", "one"]


@pytest.mark.slow
def test_expectations_are_judged_by_quality_too(
    kraftlake: Kraftlake, lake: Path, own: Path
) -> None:
    built = kraftlake("build", "--lake", lake, "--own", own)
    assert any("break 'severity <> 'info'' (warn)" in one for one in built.complaints)
    ended = kraftlake("quality", "--lake", lake, "--own", own, "--json")
    found = {one["meaning"]: one for one in ended.rows if one["table"] == "own.by_node"}
    assert found["findings > 0"]["success"]
    assert not found["severity <> 'info'"]["success"]
    told = "SELECT DISTINCT action FROM gold.quality_results WHERE table_name = 'own.by_node'"
    assert len(kraftlake("sql", "--lake", lake, told, "--json").rows) == 2
    assert "own.by_node" in (lake / "_quality" / "index.html").read_text()


def test_the_environment_names_the_folder_for_every_command_that_builds(
    kraftlake: Kraftlake, lake: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRAFTLAKE_OWN", str(own))
    ended = kraftlake("build", "--lake", lake)
    assert ended.lines[-1].split()[0] == "own.by_node"


def test_follow_builds_new_tables_at_its_first_look(
    lake: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked(monkeypatch)
    assert build.run(BuildOptions(Lake(lake), own=str(own), follow_s=9)) == 0
    assert rows_in(lake).num_rows > 0


def test_nothing_that_lies_in_a_lake_defines_a_table(kraftlake: Kraftlake, lake: Path) -> None:
    for folder in ("own", "tables", "_own"):
        (lake / folder).mkdir()
        (lake / folder / "one.sql").write_text(ONE)
        (lake / folder / "one.py").write_text("raise SystemExit('it ran')")
    assert kraftlake("build", "--lake", lake).complaints == [STILL]
    ended = kraftlake("build", "--lake", lake, "--own", lake / "tables")
    assert ended.code == 2
    assert "lies in the lake" in ended.error
    missing = kraftlake("build", "--lake", lake, "--own", lake / "nowhere")
    assert (missing.code, "no such folder" in missing.error) == (2, True)


def test_what_a_stranger_has_put_in_its_place_is_neither_read_nor_replaced(
    kraftlake: Kraftlake, lake: Path, own: Path
) -> None:
    place, odd = str(lake / "own/by_node"), {"delta.appendOnly": "true"}
    write_deltalake(place, pyarrow.table({"n": [1]}), configuration=odd)
    ended = kraftlake("build", "--lake", lake, "--own", own)
    assert ended.code == 1
    assert "'delta.appendOnly', which kraftlake gives to no table" in ended.complaints[-1]
    assert DeltaTable(place).version() == 0


def test_export_writes_it_as_any_other_table(
    kraftlake: Kraftlake, lake: Path, own: Path, tmp_path: Path
) -> None:
    assert kraftlake("build", "--lake", lake, "--own", own).code == 0
    count = rows_in(lake).num_rows
    for place in ("one.csv", "one.duckdb", "one.sqlite", "one.sql"):
        output = tmp_path / place
        ended = kraftlake("export", "--lake", lake, "-o", output, "own.by_node", "--json")
        assert ended.rows == [{"table": "own.by_node", "rows": count, "file": str(output)}]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_sql_by_spark_reads_it_without_its_definition(
    kraftlake: Kraftlake, lake: Path, own: Path
) -> None:
    assert kraftlake("build", "--lake", lake, "--own", own).code == 0
    query = "SELECT count(*) AS n FROM own.by_node"
    ended = kraftlake("sql", "--lake", lake, "--engine", "spark", "--json", query)
    assert ended.rows == [{"n": rows_in(lake).num_rows}]


def test_publish_sends_each_row_that_a_build_changes_once(
    kraftlake: Kraftlake, lake: Path, own: Path, tmp_path: Path
) -> None:
    assert kraftlake("build", "--lake", lake, "--own", own).code == 0
    told = ("publish", "--lake", lake, "--table", "own.by_node")
    to = tmp_path / "changes"
    assert kraftlake(*told, "--to", to).code == 0
    schema = json.loads(kraftlake(*told, "--schema").out)
    count = rows_in(lake).num_rows
    (snapshot,) = messages(to)
    assert [one["op"] for one in snapshot] == ["read"] * count
    (own / "by_node.sql").write_text(
        BY_NODE.replace("FROM gold.findings", "FROM gold.findings WHERE severity <> 'error'")
        .replace("count(*) AS", "count(*) + max(CASE node_id WHEN 2 THEN 1 ELSE 0 END) AS")
    )  # fmt: skip
    assert kraftlake("build", "--lake", lake, "--own", own).code == 0
    assert kraftlake(*told, "--to", to).code == 0
    _, changes = messages(to)
    assert {one["op"] for one in changes} == {"update", "delete"}
    assert len(changes) < count
    for one in (*snapshot, *changes):
        jsonschema.Draft202012Validator(schema).validate(one)
    keys = ("cluster_id", "node_id", "severity")
    before = [[one["before"][key] for key in keys] for one in changes if one["op"] == "update"]
    assert {node for _, node, _ in before} == {2}
    assert kraftlake(*told, "--to", to, "--json").rows == []


def messages(folder: Path) -> list[list[dict[str, Any]]]:
    files = sorted(folder.glob("*.jsonl"), key=lambda one: one.name)
    return [[json.loads(line) for line in one.read_text().splitlines()] for one in files]
