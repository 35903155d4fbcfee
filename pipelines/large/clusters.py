"""The tables of a lake whose clusters aren't small, for the functions that make the tables of one
cluster: bronze without the records, and the results of Spark's workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.delta.small import columns_of, dataframe_of, table_at
from pipelines.in_memory.batches import COLUMNS, Batches
from pipelines.in_memory.bronze_rows import BronzeRows
from pipelines.in_memory.derived import Silver
from pipelines.in_memory.health import Health, health_of
from pipelines.in_memory.quorum.log_growth import ENVELOPE_BYTES, LENGTHS
from pipelines.in_memory.rows import Row, of_cluster
from pipelines.lake import Lake
from pipelines.tables import bronze
from pipelines.tables.bronze import BATCH_KEYS
from pipelines.tables.contract import Contract

_SMALL = (bronze.CAPTURES, bronze.SNAPSHOTS, bronze.REPLICA_STATE, bronze.FINDINGS)
_OF_CONTROL = ("is_control", "record_type", "timestamp", "value")
_CONTROL = {
    bronze.LOG_RECORDS: (*bronze.LOG_RECORDS.keys, *_OF_CONTROL),
    bronze.SNAPSHOT_RECORDS: (*bronze.SNAPSHOT_RECORDS.keys, *_OF_CONTROL),
}
"""The columns that are read of control records."""


@dataclass
class LargeRecords:
    """The results of Spark's workers for the records of one cluster. judged: rows of JUDGEMENT,
    which come last."""

    lengths: pa.Table
    compared: Sequence[Row]
    ranges: Sequence[Row]
    judged: list[Row] = field(default_factory=list)

    def health(self, looks: Iterable[Row]) -> Health:
        return health_of(self.judged)


@dataclass(frozen=True)
class Bronze:
    """The tables of bronze. admitted: the rows from which tables may be derived. whole: the
    versions of those tables of which all rows are admitted."""

    lake: Lake
    admitted: Mapping[Contract, DataFrame]
    whole: Mapping[Contract, int]

    def clusters(self) -> list[Silver]:
        """Each cluster with the rows that this process reads: all except records that are no
        control records."""
        captures, snapshots, state, found = map(self._rows, _SMALL)
        in_log, in_snapshots = map(self._control, _CONTROL)
        batches = self._read(bronze.LOG_BATCHES, COLUMNS)
        ids = {*captures, *snapshots, *state, *found}
        for table in (in_log, in_snapshots, batches):
            ids |= {*table["cluster_id"].unique().to_pylist()}
        return [
            Silver(
                cluster_id,
                BronzeRows(
                    captures[cluster_id],
                    Batches.of(of_cluster(batches, cluster_id)),
                    of_cluster(in_log, cluster_id),
                    snapshots[cluster_id],
                    of_cluster(in_snapshots, cluster_id),
                    state[cluster_id],
                    found[cluster_id],
                ),
            )
            for cluster_id in sorted(ids)
        ]

    def _rows(self, contract: Contract) -> defaultdict[str, list[Row]]:
        return by_cluster(self._read(contract, contract.column_names).to_pylist())

    def _read(self, contract: Contract, names: Sequence[str]) -> pa.Table:
        if contract in self.whole:
            return columns_of(table_at(self.lake, contract, self.whole[contract]), contract, names)
        return _typed(contract, self.admitted[contract].select(*names))

    def _control(self, contract: Contract) -> pa.Table:
        rows = self.admitted[contract].where("is_control")
        return _typed(contract, rows.select(*_CONTROL[contract]))


def _typed(contract: Contract, rows: DataFrame) -> pa.Table:
    found = rows.toArrow()
    return found.cast(contract.arrow_columns(rows.columns))


def by_cluster(rows: Iterable[Row]) -> defaultdict[str, list[Row]]:
    """The rows by cluster_id, a column that each of them has."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["cluster_id"]].append(row)
    return found


def lengths_by_cluster(lengths: DataFrame) -> dict[str, pa.Table]:
    """The rows of LENGTHS, by cluster_id. lengths: the rows of record_lengths."""
    found = lengths.select("cluster_id", *LENGTHS.names).toArrow()
    return {
        cluster_id: of_cluster(found, cluster_id).select(LENGTHS.names).cast(LENGTHS)
        for cluster_id in found["cluster_id"].unique().to_pylist()
    }


def rows_by_cluster(rows: DataFrame) -> defaultdict[str, list[Row]]:
    """The rows by cluster_id. rows: few rows, which have that column."""
    return by_cluster(rows.toArrow().to_pylist())


_KINDS = ("hour", "record_type")


def record_lengths(log_records: DataFrame, holders: pa.Table) -> DataFrame:
    """The lengths of records, with the columns cluster_id and those of LENGTHS. holders: for each
    range of base offsets the replica whose copy is counted: cluster_id, node_id, directory_id, from
    (inclusive) and to (inclusive)."""
    spans = F.broadcast(dataframe_of(log_records.sparkSession, holders))
    replica = ["cluster_id", "node_id", "directory_id"]
    records = log_records.select(
        *BATCH_KEYS,
        F.date_trunc("hour", "timestamp").alias("hour"),
        "record_type",
        (F.coalesce(F.octet_length("value"), F.lit(0)) + ENVELOPE_BYTES).alias("length"),
    )
    held = records.join(spans, on=replica, how="inner")
    held = held.where(F.col("base_offset").between(F.col("from"), F.col("to")))
    return held.groupBy(*BATCH_KEYS, *_KINDS).agg(
        F.count("length").alias("records"), F.sum("length").cast("bigint").alias("length")
    )
