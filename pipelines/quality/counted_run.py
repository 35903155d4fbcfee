"""The counts of a run of a job, in the form of JSON that the process of Great Expectations takes.

This module imports nothing, so that this process needs no Spark.
"""

from __future__ import annotations

from typing import Any, TypedDict


class CountedExpectation(TypedDict):
    """How many rows of a table break one expectation. expectation, columns, kwargs, meaning,
    action: as in pipelines.quality.expectation.Expectation."""

    expectation: str
    columns: list[str]
    kwargs: dict[str, Any]
    meaning: str
    action: str
    evaluated_rows: int
    unexpected_rows: int
    """0 for an expectation about the table as a whole."""
    sample_keys: list[str]
    """Keys of some of these rows, each as a JSON object."""


class CountedTable(TypedDict):
    """rows: how many rows of the table were judged. expectations: its suite, in order."""

    name: str
    rows: int
    expectations: list[CountedExpectation]


class CountedRun(TypedDict):
    """A run of a job."""

    job: str
    run_id: str
    at: str
    """Its time in UTC, as text."""
    stopped: str
    """Why it committed nothing, empty where it committed."""
    tables: list[CountedTable]
