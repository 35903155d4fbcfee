"""The versions of a lake's tables that a build, or another run, reads: the same in each task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import uuid4

import pyarrow as pa
from deltalake import DeltaTable

from pipelines.delta.few_rows import columns_of
from pipelines.dialects import DATA_FUSION
from pipelines.lake import Lake
from pipelines.lake.delta_rs import batches_of, open_table, queries
from pipelines.quality.suite_sql import table_name
from pipelines.tables.contract import Contract
from replica.metadata.passed_over import NOTHING, PassedOver


@dataclass(frozen=True)
class Pins:
    """Tables of a lake at fixed versions, by name. Methods raise what delta-rs raises, which is a
    plain Exception where a data file is missing."""

    lake: Lake
    versions: Mapping[str, int]
    passed_over: PassedOver = NOTHING
    """The types of records that a replay passes over."""
    token: str = field(default_factory=lambda: uuid4().hex, compare=False)
    """A text that distinguishes the reads of two runs even where lake and versions are equal,
    because a lake can be deleted and made again."""

    def table(self, name: str) -> DeltaTable:
        """The table, opened once by each process."""
        return _opened(self.token, self.lake.table_uri(name), self.versions[name])

    def columns(self, contract: Contract, names: Sequence[str], where: str) -> pa.Table:
        """Columns of the rows that fulfil a condition in DataFusion's SQL, in the contract's
        types. No rows where the table isn't pinned, because the lake lacks it yet."""
        if contract.name not in self.versions or not self.table(contract.name).file_uris():
            return contract.arrow_columns(names).empty_table()
        return columns_of(self.table(contract.name), contract, names, where)

    def rows(self, contract: Contract, clusters: Iterable[str]) -> pa.Table:
        """All columns of the rows of some clusters."""
        return self.columns(contract, contract.column_names, DATA_FUSION.of_clusters(clusters))

    def answer(self, names: Iterable[str], query: str) -> Iterator[pa.RecordBatch]:
        """The answer to a query in DataFusion's SQL, batch by batch. names: the tables that the
        query may name, as suite_sql.table_name writes them."""
        asked = queries({table_name(name): self.table(name) for name in names})
        yield from batches_of(asked.execute(query))


@lru_cache(maxsize=64)
def _opened(_token: str, uri: str, version: int) -> DeltaTable:
    return open_table(uri, version)
