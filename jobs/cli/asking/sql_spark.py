"""Queries by Spark SQL, for what delta-rs' dialect lacks. Starting a session takes some seconds."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, cast

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import VariantVal

from jobs.cli.asking.query_result import LakeQuery, QueryError, QueryResult
from jobs.cli.asking.sql_text import writes
from jobs.cli.asking.sql_views import SPARK_SQL, statements
from jobs.cli.interrupts import started_spark
from pipelines.catalog.metastore import IMPLEMENTATION
from pipelines.delta import register
from pipelines.spark.connect import refuse_remote
from pipelines.spark.settings import WAREHOUSE, scratch_warehouse
from pipelines.tables.of_a_lake import TABLES

_OWN_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.runSQLOnFiles": "false",  # parquet.`/a/file` is no table of a lake
    "spark.sql.variable.substitute": "false",  # ${env:NAME} is text
}
_PLANS = "org.apache.spark.sql.catalyst.plans.logical."
_PLAN = f"{_PLANS}LogicalPlan"
_COMMANDS = (f"{_PLANS}Command", f"{_PLANS}ParsedStatement")
_LOOKING = ("Show", "Describe", "Explain")
"""Beginnings of the names of commands that change nothing."""
_OTHER_WORK = ("ScriptTransformation", "Call", "UnresolvedExecuteImmediate", "InsertIntoDir")
"""Plans that run programs, procedures or a text as SQL, or write, and are no commands for Spark."""


def answer(query: LakeQuery) -> QueryResult:
    """Run the query. Raises QueryError where it fails, also while rows are read."""
    # pyspark turns timestamps into naive times of this process's zone.
    os.environ["TZ"] = "UTC"
    time.tzset()
    # It would print what QueryError says, with a page of stack traces.
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    # The names are for this query only, whatever metastore the user's own settings name.
    own = {IMPLEMENTATION: "in-memory", WAREHOUSE: scratch_warehouse()}
    if query.memory is not None:
        own["spark.driver.memory"] = f"{query.memory >> 20}m"
    refuse_remote("sql --engine spark")  # where its query may do nothing but read
    spark = started_spark("sql", query.lake, own).newSession()
    for name, value in _OWN_SETTINGS.items():
        spark.conf.set(name, value)
    try:
        _forget_java(spark)
        register(spark, query.lake, [one for one in TABLES if one.name in query.tables])
        for statement in statements(query.views, SPARK_SQL, query.ends):
            spark.sql(statement)
        _refuse_other_plans(spark, query.sql)
        frame = spark.sql(query.sql)
        return QueryResult(tuple(frame.columns), _rows(frame))
    except (PySparkException, Py4JJavaError) as error:
        raise QueryError(_line(error)) from error


def _forget_java(spark: SparkSession) -> None:
    """Takes the functions out of the session that call any static method of Java by its name."""
    jvm = cast(Any, spark._jvm)
    schema, catalog = map(jvm.scala.Option.apply, ("builtin", "system"))
    registry = spark._jsparkSession.sessionState().functionRegistry()
    for name in ("reflect", "java_method", "try_reflect"):
        identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, schema, catalog)
        registry.dropFunction(identifier)


def _refuse_other_plans(spark: SparkSession, query: str) -> None:
    """Raises UsageError for a query that is more than a query, by Spark's own parse of it."""
    state = spark._jsparkSession.sessionState()
    plans = [state.sqlParser().parsePlan(query)]
    gateway = cast(Any, spark.sparkContext._gateway)
    while plans:
        plan = plans.pop()
        name = plan.getClass().getSimpleName()
        is_command = any(is_instance_of(gateway, plan, kind) for kind in _COMMANDS)
        if name in _OTHER_WORK or (is_command and not name.startswith(_LOOKING)):
            raise writes(name)
        for held in (plan.children(), plan.innerChildren(), plan.subqueries()):
            inner = [held.apply(place) for place in range(held.size())]
            plans += [one for one in inner if is_instance_of(gateway, one, _PLAN)]


def _rows(frame: DataFrame) -> Iterator[Sequence[Any]]:
    try:
        for row in frame.toLocalIterator():
            yield [_plain(value) for value in row]
    except PySparkException as error:
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
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
