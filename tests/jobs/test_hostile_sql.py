"""What a stranger's lake, folder or query makes the SQL engines do: no file is written, none
outside of the lake is read."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from jobs.cli.asking.sql_views import DUCK_DB, SPARK_SQL, VIEWS, statements
from pipelines.lake.tables import NAMES
from pipelines.tables.of_a_lake import TABLES
from replica.errors import UsageError
from tests.jobs.conftest import Kraftlake
from tests.kraftlake_process import REPOSITORY

STATIC_ID = "gT_wj4dEReaNt2vnLWy9Aw"
NODE = REPOSITORY / "tests/data/kafka-3.7.2-static/split/2"
COUNT = "SELECT count(*) AS n FROM gold.findings"
STRANGER = "Zz\\' OR reflect('java.lang.System', 'exit', 1) IS NULL)) --"
"""A cluster id that would end a literal in which only quotes are doubled, as Spark reads it."""


@pytest.fixture
def lake(built_lake: Path, tmp_path: Path) -> Path:
    """A lake of the stranger's own, to be made hostile."""
    place = tmp_path / "lake"
    shutil.copytree(built_lake, place)
    return place


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A place where nothing may be written."""
    return tmp_path / "canary"


def add_columns(lake: Path, table: str, *names: str) -> None:
    """A commit that gives the table further columns, each a VARIANT for whoever looks at types."""
    log = lake.joinpath(*table.split(".")) / "_delta_log"
    last = max(int(file.stem) for file in log.glob("*.json"))
    actions = [json.loads(line) for n in range(last + 1) for line in (log / f"{n:020}.json").open()]
    metadata = [action for action in actions if "metaData" in action][-1]
    schema = json.loads(metadata["metaData"]["schemaString"])
    parts = [
        {"name": part, "type": "binary", "nullable": True, "metadata": {}}
        for part in ("metadata", "value")
    ]
    schema["fields"] += [
        {
            "name": name,
            "type": {"type": "struct", "fields": parts},
            "nullable": True,
            "metadata": {},
        }
        for name in names
    ]
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    (log / f"{last + 1:020}.json").write_text(json.dumps(metadata) + "\n")


def test_the_name_of_a_variant_column_is_no_sql_for_duckdb(
    kraftlake: Kraftlake, lake: Path, canary: Path
) -> None:
    sql = f"COPY (SELECT 1) TO '{canary}'"
    add_columns(lake, "gold.findings", f'x") AS JSON) AS "x") FROM lake_0; {sql}; --', "x")
    ended = kraftlake("sql", "--lake", lake, "--engine", "duckdb", "--json", COUNT)
    assert not canary.exists()
    assert ended.code == 0
    assert ended.rows[0]["n"] > 0


@pytest.mark.parametrize("engine", ["delta-rs", "duckdb"])
def test_a_folder_that_is_no_table_of_kraftlake_s_is_none_whatever_its_name(
    kraftlake: Kraftlake, lake: Path, canary: Path, engine: str
) -> None:
    name = f"x\" AS SELECT 1; COPY (SELECT 1) TO '{canary.name}'; --"
    shutil.copytree(lake / "gold/votes", lake / "gold" / name)
    ended = kraftlake("sql", "--lake", lake, "--engine", engine, "--json", "SHOW TABLES")
    assert ended.code == 0
    assert name not in ended.out
    assert not Path(canary.name).exists()
    assert name not in kraftlake("sql", "--lake", lake, "--tables", "--json").out


def test_a_lake_may_have_the_tables_of_the_contracts_and_no_others() -> None:
    assert {one.name for one in TABLES} == NAMES


def test_a_data_file_that_is_none_is_told_in_one_line(kraftlake: Kraftlake, lake: Path) -> None:
    for file in (lake / "gold/findings").glob("*.parquet"):
        file.write_bytes(b"PAR1" * 5)
    for words in (("export", "-o", lake.parent / "lake.sql"), ("sql", COUNT)):
        ended = kraftlake(words[0], "--lake", lake, *words[1:])
        assert ended.code in (0, 1)  # a count takes the log's word for it
        assert "internal error" not in ended.err
        assert len(ended.complaints) == ended.code


LIES = "its Parquet footer claims 2147483647 bytes, more than the file has"


@pytest.fixture(scope="module")
def lying(built_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which the footers of some tables say that they are longer than their files."""
    lake = tmp_path_factory.mktemp("lying") / "lake"
    shutil.copytree(built_lake, lake)
    for table in ("gold/metadata_changes", "gold/metadata_history", "gold/state_ranges"):
        for file in (lake / table).glob("**/*.parquet"):
            data = file.read_bytes()
            file.write_bytes(data[:-8] + struct.pack("<I", 2**31 - 1) + data[-4:])
    return lake


@pytest.mark.parametrize(
    "words",
    [
        ("sql", "SHOW TABLES"),
        ("sql", "--engine", "duckdb", "SELECT * FROM gold.partition_leaders_at"),
        ("export", "-o", "{out}/lake.duckdb"),
        ("export", "--to", "parquet", "-o", "{out}/tables"),
        ("publish", "--table", "gold.metadata_changes", "--to", "{out}/changes.jsonl"),
        ("plan", "--cluster", STATIC_ID, "--stop-broker", "1"),
        ("state", "--cluster", STATIC_ID),
        ("state", "--cluster", STATIC_ID, "--exposure"),
        ("report", "-o", "{out}/report.html"),
        pytest.param(("quality",), marks=pytest.mark.slow),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_footer_that_lies_about_its_length_is_one_line_that_names_the_file(
    kraftlake: Kraftlake, lying: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    asked = [word.format(out=tmp_path) for word in words[1:]]
    ended = kraftlake(words[0], "--lake", lying, *asked)
    assert ended.code in (1, 2), ended.err
    assert LIES in ended.complaints[-1]
    assert f"{lying}/gold/" in ended.complaints[-1]


@pytest.mark.parametrize(
    "words",
    [
        ("sql", "SELECT * FROM gold.state_ranges"),
        ("export", "-o", "{out}/x.sqlite", "gold.state_ranges"),
    ],
)
def test_a_footer_that_lies_about_its_length_makes_no_library_panic(
    process: Kraftlake, lying: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    asked = [word.format(out=tmp_path) for word in words[1:]]
    ended = process(words[0], "--lake", lying, *asked)
    assert ended.code == 1
    assert "panicked" not in ended.err
    assert LIES in ended.complaints[-1]


def test_a_footer_is_looked_for_where_the_log_says_that_the_file_ends(
    process: Kraftlake, lake: Path
) -> None:
    """There delta-rs looks for it, whatever comes behind."""
    table = lake / "gold/findings"
    lie = struct.pack("<I", 2**31 - 1) + b"PAR1"
    for file in table.glob("*.parquet"):
        file.write_bytes(b"PAR1" + bytes(100) + lie + file.read_bytes())
    for commit in table.glob("_delta_log/*.json"):
        actions = [json.loads(line) for line in commit.open()]
        for action in actions:
            if "add" in action:
                action["add"]["size"] = 104 + len(lie)
        commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    ended = process("sql", "--lake", lake, "SELECT * FROM gold.findings")
    assert ended.code == 1
    assert "panicked" not in ended.err
    assert LIES in ended.complaints[-1]


@pytest.mark.parametrize("command", ["ingest", "build"])
def test_statistics_that_do_not_fit_the_schema_are_one_line(
    kraftlake: Kraftlake, lake: Path, command: str
) -> None:
    log = lake / "bronze/log_records/_delta_log"
    last = max(log.glob("*.json"))
    actions = [json.loads(line) for file in log.glob("*.json") for line in file.open()]
    metadata = next(action for action in actions if "metaData" in action)
    schema = json.loads(metadata["metaData"]["schemaString"])
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "payload"]
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    (log / f"{int(last.stem) + 1:020}.json").write_text(json.dumps(metadata) + "\n")
    ended = kraftlake(command, "--lake", lake, *([NODE] if command == "ingest" else []))
    assert ended.code in (1, 2)
    assert "internal error" not in ended.err
    assert f"{lake}" in ended.complaints[-1]


def test_an_engine_s_backtrace_is_no_part_of_our_line(process: Kraftlake, lake: Path) -> None:
    for commit in (lake / "gold/findings/_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.open()]
        for action in actions:
            if "add" in action:
                action["add"]["stats"] = "[1]"
        commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    ended = process("sql", "--lake", lake, "SELECT * FROM gold.findings", RUST_BACKTRACE="1")
    assert ended.code == 1
    assert ended.error.endswith("Json error: expected { got [1]")


@pytest.mark.parametrize("place", ["lake.sqlite", "lake.duckdb", "tables"])
def test_a_broken_data_file_ends_an_export_in_one_line(
    kraftlake: Kraftlake, lake: Path, place: str
) -> None:
    for file in (lake / "gold/findings").glob("*.parquet"):
        file.write_bytes(b"PAR1" + bytes(4) + b"PAR1")
    form = ("--to", "parquet") if place == "tables" else ()
    ended = kraftlake("export", "--lake", lake, *form, "-o", lake.parent / place, "gold.findings")
    assert ended.code == 1
    assert "Failed to fetch metadata" in ended.error


def test_what_panics_within_an_arrow_stream_ends_as_an_error_and_not_the_process(
    lying: Path,
) -> None:
    """Nothing of ours looks at the files here, as where a panic has another cause."""
    code = (
        "import sys; from deltalake import DeltaTable, QueryBuilder\n"
        "from pipelines.lake.json_view import plain\n"
        "table = QueryBuilder().register('t', DeltaTable(sys.argv[1]))\n"
        "try: plain(table.execute('SELECT * FROM t')).read_all()\n"
        "except BaseException as error: print(type(error).__name__)"
    )
    words = [sys.executable, "-c", code, str(lying / "gold/state_ranges")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "PanicException\n"), done.stderr[-500:]


def test_quality_refuses_a_table_that_is_not_as_its_contract_says(
    kraftlake: Kraftlake, lake: Path
) -> None:
    add_columns(lake, "gold.findings", "odd")
    ended = kraftlake("quality", "--lake", lake)
    assert ended.code == 2
    assert "gold/findings was written by another release" in ended.err
    assert "internal error" not in ended.err


def test_a_script_of_views_runs_no_name_of_a_stranger_s_column(
    kraftlake: Kraftlake, lake: Path, canary: Path
) -> None:
    name = f"x\" FROM t;\nCOPY (SELECT 1) TO '{canary}';\n.shell touch {canary}\nSELECT 1 AS \"y"
    add_columns(lake, "gold.findings", name)
    add_columns(lake, "gold.votes", name)
    script = lake.parent / "lake.sql"
    assert kraftlake("export", "--lake", lake, "-o", script).code == 0
    text = script.read_text()
    assert not [line for line in text.splitlines() if line.startswith((".shell", "COPY"))]
    with duckdb.connect() as database:
        database.execute(text)
        assert database.execute("SELECT count(*) FROM gold.findings").fetchone() != (0,)
    assert not canary.exists()


WRITING = [
    "COPY (SELECT 1 AS a) TO '{}' STORED AS CSV",
    "EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '{}' STORED AS CSV",
    "EXPLAIN ANALYZE FORMAT indent COPY (SELECT 1 AS a) TO '{}' STORED AS CSV",
    "EXPLAIN FORMAT indent ANALYZE COPY (SELECT 1 AS a) TO '{}' STORED AS CSV",
    "EXPLAIN ANALYZE EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '{}' STORED AS CSV",
    "/**/ explain/**/analyze verbose copy (SELECT 1 AS a) TO '{}' STORED AS CSV",
    "ANALYZE COPY (SELECT 1 AS a) TO '{}' STORED AS CSV",
    "SELECT 1; COPY (SELECT 1 AS a) TO '{}' STORED AS CSV",
    "PREPARE a AS COPY (SELECT 1 AS a) TO '{}' STORED AS CSV",
    "SELECT 1 AS a INTO gold.b",
    "CREATE EXTERNAL TABLE a STORED AS CSV LOCATION '{}'",
    "SET datafusion.execution.batch_size = 1",
    "DELETE FROM gold.findings",
]
"""Statements that do more than a query, by some word in front of them."""


@pytest.mark.parametrize("query", WRITING)
@pytest.mark.parametrize("engine", ["delta-rs", "duckdb"])
def test_no_word_in_front_of_a_statement_makes_it_a_query(
    kraftlake: Kraftlake, built_lake: Path, canary: Path, engine: str, query: str
) -> None:
    before = kraftlake("sql", "--lake", built_lake, "--json", COUNT).rows
    ended = kraftlake("sql", "--lake", built_lake, "--engine", engine, query.format(canary))
    assert ended.code in (1, 2)
    assert ended.error
    assert not canary.exists()
    assert kraftlake("sql", "--lake", built_lake, "--json", COUNT).rows == before


@pytest.mark.parametrize("query", WRITING)
def test_an_export_of_a_statement_that_is_no_query_is_refused(
    kraftlake: Kraftlake, built_lake: Path, canary: Path, query: str
) -> None:
    place = canary.with_name("answer.csv")
    told = ("--query", query.format(canary))
    ended = kraftlake("export", "--lake", built_lake, "-o", place, *told)
    assert ended.code in (1, 2)
    assert ended.error
    assert [*canary.parent.glob("*")] == []


@pytest.mark.parametrize(
    "query",
    [
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN SELECT 'COPY'",
        "-- a note\nSELECT 'Explain\nCopyTo'",
        "DESCRIBE gold.findings",
        "SHOW COLUMNS FROM gold.findings",
        "VALUES (1), (2)",
        "(SELECT 1 AS a) UNION ALL (SELECT 2) ORDER BY a LIMIT 1",
        "WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM a WHERE n < 3) "
        "SELECT * FROM a JOIN gold.findings ON a.n = 0",
        "SELECT DISTINCT rule FROM gold.findings WHERE severity = 'nothing';",
    ],
)
def test_what_only_reads_is_answered(kraftlake: Kraftlake, built_lake: Path, query: str) -> None:
    ended = kraftlake("sql", "--lake", built_lake, "--", query)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("dialect", [SPARK_SQL, DUCK_DB])
def test_no_view_is_made_for_a_cluster_whose_id_is_not_of_kafka_s_form(dialect: object) -> None:
    with pytest.raises(UsageError, match="Kafka's ids have letters"):
        next(statements(VIEWS, dialect, {STRANGER: 5}))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["delta-rs", "spark"])
def test_a_stranger_s_cluster_id_is_no_sql(
    kraftlake: Kraftlake, data: Path, tmp_path: Path, engine: str
) -> None:
    lake, folders = tmp_path / "lake", tmp_path / "folders"
    shutil.copytree(data / "kafka-4.4.0-dynamic" / "final", folders)
    for file in folders.glob("*/meta.properties"):
        kept = [line for line in file.read_text().splitlines() if "cluster.id" not in line]
        escaped = STRANGER.replace("\\", "\\\\")
        file.write_text("\n".join([*kept, f"cluster.id={escaped}", ""]))
    assert kraftlake("ingest", "--lake", lake, "--build", folders).code == 0
    ids = kraftlake("sql", "--lake", lake, "--json", "SELECT cluster_id FROM bronze.captures").rows
    assert {row["cluster_id"] for row in ids} == {STRANGER}
    query = "SELECT count(*) FROM gold.topics_at"
    ended = kraftlake("sql", "--lake", lake, "--engine", engine, query)
    assert "Kafka's ids have letters" in ended.error
    ended = kraftlake("forget", "--lake", lake, "--cluster", STRANGER, "--yes")
    assert ended.code == 0
    assert kraftlake("sql", "--lake", lake, "--json", "SELECT * FROM bronze.captures").rows == []
