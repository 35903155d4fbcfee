"""The SQL, as text, that gives a lake's tables and views their names in a catalog.

The tables are external: the catalog has their places, and Spark reads columns, comments and
properties from their Delta logs each time. So a name stays right after `ingest` and `build`.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.dialects import SPARK, Sql
from pipelines.tables.contract import Contract

LAYERS = {
    "bronze": "Kafka metadata logs as they were captured, a row for what was on disk.",
    "silver": "What the replicas of a cluster agree on, derived from bronze.",
    "gold": "Answers: epochs, divergences, losses, metadata over time, findings.",
    "own": "Tables that users of the lake have added to it.",
}
"""The comment of each database, by the database's name without prefix."""
OWNER = "kraftlake.lake"
"""The property of a database or view that names the lake for which it was registered."""


@dataclass(frozen=True)
class NamedQuery:
    """A view that is to be made."""

    name: str
    """The view's name, as `database.view`."""
    description: str
    columns: tuple[tuple[Sql, str], ...]
    """(name, meaning) of each column."""
    query: Sql
    """The view's SQL, in which tables have their full names."""


def create_database(name: Sql, layer: str, root: str, location: str) -> Sql:
    """A statement that creates a database. location: a folder outside of every lake, because
    dropping the database deletes the folder."""
    return (
        f"CREATE DATABASE IF NOT EXISTS {name} COMMENT {SPARK.literal(LAYERS[layer])} "
        f"LOCATION {SPARK.literal(location)} "
        f"WITH DBPROPERTIES ({SPARK.literal(OWNER)} = {SPARK.literal(root)})"
    )


def create_table(name: Sql, contract: Contract, location: str) -> Sql:
    """A statement that names the table at `location`. It writes nothing there."""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} USING DELTA "
        f"LOCATION {SPARK.literal(location)} COMMENT {SPARK.literal(contract.description)}"
    )


def create_view(view: NamedQuery, root: str) -> Sql:
    """A statement that makes a view with the meaning of its columns, or makes it anew."""
    columns = ", ".join(
        f"{name} COMMENT {SPARK.literal(meaning)}" for name, meaning in view.columns
    )
    return (
        f"CREATE OR REPLACE VIEW {view.name} ({columns}) COMMENT {SPARK.literal(view.description)} "
        f"TBLPROPERTIES ({SPARK.literal(OWNER)} = {SPARK.literal(root)}) AS {view.query}"
    )
