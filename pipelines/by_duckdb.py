"""DuckDB, which reads tables of a lake and nothing else: no files, no networks.

delta-rs says which rows a table has, and DuckDB reads them as Arrow. A VARIANT, such as payload, is
a column of type JSON here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import duckdb
import pyarrow as pa
from duckdb.func import ARROW
from pyarrow.dataset import Dataset

from pipelines.dialects import DUCK_DB, Sql
from pipelines.lake import SCHEMAS
from replica.scan.variant_texts import is_variant, variant_texts

Database: TypeAlias = duckdb.DuckDBPyConnection

_VARIANT = "STRUCT(metadata BLOB, value BLOB)"


def database_of(tables: Mapping[str, Dataset], memory: int, scratch: str = "") -> Database:
    """A database in memory, of views of these tables, by names such as gold.findings. memory:
    DuckDB's memory limit, in bytes. scratch: a folder for the data of a query beyond that limit;
    without a folder such a query fails. Raises duckdb.Error."""
    database = duckdb.connect(
        config={
            # This setting comes first, so that no SQL of this connection reaches files or networks.
            "enable_external_access": False,
            "temp_directory": scratch,  # by default .tmp in the user's current folder
            "memory_limit": f"{memory}B",
        }
    )
    database.execute("SET TimeZone = 'UTC'")
    database.execute("SET python_enable_replacements = false")
    database.create_function("variant_json", variant_texts, [_VARIANT], "VARCHAR", type=ARROW)
    for schema in SCHEMAS:
        database.execute(f"CREATE SCHEMA {schema}")
    for number, (table, rows) in enumerate(tables.items()):
        database.register(f"lake_{number}", rows)
        database.execute(
            f"CREATE VIEW {DUCK_DB.table(table)} AS "
            f"SELECT {_columns(rows.schema)} FROM lake_{number:d}"
        )
    return database


def lock(database: Database) -> None:
    """Locks the database's settings, so that no later statement can change them."""
    database.execute("SET lock_configuration = true")


def _columns(schema: pa.Schema) -> Sql:
    variants = [DUCK_DB.identifier(field.name) for field in schema if is_variant(field.type)]
    shown = ", ".join(f"CAST(variant_json({name}) AS JSON) AS {name}" for name in variants)
    return f"* REPLACE ({shown})" if shown else "*"
