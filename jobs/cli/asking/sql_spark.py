"""Queries by Spark SQL, for what delta-rs' dialect lacks. Starting a session takes some seconds."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, Row
from pyspark.sql.types import VariantVal

from jobs.cli.asking.query_result import LakeQuery, QueryError, QueryResult
from jobs.cli.asking.sql_views import SPARK_SQL, statements
from jobs.cli.interrupts import started_spark
from pipelines.catalog.metastore import IMPLEMENTATION
from pipelines.delta import register
from pipelines.own_tables.stored import contracts_in
from pipelines.spark.classic import causes, forget_java, other_plan
from pipelines.spark.connect import refuse_remote
from pipelines.spark.settings import WAREHOUSE, scratch_warehouse
from pipelines.sql_text import writes

_OWN_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.runSQLOnFiles": "false",  # parquet.`/a/file` is no table of a lake
    "spark.sql.variable.substitute": "false",  # ${env:NAME} is text
}

_FAILURES = PySparkException, Py4JJavaError
"""The errors of a query. A task that fails while rows are read raises Py4JJavaError."""
_JAVA_CLASS = re.compile(r"^[\w.$]+(?:Exception|Error): ")


def answer(query: LakeQuery) -> QueryResult:
    """Run the query, and give its result. Raises QueryError where it fails, also while rows are
    read."""
    # pyspark turns timestamps into naive times of this process's zone.
    os.environ["TZ"] = "UTC"
    time.tzset()
    # Spark would print the text of QueryError, with a page of stack traces.
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    # The names are for this query only, whatever metastore the user's own settings name.
    own = {IMPLEMENTATION: "in-memory", WAREHOUSE: scratch_warehouse()}
    if query.memory is not None:
        own["spark.driver.memory"] = f"{query.memory >> 20}m"
    refuse_remote("sql --engine spark")  # the query must do nothing but read on a server
    spark = started_spark("sql", query.lake, own).newSession()
    for name, value in _OWN_SETTINGS.items():
        spark.conf.set(name, value)
    try:
        forget_java(spark)
        register(spark, query.lake, contracts_in(query.lake, query.tables))
        for statement in statements(query.views, SPARK_SQL, query.ends):
            spark.sql(statement)
        plan = other_plan(spark, query.sql)
        if plan is not None:
            raise writes(plan)
        frame = spark.sql(query.sql)
        return QueryResult(tuple(frame.columns), _rows(frame))
    except _FAILURES as error:
        raise QueryError(_line(error)) from error


def _rows(frame: DataFrame) -> Iterator[Sequence[Any]]:
    try:
        for row in frame.toLocalIterator():
            yield [_plain(value) for value in row]
    except _FAILURES as error:
        raise QueryError(_line(error)) from error


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return {key: _plain(item) for key, item in zip(value.__fields__, value, strict=True)}
    if isinstance(value, VariantVal):
        return json.loads(value.toJson())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _line(error: Exception) -> str:
    if "OutOfMemoryError" in str(error):
        return "the query takes more memory than Spark's driver has: ask for less, or give --memory"
    is_java = isinstance(error, Py4JJavaError)
    text = _JAVA_CLASS.sub("", causes(error)[-1]) if is_java else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
