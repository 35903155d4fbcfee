"""The counts of a run of a job, in the form of JSON that the process of Great Expectations takes.

This module imports nothing, so that this process needs no Spark.
"""

from __future__ import annotations

from typing import Any, TypedDict


class CountedExpectation(TypedDict):
    """How many rows of a table break one expectation. The fields from `expectation` to `action` are
    those of pipelines.quality.expectation.Expectation."""

    expectation: str
    columns: list[str]
    kwargs: dict[str, Any]
    meaning: str
    action: str
    evaluated_rows: int
    unexpected_rows: int
    """The number of rows that break the expectation; 0 for an expectation about the table as a
    whole."""
    sample_keys: list[str]
    """The keys of a few unexpected rows, each as a JSON object."""


class CountedTable(TypedDict):
    """The counts of one table."""

    name: str
    rows: int
    """The number of judged rows of the table."""
    expectations: list[CountedExpectation]
    """The counts for each expectation of the table's suite, in the suite's order."""


class CountedRun(TypedDict):
    """A run of a job."""

    job: str
    run_id: str
    at: str
    """The time of the run in UTC, as text."""
    stopped: str
    """Why the run committed nothing; empty where it committed."""
    tables: list[CountedTable]
