"""Calls of a session's JVM, and their equivalents on a server of Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from py4j.java_gateway import is_instance_of
from pyspark.sql import SparkSession

from pipelines.spark.connect import is_connect

_PLANS = "org.apache.spark.sql.catalyst.plans.logical."
_PLAN = f"{_PLANS}LogicalPlan"
_COMMANDS = (f"{_PLANS}Command", f"{_PLANS}ParsedStatement")
_LOOKING = ("Show", "Describe", "Explain")
"""The beginnings of the names of commands that change nothing."""
_OTHER_WORK = ("ScriptTransformation", "Call", "UnresolvedExecuteImmediate", "InsertIntoDir")
"""Plans that are no commands for Spark, but run programs, procedures or a text as SQL, or write."""


def parallelism(spark: SparkSession) -> int:
    """The number of tasks that the session runs at the same time. With Spark Connect, a Spark job
    finds this number."""
    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    parts = spark.range(1 << 16).selectExpr("spark_partition_id() AS part").distinct()
    return max(1, parts.count())


@contextmanager
def described(spark: SparkSession, text: str) -> Iterator[None]:
    """Gives the Spark jobs of this context a description in Spark's UI and event log. With
    Spark Connect, the jobs get the description as a tag. A tag may not contain a comma, so a
    semicolon replaces each comma."""
    if is_connect(spark):
        tag = text.replace(",", ";")
        spark.addTag(tag)
        try:
            yield
        finally:
            spark.removeTag(tag)
        return
    context = spark.sparkContext
    context.setJobDescription(text)
    try:
        yield
    finally:
        context.setJobDescription(None)  # type: ignore[arg-type]


def forget_java(spark: SparkSession) -> None:
    """Removes from the session the SQL functions with which a query can call any static method of
    Java. Not for a session of Spark Connect."""
    jvm = cast(Any, spark._jvm)
    schema, catalog = map(jvm.scala.Option.apply, ("builtin", "system"))
    registry = spark._jsparkSession.sessionState().functionRegistry()
    for name in ("reflect", "java_method", "try_reflect"):
        identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, schema, catalog)
        registry.dropFunction(identifier)


def causes(error: Exception) -> list[str]:
    """The Java errors behind an error of PySpark or py4j, as texts of class and message. The first
    text is the outer error, the last text the innermost cause. Where there is no Java error, the
    only text is the error's own."""
    texts = []
    java = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while java is not None:
        texts.append(str(java.toString()))
        java = java.getCause()
    return texts or [str(error)]


def other_plan(spark: SparkSession, query: str) -> str | None:
    """The name of the plan by which a query does more than read, by Spark's own parse of the query.
    None where it only reads. Not for a session of Spark Connect."""
    state = spark._jsparkSession.sessionState()
    plans = [state.sqlParser().parsePlan(query)]
    gateway = cast(Any, spark.sparkContext._gateway)
    while plans:
        plan = plans.pop()
        name = str(plan.getClass().getSimpleName())
        is_command = any(is_instance_of(gateway, plan, kind) for kind in _COMMANDS)
        if name in _OTHER_WORK or (is_command and not name.startswith(_LOOKING)):
            return name
        for held in (plan.children(), plan.innerChildren(), plan.subqueries()):
            inner = [held.apply(place) for place in range(held.size())]
            plans += [one for one in inner if is_instance_of(gateway, one, _PLAN)]
    return None
