"""Text that goes into SQL comes back from the engine as it was, whatever is in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.dialects import DATA_FUSION, DUCK_DB, SPARK, SQLITE, Dialect
from replica.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = st.text(
    st.one_of(
        st.sampled_from("'\"`\\$;-\n\r\t\b%{}()/*u0027é\U0001f40b"),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    ),
    max_size=30,
)
NASTY = (
    "\\", "'", "\\'", "''", "\"\"", "`", "${env:HOME}", "\\u0027", "x' OR '1'='1", "*/ --", "\x1a",
)  # fmt: skip


def _fusion(query: str) -> Any:
    table = pa.table(QueryBuilder().execute(query).read_all())
    return table.column_names[0], table.column(0)[0].as_py()


def _duck(query: str) -> Any:
    found = duckdb.sql(query)
    return found.columns[0], found.fetchall()[0][0]


def _sqlite(query: str) -> Any:
    found = sqlite3.connect(":memory:").execute(query)
    return found.description[0][0], found.fetchone()[0]


ENGINES: dict[str, tuple[Dialect, Callable[[str], Any]]] = {
    "delta-rs": (DATA_FUSION, _fusion),
    "duckdb": (DUCK_DB, _duck),
    "sqlite": (SQLITE, _sqlite),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_reads_a_text_and_a_name_back_as_they_were(engine: str) -> None:
    dialect, ask = ENGINES[engine]

    @given(TEXTS, TEXTS)
    @example("'", '"')
    @example("\\", "\\")
    def come_back(value: str, name: str) -> None:
        name = name or "x"
        query = f"SELECT {dialect.literal(value)} AS {dialect.identifier(name)}"
        assert ask(query) == (name, value)

    come_back()
    for text in NASTY:
        assert ask(f"SELECT {dialect.literal(text)} AS {dialect.identifier(text)}") == (text, text)


def test_delta_rs_reads_a_relation_of_rows_back_as_they_were() -> None:
    least, most = -(2**63), 2**63 - 1
    rows = [(text, n, least if n % 2 else most) for n, text in enumerate(NASTY)]
    relation = DATA_FUSION.relation("w", ["text", "n", 'far "off"'], rows)
    found = pa.table(QueryBuilder().execute(f"SELECT * FROM {relation} ORDER BY n").read_all())
    assert found.column_names == ["text", "n", 'far "off"']
    assert [tuple(row.values()) for row in found.to_pylist()] == rows


@pytest.mark.spark
def test_spark_reads_a_text_and_a_name_back_as_they_were(spark: SparkSession) -> None:
    def held(texts: list[str]) -> None:
        names = [f"{n}{text}".replace("${", "$ {") for n, text in enumerate(texts)]
        each = ", ".join(
            f"{SPARK.literal(text)} AS {SPARK.identifier(name)}"
            for text, name in zip(texts, names, strict=True)
        )
        (row,) = spark.sql(f"SELECT {each}").collect()
        assert list(row) == texts
        assert row.__fields__ == names

    held([*NASTY])
    drawn = given(st.lists(TEXTS, min_size=1, max_size=40, unique_by=str.lower))
    drawn(held)()


@pytest.mark.parametrize("dialect", [DATA_FUSION, SPARK])
@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "x\udfff"])
def test_what_no_sql_can_hold_is_refused(dialect: Dialect, text: str) -> None:
    for write in (dialect.literal, dialect.identifier):
        with pytest.raises(UsageError):
            write(text)


def test_a_name_that_spark_would_fill_in_is_refused() -> None:
    with pytest.raises(UsageError):
        SPARK.identifier("${env:HOME}")


def test_numbers_and_lists_are_written_as_they_are_read() -> None:
    assert DUCK_DB.literal(-5) == "-5"
    assert DUCK_DB.literal(True) == "1"
    assert DUCK_DB.literals(["a'", 3]) == "'a''', 3"
    assert DUCK_DB.table("gold.findings") == '"gold"."findings"'
    assert DUCK_DB.of_clusters([]) == "false"
    assert DUCK_DB.of_clusters(["a", "b"]) == "cluster_id IN ('a', 'b')"


@pytest.mark.parametrize("known", ["Lr3UIdBxT-GFPYE5uprmrg", "my_cluster", "a.b=c+d"])
def test_kafka_s_ids_of_clusters_are_taken(known: str) -> None:
    assert SPARK.cluster(known) == f"'{known}'"


@pytest.mark.parametrize("odd", ["", "a b", "a'b", "a\\", "é", "a" * 101, "a\n", "${x}", "`"])
def test_other_ids_of_clusters_are_refused(odd: str) -> None:
    with pytest.raises(UsageError, match="Kafka's ids have letters"):
        DATA_FUSION.cluster(odd)
