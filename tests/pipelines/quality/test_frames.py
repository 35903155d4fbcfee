"""What Great Expectations says by pandas is what it says by Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines import delta
from pipelines.quality import suite_sql
from pipelines.quality.frames import frame
from pipelines.quality.gate import in_order, judged_rows
from pipelines.quality.pages import pages
from pipelines.quality.suites import SUITES
from pipelines.quality.unbroken import opened
from pipelines.quality.validation import Validation
from pipelines.quality.verdicts import TableResult
from tests.pipelines.quality.example_lakes import lake_of_example, loose, whole_example

_AT = datetime(2026, 1, 1, tzinfo=UTC)
_SHOWN_OTHERWISE = {"bronze.replica_state", "silver.voter_sets"}
"""Their pages show lists, which are JSON for pandas."""


@pytest.mark.parametrize("name", SUITES)
def test_a_frame_has_the_rows_and_whether_they_satisfy_each_condition(
    name: str, tmp_path: Path
) -> None:
    suite = SUITES[name]
    example = whole_example(name)
    lake, tables = lake_of_example(tmp_path, suite, example)
    found = frame(opened(lake, tables), suite, suite_sql.judged_rows(suite))
    assert len(found) == len(example.rows)
    for column in {*suite.contract.column_names} & {*found.columns}:  # a NULL is told as one
        missing = sum(row.get(column) is None for row in example.rows)
        assert sum(value is None for value in found[column]) == missing, column
    judged = Validation(by_spark=False).judge(suite, found, 0, len(found))
    kept = [one.expectation.meaning for one in judged.verdicts if one.success]
    assert [one for one in kept if not one.startswith("the table has")] == []
    assert all(len(one.sample) == min(5, one.unexpected_rows) for one in judged.verdicts)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_pandas_and_spark_give_the_same_verdicts_and_pages(
    spark: SparkSession, name: str, tmp_path: Path
) -> None:
    suite = SUITES[name]
    lake, tables = lake_of_example(tmp_path, suite, whole_example(name))
    by_pandas = frame(opened(lake, tables), suite, suite_sql.judged_rows(suite))
    rows = {one.table_name: delta.read_newest(spark, lake, loose(one)).rows for one in tables}
    judged = in_order(judged_rows(spark, suite, rows), suite)
    found = [
        Validation(by_spark=by_spark).judge(suite, some, 0, len(by_pandas))
        for by_spark, some in ((True, judged), (False, by_pandas))
    ]
    assert found[0].verdicts == found[1].verdicts
    if name not in _SHOWN_OTHERWISE:
        assert _page(found[0]) == _page(found[1])


def _page(judged: TableResult) -> str:
    return pages([judged], _AT)[f"{judged.suite.name}.html"].decode()
