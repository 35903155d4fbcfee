"""A cluster's tables of bronze in the lake, read by any process a range of offsets at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cluster.cluster_tables import (
    BATCHES,
    CONTROL,
    RECORDS,
    SNAPSHOT_CONTROL,
    ClusterTables,
)
from pipelines.cluster.rows import Row
from pipelines.delta.few_rows import of_replica
from pipelines.dialects import DATA_FUSION, Sql
from pipelines.quality.judge import judge_layer
from pipelines.replay.columns import with_json
from pipelines.stages.pins import Pins
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from replica.metadata.passed_over import PassedOver
from replica.model.keys import ReplicaId

_CONTENT = ("timestamp", "is_control", "record_type", "record_version", "value")


@dataclass(frozen=True)
class StoredTables(ClusterTables):
    """The rows of one cluster in the lake's pinned tables, which are read as they are asked for."""

    cluster_id: str
    pins: Pins
    small: Mapping[Contract, pa.Table]
    """The rows of the cluster's small tables, which were judged before."""
    leaves_out: bool = False
    """Whether some batches or records are left out of what is derived."""

    @property
    def passed_over(self) -> PassedOver:
        return self.pins.passed_over

    def rows(self, contract: Contract) -> list[Row]:
        found: list[Row] = self.small[contract].to_pylist()
        return found

    def log_batches(self, low: int, high: int) -> pa.Table:
        if self.leaves_out:
            return self._admitted(low, high)[bronze.LOG_BATCHES].select(BATCHES)
        return self._read(bronze.LOG_BATCHES, BATCHES, _begins(low, high))

    def batches_holding(self, replica: ReplicaId, offset: int) -> pa.Table:
        where = f"{of_replica(replica)} AND base_offset <= {offset} AND last_offset >= {offset}"
        return self._read(bronze.LOG_BATCHES, BATCHES, where)

    def log_records(
        self, low: int, high: int, replicas: Collection[ReplicaId] | None = None
    ) -> pa.Table:
        if self.leaves_out:
            return with_json(self._admitted(low, high)[bronze.LOG_RECORDS].select(RECORDS))
        where = _begins(low, high)
        if replicas is not None:
            chosen = " OR ".join(f"({of_replica(one)})" for one in replicas) or "false"
            where = f"{where} AND ({chosen})"
        names = [name for name in RECORDS if name != "payload"]
        return self._records(bronze.LOG_RECORDS, names, where).select(RECORDS)

    def records_of_type(self, record_type: str, low: int) -> pa.Table:
        where = f'record_type = {DATA_FUSION.literal(record_type)} AND "offset" >= {low:d}'
        names = [name for name in RECORDS if name != "payload"]
        return self._records(bronze.LOG_RECORDS, names, where).select(RECORDS)

    def snapshot_records(self, content_sha256: str) -> pa.Table:
        where = f"content_sha256 = {DATA_FUSION.literal(content_sha256)}"
        rows = self._records(bronze.SNAPSHOT_RECORDS, ["index", *_CONTENT], where)
        names = ["offset" if name == "index" else name for name in rows.column_names]
        return rows.rename_columns(names)

    def control_records(self) -> pa.Table:
        return self._read(bronze.LOG_RECORDS, CONTROL, "is_control")

    def control_in_snapshots(self) -> pa.Table:
        return self._read(bronze.SNAPSHOT_RECORDS, SNAPSHOT_CONTROL, "is_control")

    def _read(self, contract: Contract, names: Sequence[str], where: Sql) -> pa.Table:
        mine = f"cluster_id = {DATA_FUSION.literal(self.cluster_id)} AND {where}"
        return self.pins.columns(contract, names, mine)

    def _records(self, contract: Contract, names: Sequence[str], where: Sql) -> pa.Table:
        """The records with `payload` as JSON. A payload is read only for a record without a
        `value`, because the payloads of most records are larger than all other columns together.
        For other records `payload` is NULL."""
        rows = self._read(contract, names, where)
        nothing = pa.nulls(rows.num_rows, pa.string())
        if not rows["value"].null_count:
            return rows.append_column("payload", nothing)
        bare = self._read(contract, [*names, "payload"], f"{where} AND value IS NULL")
        held = rows.filter(pc.is_valid(rows["value"]))
        nothing = pa.nulls(held.num_rows, pa.string())
        return pa.concat_tables([held.append_column("payload", nothing), with_json(bare)])

    def _admitted(self, low: int, high: int) -> dict[Contract, pa.Table]:
        """The batches and records of which the batch begins at an offset from low (inclusive) to
        high (exclusive), without the rows that the quality suites keep out of derived tables
        (judge_layer)."""
        where = _begins(low, high)
        rows = {
            one: self._read(one, one.column_names, where)
            for one in (bronze.LOG_BATCHES, bronze.LOG_RECORDS)
        }
        return {one: judged.admitted for one, judged in judge_layer(rows).items()}


def _begins(low: int, high: int) -> Sql:
    return f"base_offset >= {low} AND base_offset < {high}"
