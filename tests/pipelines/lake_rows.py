"""Rows of a lake's tables by delta-rs, as `kraftlake sql` reads them, so that tests check a table's
content without a JVM. tests/pipelines/test_readers.py shows that Spark reads the same rows."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jobs.cli.asking.sql_delta_rs import named_rows
from pipelines.lake import Lake
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD
from pipelines.tables.silver import SILVER
from tests.bench import same_tables


def rows(lake: Path, query: str) -> list[Any]:
    """The rows of a query, each with an attribute for every column. A struct is a dictionary, and a
    VARIANT is its content."""
    return [SimpleNamespace(**row) for row in named_rows(Lake(lake), query)]


def rows_of(lake: Path, contract: Contract, where: str = "true") -> list[Any]:
    """A table's rows in the order of its keys."""
    order = ", ".join(f'"{key}" NULLS FIRST' for key in contract.keys)
    return rows(lake, f"SELECT * FROM {contract.name} WHERE {where} ORDER BY {order}")


def assert_same(one: Path, other: Path) -> None:
    """Asserts that both lakes have the same rows in each table of silver and gold."""
    for contract in (*SILVER, *GOLD):
        found, wanted = (same_tables.rows(str(lake), contract.name) for lake in (one, other))
        assert found == wanted, contract.name


def names_of_captures(lake: Path) -> dict[str, str]:
    """The name of each recorded capture (live, split or final), by its capture_group."""
    found = {}
    for row in rows_of(lake, bronze.CAPTURES):
        name = re.search("/(live|split|final)/", row.source)
        assert name is not None, row.source
        found[row.capture_group] = name[1]
    return found
