"""`kraftlake sql` where Spark is needed: the other engine, and tables with VARIANT columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobs.cli.asking.questions import QUESTIONS
from tests.jobs.conftest import Kraftlake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUERY = (
    'select timestamp\'2026-11-21 05:00:00.5\' as at, parse_json(\'{"b":[1,null],"a":"x"}\') as v, '
    "named_struct('n', array(1, 2)) as s, x'00ff' as b, cast(1 as bigint) as i, null as nothing"
)
ROW = {
    "at": 1795237200500,
    "v": {"a": "x", "b": [1, None]},
    "s": {"n": [1, 2]},
    "b": "AP8=",
    "i": 1,
    "nothing": None,
}
_NOTHING_WRONG = ("broken-snapshots", "doubts", "under-replicated")
"""Questions that have no answer in the recorded clusters."""


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from pipelines.delta import Lake, ensure_table
    from pipelines.tables.gold import DIVERGENCE_POINTS

    root = tmp_path_factory.mktemp("lake")
    ensure_table(Lake(root), DIVERGENCE_POINTS)
    frame = spark.sql(QUERY).drop("nothing")
    frame.write.format("delta").save(str(root / "silver/voter_sets"))
    return root


@pytest.mark.slow
def test_spark_answers_in_the_same_form(kraftlake: Kraftlake, lake: Path) -> None:
    ended = kraftlake("sql", "--lake", lake, "--engine", "spark", "--json", QUERY)
    assert ended.rows == [ROW]
    count = "select count(*) as n from gold.divergence_points"
    assert kraftlake("sql", "--lake", lake, "--engine", "spark", "--json", count).rows == [{"n": 0}]


def test_spark_s_errors_are_one_line(kraftlake: Kraftlake, lake: Path) -> None:
    spark = ("sql", "--lake", lake, "--engine", "spark")
    missing = kraftlake(*spark, "select * from gold.nope")
    assert missing.code == 1
    assert "`gold`.`nope` cannot be found; the lake has silver.voter_sets" in missing.error
    wrong = kraftlake(*spark, "select nope from gold.divergence_points")
    assert wrong.code == 1
    assert "UNRESOLVED_COLUMN" in wrong.error


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select n / 0 as x from range(3) as t(n)", "[DIVIDE_BY_ZERO] Division by zero"),
        ("select raise_error('no rows\nhere')", "[USER_RAISED_EXCEPTION] no rows"),
    ],
)
def test_what_fails_while_spark_reads_rows_is_the_query_s_error(
    kraftlake: Kraftlake, lake: Path, query: str, reason: str
) -> None:
    ended = kraftlake("sql", "--lake", lake, "--engine", "spark", query)
    assert ended.code == 1
    assert reason in ended.error
    assert len(ended.complaints) == 1


def test_delta_rs_shows_variant_as_json(kraftlake: Kraftlake, lake: Path) -> None:
    ended = kraftlake("sql", "--lake", lake, "--json", "select * from silver.voter_sets")
    assert ended.rows == [{key: value for key, value in ROW.items() if key != "nothing"}]
    text = kraftlake("sql", "--lake", lake, "select v from silver.voter_sets")
    assert text.lines[2] == '{"a":"x","b":[1,null]}'
    nested = "select named_struct('inner', v) as o, array(v) as many from silver.voter_sets"
    nested = nested.replace("array(", "make_array(")
    assert kraftlake("sql", "--lake", lake, "--json", nested).rows == [
        {"o": {"inner": ROW["v"]}, "many": [ROW["v"]]}
    ]


@pytest.mark.slow
def test_both_engines_answer_the_ready_made_questions_alike(
    kraftlake: Kraftlake, built_lake: Path
) -> None:
    for one in QUESTIONS:
        arguments = ("sql", "--lake", built_lake, "--json", "--question", one.name)
        answer = kraftlake(*arguments)
        assert answer.code == 0
        assert answer.rows or one.name in _NOTHING_WRONG, one.name
        if one.name != "voter-history":  # it unnests, which Spark calls otherwise
            assert kraftlake(*arguments, "--engine", "spark").rows == answer.rows, one.name


WRITING = [
    "SELECT TRANSFORM(a) USING 'touch {}' AS b FROM VALUES (1) t(a)",
    "WITH x AS (SELECT TRANSFORM(a) USING 'touch {}' AS b FROM VALUES (1) t(a)) SELECT * FROM x",
    "SELECT (SELECT TRANSFORM(a) USING 'touch {}' AS b FROM VALUES (1) t(a))",
    "SELECT reflect('java.lang.System', 'setProperty', 'kraftlake.canary', '{}')",
    "SELECT java_method('java.lang.System', 'setProperty', 'kraftlake.canary', '{}')",
    "INSERT OVERWRITE DIRECTORY '{}' USING csv SELECT 1",
    "FROM VALUES (1) t(a) INSERT INTO gold.votes SELECT 1 INSERT INTO gold.elections SELECT 1",
    "CREATE TABLE gold.x USING csv LOCATION '{}' AS SELECT 1",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "ADD JAR '{}'",
    "SET spark.sql.session.timeZone = CET",
    "BEGIN SELECT 1; END",
    "SELECT * FROM text.`/etc/hostname`",
]


@pytest.mark.parametrize("query", WRITING)
def test_spark_s_own_plan_says_whether_a_query_only_reads(
    kraftlake: Kraftlake, lake: Path, tmp_path: Path, spark: SparkSession, query: str
) -> None:
    canary = tmp_path / "canary"
    ended = kraftlake("sql", "--lake", lake, "--engine", "spark", query.format(canary))
    assert ended.code in (1, 2)
    assert ended.error
    assert not canary.exists()
    assert spark._jvm is not None
    assert spark._jvm.java.lang.System.getProperty("kraftlake.canary") is None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'INSERT' AS a",
        "DESCRIBE gold.divergence_points",
        "EXPLAIN SELECT 1",
        "WITH a AS (SELECT 1 AS n) SELECT (SELECT max(n) FROM a) AS m, '${{env:HOME}}' AS home",
        "VALUES (1), (2)",
        "FROM gold.divergence_points |> WHERE true |> AGGREGATE count(*) AS n",
    ],
)
def test_spark_answers_what_only_reads(kraftlake: Kraftlake, lake: Path, query: str) -> None:
    ended = kraftlake("sql", "--lake", lake, "--engine", "spark", "--json", query)
    assert (ended.code, ended.err) == (0, "")
    assert "/root" not in ended.out
