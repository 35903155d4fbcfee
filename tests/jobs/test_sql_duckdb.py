"""`kraftlake sql --engine duckdb`: JSON in SQL without Java, and nothing but the lake in reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.cli.asking.questions import QUESTIONS
from jobs.cli.asking.sql_views import VIEWS
from tests.jobs.conftest import Kraftlake

NOTHING_WRONG = {"doubts", "broken-snapshots"}
"""Questions that a sound lake answers with no row."""


@pytest.mark.parametrize("name", [one.name for one in QUESTIONS])
def test_duckdb_answers_every_ready_made_question_as_delta_rs_does(
    kraftlake: Kraftlake, built_lake: Path, name: str
) -> None:
    call = ("sql", "--lake", built_lake, "--json", "--question", name)
    answer = kraftlake(*call)
    assert answer.code == 0
    assert answer.rows or name in NOTHING_WRONG
    assert kraftlake(*call, "--engine", "duckdb").rows == answer.rows


def test_duckdb_shows_every_view_as_delta_rs_does(kraftlake: Kraftlake, built_lake: Path) -> None:
    for view in VIEWS:
        key = ", ".join(name for name, _, _ in view.columns)
        query = f"select {key} from {view.name} where cluster_id like 'Lr3U%'"
        call = ("sql", "--lake", built_lake, "--json", "--at-offset", "1600", query)
        shown = sorted(map(str, kraftlake(*call).rows))
        assert shown
        assert sorted(map(str, kraftlake(*call, "--engine", "duckdb").rows)) == shown


def test_all_records_about_a_topic_are_found_by_its_payload(
    kraftlake: Kraftlake, built_lake: Path
) -> None:
    query = (
        "WITH topic AS (SELECT DISTINCT payload->>'topicId' AS id FROM bronze.log_records "
        "WHERE record_type = 'TOPIC_RECORD' AND payload->>'name' = 'ghost-8-0') "
        'SELECT DISTINCT record_type, r."offset", payload FROM bronze.log_records r, topic '
        "WHERE payload->>'topicId' = topic.id ORDER BY r.\"offset\""
    )
    rows = kraftlake("sql", "--lake", built_lake, "--engine", "duckdb", "--json", query).rows
    assert [row["record_type"] for row in rows][:2] == ["TOPIC_RECORD", "PARTITION_RECORD"]
    assert rows[0]["payload"]["name"] == "ghost-8-0"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select * from gold.nope", "no table nope; the lake has"),
        ("select * from findings", "no table findings; write bronze.findings or gold.findings"),
        ("select nope from gold.findings", "nope"),
        ("select (1", "Parser Error"),
        ("select 1; select 2", "ask one query at a time"),
        ("select * from '/etc/passwd'", "no table /etc/passwd"),
        ("select * from read_csv('/etc/passwd')", "disabled by configuration"),
        ("select * from read_text('/etc/passwd')", "disabled by configuration"),
        ("select * from glob('/etc/*')", "disabled by configuration"),
        ("select cast('x' as int) from gold.findings", "Could not convert string 'x'"),
    ],
)
def test_a_query_that_fails_or_reaches_elsewhere_gives_one_line(
    kraftlake: Kraftlake, built_lake: Path, query: str, reason: str
) -> None:
    ended = kraftlake("sql", "--lake", built_lake, "--engine", "duckdb", "--json", query)
    assert ended.code == 1
    assert reason in ended.error


def test_names_of_this_process_s_variables_are_no_tables(
    kraftlake: Kraftlake, built_lake: Path
) -> None:
    ended = kraftlake("sql", "--lake", built_lake, "--engine", "duckdb", "select * from lake")
    assert ended.code == 1
    assert "no table lake" in ended.error


def test_show_tables_shows_those_of_the_lake_alone(kraftlake: Kraftlake, built_lake: Path) -> None:
    call = ("sql", "--lake", built_lake, "--engine", "duckdb", "--json", "show tables")
    rows = kraftlake(*call).rows
    assert {row["table_schema"] for row in rows} == {"bronze", "silver", "gold"}
    assert "findings" in {row["table_name"] for row in rows}
