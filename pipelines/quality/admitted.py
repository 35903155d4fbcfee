"""The rows of a layer that the gate admits, read without Spark by any process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import uuid4

import pyarrow as pa
from deltalake import DeltaTable

from pipelines.delta.small import columns_of, in_types, of_clusters
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_table
from pipelines.quality.suite_sql import quoted
from pipelines.quality.unbroken import opened_at
from pipelines.tables.contract import Contract


@dataclass(frozen=True)
class Admitted:
    """The rows that a gate admits. versions: those of the judged tables, by name. queries: SQL of
    the admitted rows, for tables of which rows are left out. token: distinguishes the rows of two
    gates even when lake and versions are equal, because a lake can be deleted and made again."""

    lake: Lake
    versions: Mapping[str, int]
    queries: Mapping[str, str] = field(default_factory=dict)
    token: str = field(default_factory=lambda: uuid4().hex, compare=False)

    def rows_of(self, contract: Contract, clusters: Iterable[str] | None = None) -> pa.Table:
        """A table's admitted rows in the contract's Arrow schema. clusters: their ids; by default
        all.

        Raises what delta-rs raises, which is a plain Exception where a data file is missing.
        """
        return self.rows_where(contract, "true" if clusters is None else of_clusters(clusters))

    def columns_where(self, contract: Contract, names: Sequence[str], where: str) -> pa.Table:
        """Columns of the admitted rows that fulfil a condition in SQL, in the contract's types.
        Raises as `rows_of`."""
        name = contract.name
        if name not in self.queries:
            table = _opened(self.token, self.lake.table_uri(name), self.versions[name])
            return columns_of(table, contract, names, where)
        columns = ", ".join(quoted(names))
        query = f"SELECT {columns} FROM ({self.queries[name]}) WHERE {where}"  # noqa: S608 - our own text
        found = opened_at(self.lake, self.versions).answer(query)
        return in_types(found, contract.arrow_columns(names))

    def rows_where(self, contract: Contract, where: str) -> pa.Table:
        """The admitted rows that fulfil a condition in SQL. Raises as `rows_of`."""
        return self.columns_where(contract, contract.column_names, where)


@lru_cache(maxsize=16)
def _opened(_token: str, uri: str, version: int) -> DeltaTable:
    """The table, opened once by each process: it reads the same tables for many clusters."""
    return open_table(uri, version)
