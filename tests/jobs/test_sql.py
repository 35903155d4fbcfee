"""`kraftlake sql` over small Delta tables, mostly by delta-rs."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.cli.asking.questions import QUESTIONS
from pipelines.sql_text import tables_named
from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY, command_line

BIG = 1_234_567_890_123_456_789
UNNEEDED = (
    "pyspark",
    "pyarrow",
    "pandas",
    "numpy",
    "numba",
    "rich",
    "duckdb",
    "asyncio",
    "replica.format.segment",  # reading alone is there, for the small files of a lake
)
PEAK = (
    "import resource, subprocess, sys; "
    "child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE); "
    "rows = sum(1 for _ in child.stdout); assert child.wait() == 0; "
    "print(rows, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)
"""Runs a command; prints the lines it printed and its peak resident memory in KiB."""
MOMENT = datetime(2026, 11, 21, 5, 0, 0, 123_000, tzinfo=UTC)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    voters = pa.list_(pa.struct([("voter_id", pa.int32()), ("endpoints", pa.list_(pa.string()))]))
    schema = pa.schema(
        [
            pa.field("offset", pa.int64(), metadata={"comment": "offset of the record"}),
            ("at", pa.timestamp("us", "UTC")),
            ("record_type", pa.string()),
            ("ratio", pa.float64()),
            ("value", pa.binary()),
            ("voters", voters),
        ]
    )
    rows = [
        {
            "offset": BIG,
            "at": MOMENT,
            "record_type": "KRAFT_VOTERS",
            "ratio": 1e20,
            "value": b"\x00\xff",
            "voters": [{"voter_id": 1, "endpoints": ["a:9093"]}, {"voter_id": 2, "endpoints": []}],
        },
        {"offset": 2, "record_type": "it's a -- 'gold.nothing' \U0001f40b"},
    ]
    table = pa.Table.from_pylist(rows, schema=schema)
    write_deltalake(str(root / "bronze/log_records"), table, description="Every record.")
    write_deltalake(str(root / "gold/elections"), pa.table({"epoch": pa.array([1, 3], pa.int32())}))
    return root


def test_text_is_an_aligned_table_with_nothing_cut_or_rounded(
    kraftlake: Kraftlake, lake: Path
) -> None:
    ended = kraftlake(
        "sql",
        "--lake",
        lake,
        "select offset, at, ratio, value, voters from bronze.log_records order by offset",
    )
    assert ended.code == 0
    voters = '[{"voter_id":1,"endpoints":["a:9093"]},{"voter_id":2,"endpoints":[]}]'
    assert ended.lines == [
        f"offset               at                        ratio                  value  "
        f"voters{'':{len(voters) - 6}}".rstrip(),
        f"{'-' * 19}  {'-' * 24}  {'-' * 21}  {'-' * 5}  {'-' * len(voters)}",
        f"{2:>19}  {'NULL':<24}  {'NULL':>21}  NULL   NULL",
        f"{BIG}  2026-11-21T05:00:00.123Z  100000000000000000000  AP8=   {voters}",
    ]


def test_json_has_times_in_ms_binary_in_base64_and_nested_values(
    kraftlake: Kraftlake, lake: Path
) -> None:
    query = "select * from bronze.log_records order by offset desc"
    rows = kraftlake("sql", "--lake", lake, "--json", query).rows
    assert rows[0] == {
        "offset": BIG,
        "at": int(MOMENT.timestamp() * 1000),
        "record_type": "KRAFT_VOTERS",
        "ratio": 1e20,
        "value": "AP8=",
        "voters": [{"voter_id": 1, "endpoints": ["a:9093"]}, {"voter_id": 2, "endpoints": []}],
    }
    assert rows[1]["at"] is None


def test_csv_quotes_nested_values_and_leaves_null_empty(kraftlake: Kraftlake, lake: Path) -> None:
    query = "select offset, voters, at from bronze.log_records order by offset desc"
    ended = kraftlake("sql", "--lake", lake, "--csv", query)
    header, first, second = csv.reader(io.StringIO(ended.out))
    assert header == ["offset", "voters", "at"]
    assert json.loads(first[1])[0]["voter_id"] == 1
    assert second == ["2", "", ""]


def test_a_text_that_a_spreadsheet_would_calculate_is_a_text_in_csv(
    kraftlake: Kraftlake, lake: Path
) -> None:
    texts = ("=cmd|x!A1", "+1", "-2", "@SUM(1)", "\t=1", "＝1", "plain", "a=1", "")  # noqa: RUF001
    cells = ", ".join(f"'{text}' as c{number}" for number, text in enumerate(texts))
    query = f"select {cells}, -5 as n, -0.5 as x from gold.elections where epoch = 1"
    ended = kraftlake("sql", "--lake", lake, "--csv", query)
    _, row = csv.reader(io.StringIO(ended.out, newline=""))
    assert row == [*(f"'{text}" for text in texts[:6]), *texts[6:], "-5", "-0.5"]
    ended = kraftlake("sql", "--lake", lake, "--plain-csv", query)
    _, row = csv.reader(io.StringIO(ended.out, newline=""))
    assert row == [*texts, "-5", "-0.5"]


def test_a_text_that_would_move_a_terminal_is_escaped_in_csv_and_plain_for_programs(
    kraftlake: Kraftlake, lake: Path
) -> None:
    text = "a\x1b]0;x\x07b\x9bc\u202ed\ne"
    codes = " || ".join(f"chr({ord(char)})" for char in text)
    query = f"select {codes} as c from gold.elections where epoch = 1"
    ended = kraftlake("sql", "--lake", lake, "--csv", query)
    assert ended.out == "c\na\\x1b]0;x\\x07b\\x9bc\\u202ed\\ne\n"
    ended = kraftlake("sql", "--lake", lake, "--plain-csv", query)
    assert ended.out == f'c\n"{text}"\n'


@pytest.mark.parametrize(
    "query",
    [
        "select count(*) as n from bronze.log_records r join gold.elections e on e.epoch < 100",
        'select count(*) as n from "bronze"."log_records", GOLD.ELECTIONS',
        "/* gold.none */ select count(*) as n from bronze . log_records, gold.elections -- a.x",
        "with e as (select * from gold.elections) select count(*) n from e, bronze.log_records;",
        "select count(*) as n from bronze.log_records, gold.elections where 'bronze.x' <> ''",
    ],
)
def test_schema_names_work_however_they_are_written(
    kraftlake: Kraftlake, lake: Path, query: str
) -> None:
    assert kraftlake("sql", "--lake", lake, "--json", query).rows == [{"n": 4}]


def test_text_in_quotes_stays_as_it_is(kraftlake: Kraftlake, lake: Path) -> None:
    query = "select record_type t from bronze.log_records where record_type like '%gold.nothing%'"
    assert kraftlake("sql", "--lake", lake, "--json", query).rows == [
        {"t": "it's a -- 'gold.nothing' \U0001f40b"}
    ]


def test_a_column_called_offset_needs_no_quotes_anywhere(kraftlake: Kraftlake, lake: Path) -> None:
    query = (
        "select record_type, offset, at from bronze.log_records where offset between 2 and 3 "
        "and offset > 1 group by record_type, offset, at order by offset limit 1 offset 0"
    )
    assert kraftlake("sql", "--lake", lake, "--json", query).rows[0]["offset"] == 2


def test_a_backslash_in_quotes_hides_no_table(kraftlake: Kraftlake, lake: Path) -> None:
    query = "select '\\' as a, count(*) as n from gold.elections where 'x' <> '\\'"
    assert kraftlake("sql", "--lake", lake, "--json", query).rows == [{"a": "\\", "n": 2}]


def test_the_query_comes_from_a_file_or_stdin(
    kraftlake: Kraftlake, process: Kraftlake, lake: Path, tmp_path: Path
) -> None:
    query = tmp_path / "q.sql"
    query.write_text("select max(epoch) as e\nfrom gold.elections")
    assert kraftlake("sql", "--lake", lake, "--json", "-f", query).rows == [{"e": 3}]
    assert process("sql", "--lake", lake, "--json", "-", stdin=query.read_text()).rows == [{"e": 3}]


def test_no_rows_is_fine(kraftlake: Kraftlake, lake: Path) -> None:
    ended = kraftlake("sql", "--lake", lake, "select epoch from gold.elections where epoch > 9")
    assert (ended.code, ended.lines) == (0, ["epoch", "-----"])


def test_columns_of_one_name_stay_apart_in_json(kraftlake: Kraftlake, lake: Path) -> None:
    query = (
        "select a.epoch, b.epoch from gold.elections a join gold.elections b on a.epoch = b.epoch"
    )
    rows = kraftlake("sql", "--lake", lake, "--json", query + " order by 1 limit 1").rows
    assert rows == [{"epoch": 1, "epoch_2": 1}]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select * from gold.nope", "no table gold.nope; the lake has bronze.log_records, gold."),
        ("select * from elections", "no table elections; write gold.elections"),
        ("select * from platinum.x", "no table platinum.x; the lake has"),
        ("select nope from gold.elections", "No field named nope"),
        ("select (1", "ParserError"),
        ("select 1/0 from gold.elections", "Divide by zero"),
        ("select interval '1 day' as i", "column i is an interval: cast it to VARCHAR"),
        ("select 1; select 2", "single SQL statement"),
        ("select value:name from bronze.log_records", "needs --engine duckdb"),
    ],
)
def test_a_query_that_fails_gives_one_line_and_exit_code_1(
    kraftlake: Kraftlake, lake: Path, query: str, reason: str
) -> None:
    ended = kraftlake("sql", "--lake", lake, "--json", query)
    assert ended.code == 1
    assert reason in ended.error


@pytest.mark.parametrize(
    "query",
    [
        "drop table gold.elections",
        "insert into gold.elections values (1)",
        "explain analyze insert into gold.elections values (1)",
        "copy (select 1) to '/tmp/x.csv' stored as csv",
        "create external table t stored as csv location '/etc/passwd'",
        "delete from gold.elections",
        "/* nothing */ -- at all",
        "",
    ],
)
def test_only_queries_that_read_are_run(kraftlake: Kraftlake, lake: Path, query: str) -> None:
    ended = kraftlake("sql", "--lake", lake, query)
    assert ended.code == 2
    assert "sql only reads" in ended.error or "the query is empty" in ended.error


def test_wrong_arguments_are_refused_in_one_line(
    kraftlake: Kraftlake, lake: Path, tmp_path: Path
) -> None:
    refusals = {
        "no such folder": ("--lake", tmp_path / "none", "select 1"),
        "no tables in it": ("--lake", tmp_path, "select 1"),
        "give one query": ("--lake", lake),
        "choose delta-rs, duckdb or spark": ("--lake", lake, "--engine", "duck", "select 1"),
        "alone: drop the rest": ("--lake", lake, "--tables", "select 1"),
        "list what can be asked": ("--lake", lake, "--tables", "--questions"),
        "or --question NAME": ("--lake", lake, "--question", "leaders", "select 1"),
        "choose leader-epochs, ": ("--lake", lake, "--question", "leader"),
        "No such file": ("--lake", lake, "-f", tmp_path / "none.sql"),
        "Missing option '--lake'": ("select 1",),
    }
    for reason, arguments in refusals.items():
        ended = kraftlake("sql", *arguments)
        assert ended.code == 2
        assert reason in ended.error


def test_a_table_that_can_t_be_opened_is_named(kraftlake: Kraftlake, tmp_path: Path) -> None:
    (tmp_path / "gold/elections/_delta_log").mkdir(parents=True)
    ended = kraftlake("sql", "--lake", tmp_path, "select * from gold.elections")
    assert ended.code == 1
    assert str(tmp_path / "gold/elections") in ended.error
    assert kraftlake("sql", "--lake", tmp_path, "--json", "select 1 as a").rows == [{"a": 1}]


def test_tables_lists_columns_with_their_types_and_comments(
    kraftlake: Kraftlake, lake: Path
) -> None:
    rows = kraftlake("sql", "--lake", lake, "--tables", "--json").rows
    assert rows[0] == {
        "table": "bronze.log_records",
        "column": "offset",
        "type": "bigint",
        "nullable": True,
        "comment": "offset of the record",
    }
    assert rows[5]["type"] == "array<struct<voter_id:int,endpoints:array<string>>>"
    text = kraftlake("sql", "--lake", lake, "--tables")
    assert text.lines[0] == "bronze.log_records: Every record."
    assert "gold.elections" in text.lines


def test_show_tables_knows_every_table(kraftlake: Kraftlake, lake: Path) -> None:
    rows = kraftlake("sql", "--lake", lake, "--json", "show tables").rows
    names = {f"{row['table_schema']}.{row['table_name']}" for row in rows}
    assert {"bronze.log_records", "gold.elections"} <= names


def test_more_rows_than_are_measured_stream_through(kraftlake: Kraftlake, lake: Path) -> None:
    query = "select value from generate_series(1, 3000) order by value"
    ended = kraftlake("sql", "--lake", lake, query)
    assert [int(line) for line in ended.lines[2:]] == list(range(1, 3001))


@pytest.mark.slow
def test_a_million_rows_take_no_more_memory_than_a_few(lake: Path) -> None:
    def peak(count: int) -> int:
        query = f"select value, 'a text as long as most' as t from generate_series(1, {count})"
        command = command_line("sql", "--lake", lake, "--json", query)
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *command], cwd=REPOSITORY, capture_output=True, check=True
        )
        rows, kilobytes = map(int, done.stdout.split())
        assert rows == count
        return kilobytes

    assert peak(1_000_000) - peak(10_000) < 32 * 1024


def test_a_query_loads_no_library_that_it_does_not_need(lake: Path) -> None:
    code = (
        "import sys; from jobs.cli.main import app; from jobs.cli.outcome import run; "
        f"run(app, ['sql', '--lake', {str(lake)!r}, 'select count(*) from gold.elections']); "
        f"print([name for name in {UNNEEDED!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_ready_made_questions_are_listed_with_their_sql(
    kraftlake: Kraftlake, lake: Path
) -> None:
    listed = kraftlake("sql", "--lake", lake, "--questions").lines
    assert [line.split()[0] for line in listed[2:]] == [one.name for one in QUESTIONS]
    rows = kraftlake("sql", "--lake", lake, "--questions", "--json").rows
    assert [row["sql"] for row in rows] == [one.sql for one in QUESTIONS]


def test_every_ready_made_question_reads_tables_and_has_a_name_of_its_own() -> None:
    assert len({one.name for one in QUESTIONS}) == len(QUESTIONS)
    for one in QUESTIONS:
        assert tables_named(one.sql), one.name
        assert "ORDER BY" in one.sql.splitlines()[-1], one.name


def test_a_question_whose_tables_are_not_built_says_what_to_do(
    kraftlake: Kraftlake, lake: Path
) -> None:
    ended = kraftlake("sql", "--lake", lake, "--question", "changes")
    assert ended.code == 1
    assert "reads gold.metadata_changes, which the lake doesn't have: run `kraft" in ended.error
