"""The SQL, as text, that gives a lake's tables and views their names in a catalog.

The tables are external: the catalog has their places, and Spark reads columns, comments and
properties from their Delta logs each time. So a name stays right after `ingest` and `build`.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.tables.contract import Contract

LAYERS = {
    "bronze": "Kafka metadata logs as they were captured, a row for what was on disk.",
    "silver": "What the replicas of a cluster agree on, derived from bronze.",
    "gold": "Answers: epochs, divergences, losses, metadata over time, findings.",
}
"""The comment of each database, by the database's name without prefix."""
OWNER = "kraftlake.lake"
"""The property of a database or view that names the lake for which it was registered."""


@dataclass(frozen=True)
class NamedQuery:
    """A view that is to be made. name: `database.view`. columns: (name, meaning). query: SQL, in
    which tables have their full names."""

    name: str
    description: str
    columns: tuple[tuple[str, str], ...]
    query: str


def create_database(name: str, layer: str, root: str, location: str) -> str:
    """A statement that creates a database. location: a folder outside of every lake, because
    dropping the database deletes the folder."""
    return (
        f"CREATE DATABASE IF NOT EXISTS {name} COMMENT {literal(LAYERS[layer])} "
        f"LOCATION {literal(location)} WITH DBPROPERTIES ({literal(OWNER)} = {literal(root)})"
    )


def create_table(name: str, contract: Contract, location: str) -> str:
    """A statement that names the table at `location`. It writes nothing there."""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} USING DELTA "
        f"LOCATION {literal(location)} COMMENT {literal(contract.description)}"
    )


def create_view(view: NamedQuery, root: str) -> str:
    """A statement that makes a view with the meaning of its columns, or makes it anew."""
    columns = ", ".join(f"{name} COMMENT {literal(meaning)}" for name, meaning in view.columns)
    return (
        f"CREATE OR REPLACE VIEW {view.name} ({columns}) COMMENT {literal(view.description)} "
        f"TBLPROPERTIES ({literal(OWNER)} = {literal(root)}) AS {view.query}"
    )


def literal(text: str) -> str:
    """A text as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
