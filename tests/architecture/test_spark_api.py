"""The pipelines use DataFrames alone, so they work by Spark Connect, too, which has no RDDs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.trees import nodes_of

ROOT = Path(__file__).parents[2]
OF_RDDS = {
    "rdd", "sparkContext", "SparkContext", "parallelize", "mapPartitions", "mapPartitionsWithIndex",
}  # fmt: skip
SESSIONS = "pipelines/spark/"
OWN_SESSION = "jobs/cli/asking/sql_spark.py"
"""`sql --engine spark` reads the plan of a query in the JVM of the local session that it starts."""
DESCRIBES_JOBS = "pipelines/runners/spark.py"
"""It asks a classic session how many tasks run side by side, and gives a job a description; where
there is no context it goes on without."""


def named(text: str) -> Iterator[tuple[int, str]]:
    """The names of RDDs' API in a module, with their lines."""
    for node in nodes_of(text):
        if isinstance(node, ast.Attribute) and node.attr in OF_RDDS:
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyspark"):
            yield from ((node.lineno, one.name) for one in node.names if one.name in OF_RDDS)


def test_no_module_uses_rdds_or_their_context() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for folder in ("pipelines", "jobs", "replica")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not str(path.relative_to(ROOT)).startswith((SESSIONS, OWN_SESSION, DESCRIBES_JOBS))
        for line, name in named(path.read_text())
    ]
    assert found == []


def test_the_runner_asks_the_context_for_no_more_than_numbers_and_descriptions() -> None:
    found = [name for _, name in named((ROOT / DESCRIBES_JOBS).read_text())]
    assert set(found) <= {"sparkContext"}
    assert len(found) <= 2


@pytest.mark.parametrize(
    "code",
    [
        "rows.rdd.map(f)",
        "spark.sparkContext.parallelize(units)",
        "from pyspark import SparkContext",
        "rows.rdd.mapPartitions(f)",
    ],
)
def test_a_use_of_rdds_is_found(code: str) -> None:
    assert [*named(code)]
