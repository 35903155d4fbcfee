"""The SQL that gives a lake's tables and views their names in a catalog. Pure text.

The tables are external: the catalog knows where they lie, and columns, comments and properties are
read from their Delta logs each time, so names stay right whatever `ingest` and `build` write.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.tables.contract import Contract

LAYERS = {
    "bronze": "Kafka metadata logs as they were captured, a row for what was on disk.",
    "silver": "What the replicas of a cluster agree on, derived from bronze.",
    "gold": "Answers: epochs, divergences, losses, metadata over time, findings.",
}
"""Database, before a prefix -> its comment."""
OWNER = "kraftlake.lake"
"""The property that says of a database or view which lake registered it."""


@dataclass(frozen=True)
class NamedQuery:
    """A view to be. name: with its database. columns: (name, meaning). query: over full names."""

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
    """A name for a table that lies there; nothing is written there."""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} USING DELTA "
        f"LOCATION {literal(location)} COMMENT {literal(contract.description)}"
    )


def create_view(view: NamedQuery, root: str) -> str:
    """A view with its columns' meaning, in the place of an earlier one."""
    columns = ", ".join(f"{name} COMMENT {literal(meaning)}" for name, meaning in view.columns)
    return (
        f"CREATE OR REPLACE VIEW {view.name} ({columns}) COMMENT {literal(view.description)} "
        f"TBLPROPERTIES ({literal(OWNER)} = {literal(root)}) AS {view.query}"
    )


def literal(text: str) -> str:
    """A text as Spark SQL writes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
