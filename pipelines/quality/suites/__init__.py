"""A suite for each table of the lake."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.quality.expectation import Suite
from pipelines.quality.suites.bronze import BRONZE
from pipelines.quality.suites.gold import GOLD
from pipelines.quality.suites.silver import SILVER
from pipelines.tables.contract import Contract

SUITES: dict[str, Suite] = {suite.name: suite for suite in (*BRONZE, *SILVER, *GOLD)}
"""Suites by table name, in the order in which a build judges them. A table that a suite joins comes
before the suite's own table, or is read without being judged."""


def suites_of(tables: Sequence[Contract]) -> list[Suite]:
    """The suites of the tables, in the order of SUITES: a table that a suite joins comes before the
    suite's own table."""
    return [suite for suite in SUITES.values() if suite.contract in tables]
