"""The rows of a table whose definition is SQL, by DuckDB: the same rows in any process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyarrow.dataset import Dataset

from pipelines.own_tables.errors import OwnTableError
from replica.installation import line_that_adds

_MEMORY = 1 << 30
"""The bytes that a query may take in memory; it writes the rest to TMPDIR."""


@dataclass(frozen=True)
class SqlRows:
    """The answer to a query."""

    query: str
    """One SELECT of a user."""

    def of(self, tables: Mapping[str, Dataset]) -> pa.Table:
        """The rows. Raises OwnTableError where the query is not one SELECT or fails, and where this
        machine has no DuckDB."""
        try:
            import duckdb

            from pipelines.by_duckdb import database_of, lock
        except ImportError as error:
            raise OwnTableError(
                f"duckdb is not installed, which answers it: {line_that_adds('duckdb')}"
            ) from error
        with TemporaryDirectory(prefix="kraftlake-own-") as scratch:
            try:
                database = database_of(tables, _MEMORY, scratch)
                lock(database)
                statements = database.extract_statements(self.query)
                if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
                    raise OwnTableError("it is not one SELECT")
                return database.sql(self.query).to_arrow_table()
            except duckdb.Error as error:
                raise OwnTableError(" ".join(str(error).split())) from error
