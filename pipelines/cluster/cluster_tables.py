"""The admitted rows of one cluster in bronze's tables: held by this process, or read from the lake
a range of offsets at a time. The functions that derive tables don't know which."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cluster.batches import COLUMNS as BATCH_COLUMNS
from pipelines.cluster.rows import Row
from pipelines.replay.columns import with_json
from pipelines.silver.log_runs import COLUMNS as RUN_COLUMNS
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.keys import BATCH_KEYS, SNAPSHOT_KEYS
from replica.metadata.passed_over import NOTHING, PassedOver
from replica.model.keys import ReplicaId

BATCHES = tuple(dict.fromkeys((*BATCH_COLUMNS, *RUN_COLUMNS, "position", "file")))
"""The columns of bronze.log_batches that are read."""
_CONTENT = ("timestamp", "is_control", "record_type", "record_version", "payload", "value")
RECORDS = (*BATCH_KEYS, "offset", *_CONTENT)
"""The columns of log_records: `payload` is JSON, and NULL where `value` has the record."""
CONTROL = (*BATCH_KEYS, "offset", "timestamp", "is_control", "record_type", "value")
SNAPSHOT_CONTROL = (*SNAPSHOT_KEYS, "index", "timestamp", "is_control", "record_type", "value")


class ClusterTables(ABC):
    """The admitted rows of one cluster. Methods raise what delta-rs raises."""

    cluster_id: str

    @property
    def passed_over(self) -> PassedOver:
        """The types of records that the replay passes over."""
        return NOTHING

    @abstractmethod
    def rows(self, contract: Contract) -> list[Row]:
        """All rows of the cluster in a small table."""

    @abstractmethod
    def log_batches(self, low: int, high: int) -> pa.Table:
        """The batches that begin at offsets from low (inclusive) to high (exclusive), with the
        columns BATCHES."""

    def batches_at(self, replica: ReplicaId, epoch: int, offset: int) -> pa.Table:
        """The batches of this epoch in which a replica holds an offset, with the columns
        BATCHES."""
        return self.batches_holding(replica, offset).filter(pc.field("leader_epoch") == epoch)

    @abstractmethod
    def batches_holding(self, replica: ReplicaId, offset: int) -> pa.Table:
        """The batches in which a replica holds an offset, with the columns BATCHES."""

    @abstractmethod
    def log_records(
        self, low: int, high: int, replicas: Collection[ReplicaId] | None = None
    ) -> pa.Table:
        """The records of the batches that begin at offsets from low (inclusive) to high
        (exclusive), with the columns RECORDS. replicas: the replicas whose records are wanted; None
        for all."""

    @abstractmethod
    def records_of_type(self, record_type: str, low: int) -> pa.Table:
        """The records of a type, of which there are few, from an offset on (inclusive) in the
        batches of all replicas, with the columns RECORDS."""

    @abstractmethod
    def snapshot_records(self, content_sha256: str) -> pa.Table:
        """The records of the snapshot with this content (SHA-256 in hex digits), from whichever
        replica has it. They have the columns _CONTENT, and their index in the snapshot as
        `offset`."""

    @abstractmethod
    def control_records(self) -> pa.Table:
        """The control records of the logs, with the columns CONTROL."""

    @abstractmethod
    def control_in_snapshots(self) -> pa.Table:
        """The control records of the snapshots, with the columns SNAPSHOT_CONTROL."""


@dataclass(frozen=True)
class HeldTables(ClusterTables):
    """The rows of one cluster, all of which this process holds."""

    cluster_id: str
    tables: Mapping[Contract, pa.Table]
    """The cluster's rows in the tables bronze.DERIVED_FROM, by the table's contract."""
    types_passed_over: PassedOver = NOTHING

    @property
    def passed_over(self) -> PassedOver:
        return self.types_passed_over

    def rows(self, contract: Contract) -> list[Row]:
        found: list[Row] = self.tables[contract].to_pylist()
        return found

    def log_batches(self, low: int, high: int) -> pa.Table:
        rows = self.tables[bronze.LOG_BATCHES].select(BATCHES)
        return _between(rows, "base_offset", low, high)

    def batches_holding(self, replica: ReplicaId, offset: int) -> pa.Table:
        rows = _of_replicas(self.tables[bronze.LOG_BATCHES].select(BATCHES), [replica])
        return rows.filter(
            (pc.field("base_offset") <= offset) & (pc.field("last_offset") >= offset)
        )

    def log_records(
        self, low: int, high: int, replicas: Collection[ReplicaId] | None = None
    ) -> pa.Table:
        rows = _between(self._records, "base_offset", low, high)
        return rows if replicas is None else _of_replicas(rows, replicas)

    def records_of_type(self, record_type: str, low: int) -> pa.Table:
        return self._records.filter(
            (pc.field("record_type") == record_type) & (pc.field("offset") >= low)
        )

    def snapshot_records(self, content_sha256: str) -> pa.Table:
        rows = self.tables[bronze.SNAPSHOT_RECORDS]
        rows = rows.filter(pc.equal(rows["content_sha256"], content_sha256))
        return with_json(rows.select(["index", *_CONTENT])).rename_columns(["offset", *_CONTENT])

    def control_records(self) -> pa.Table:
        rows = self.tables[bronze.LOG_RECORDS].select(CONTROL)
        return rows.filter(rows["is_control"])

    def control_in_snapshots(self) -> pa.Table:
        rows = self.tables[bronze.SNAPSHOT_RECORDS].select(SNAPSHOT_CONTROL)
        return rows.filter(rows["is_control"])

    @cached_property
    def _records(self) -> pa.Table:
        return with_json(self.tables[bronze.LOG_RECORDS].select(RECORDS))


def _between(rows: pa.Table, name: str, low: int, high: int) -> pa.Table:
    bounds = pc.min_max(rows[name]).as_py()
    if bounds["min"] is None or (low <= bounds["min"] and bounds["max"] < high):
        return rows
    return rows.filter((pc.field(name) >= low) & (pc.field(name) < high))


def _of_replicas(rows: pa.Table, replicas: Collection[ReplicaId]) -> pa.Table:
    chosen: Any = pc.scalar(False)
    for one in replicas:
        is_it = (pc.field("node_id") == one.node_id) & (
            pc.field("directory_id") == one.directory_id
        )
        chosen = chosen | is_it
    return rows.filter(chosen)
