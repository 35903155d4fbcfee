"""Bronze to silver to gold with Spark, for lakes with a cluster that isn't small. Every derived
table is computed anew, each in one Delta commit.

Spark's tasks do the work that takes records one by one: the replay of the agreed branch
(pipelines.large.replay), and the lengths of records. This process computes all else with
pipelines.nodes, one cluster at a time. The gate of pipelines.quality judges the tables between the
layers and after the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pipelines import delta
from pipelines.clusters.computing import table_of
from pipelines.delta.contents import ClusterRows, joined, put, put_all
from pipelines.delta.writing import replace_values
from pipelines.in_memory.aggregates import grouped
from pipelines.in_memory.branch import branch_batches, holders_of
from pipelines.in_memory.committed import AgreedBranch
from pipelines.in_memory.derived import Gold, Records, Silver
from pipelines.in_memory.membership import findings_of_rounds, with_neighbours
from pipelines.in_memory.quorum.log_growth import LENGTHS
from pipelines.in_memory.rows import of_cluster
from pipelines.large.clusters import clusters_of, record_lengths
from pipelines.large.health import health
from pipelines.large.log import ClusterLog
from pipelines.large.replay import ReplayFiles, replayed
from pipelines.last_build import Building
from pipelines.nodes import GOLD_NODES, SILVER_NODES, Content
from pipelines.quality.gate import Gate
from pipelines.spark.session import settings
from pipelines.tables import bronze, gold, silver
from pipelines.tables.contract import Contract
from pipelines.tasks import OnSpark
from replica.errors import UsageError

_ROWS_OF_A_FILE = 1_000_000
_CLUSTER_ID = itemgetter("cluster_id")


def build(
    spark: SparkSession,
    lake: delta.Lake,
    progress: Callable[[str], None],
    run_id: str | None = None,
    share: Callable[[float], None] = lambda _: None,
) -> dict[str, int]:
    """Compute all silver and gold tables of the lake. Returns their row counts by table name.

    The same bronze gives the same rows. progress: is called with a line of text before each table,
    and for each expectation that a table breaks. run_id: the run_id of the rows in
    gold.quality_results. share: is called with the part of the build that is done, from 0 to 1.
    Raises UsageError where the lake has no bronze tables, and CorruptDataError where a table's rows
    don't allow to derive anything.
    """
    if not delta.exists(lake, bronze.CAPTURES):
        raise UsageError(
            f"{lake.root} has no bronze tables: run "
            f"`{lake.command('ingest', 'PATH...')}` first, or name another lake"
        )
    with Gate(spark, lake, progress, run_id) as gate:
        steps = len(silver.SILVER) + len(gold.GOLD) + 3
        building = _Building(lake, progress, share, steps, spark, gate)
        building.run()
        building.note(gate.results)
        return building.counts


_OF_SMALL_TABLES = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "1",
}
"""Spark's settings where all tables of bronze are in one partition each: then computing from them
needs no shuffle, and one Spark job for each table. A broadcast, or adaptive execution, takes one
job more each time."""


@dataclass
class _Building(Building):
    """A build with Spark."""

    spark: SparkSession
    gate: Gate

    def run(self) -> None:
        self.progress("quality of bronze")
        admitted = self.gate.admit(bronze.BRONZE)
        self.done()
        with settings(self.spark, _OF_SMALL_TABLES if self.gate.read_small_only else {}):
            self._derive(admitted)

    def _derive(self, tables: Mapping[Contract, DataFrame]) -> None:
        """Computes silver and gold. tables: the rows of bronze from which they may be derived."""
        clusters = clusters_of(self.gate.admitted, tables)
        self._silver(clusters)
        self.progress("quality of silver")
        agreed = self.gate.admit(silver.SILVER)[silver.COMMITTED_LOG]
        self.done()
        branches = self._admitted(clusters, agreed)
        told = self._metadata(clusters, branches)
        records = self._records(tables[bronze.LOG_RECORDS], clusters, branches, told)
        derived = [*map(Gold, clusters, branches, records)]
        self._judge_health(derived)
        self._gold(derived)
        self.progress("quality of gold")
        self.gate.admit(gold.GOLD)
        self.done()

    def _silver(self, clusters: Sequence[Silver]) -> None:
        for contract, made in SILVER_NODES.items():
            self._put(contract, ((one.cluster_id, made(one)) for one in clusters))
        with self.writing(silver.COMMITTED_LOG):
            pieces = (
                ClusterRows((one.cluster_id,), table_of(silver.COMMITTED_LOG, table))
                for one in clusters
                for table in one.committed.tables()
            )
            files = (some.read() for some in joined(pieces, _ROWS_OF_A_FILE))
            replace_values(self.lake, silver.COMMITTED_LOG, files)

    def _admitted(self, clusters: Sequence[Silver], agreed: DataFrame) -> list[AgreedBranch]:
        """The agreed branches from which gold may be derived. agreed: the rows of
        silver.committed_log that the gate admits."""
        if silver.COMMITTED_LOG in self.gate.whole:
            return [one.committed for one in clusters]
        rows = agreed.orderBy("cluster_id", "offset").toArrow()
        return [
            AgreedBranch.of_table(one.cluster_id, of_cluster(rows, one.cluster_id))
            for one in clusters
        ]

    def _metadata(
        self, clusters: Sequence[Silver], branches: Sequence[AgreedBranch]
    ) -> ReplayFiles:
        """Writes the tables that have a row for each record."""
        admitted = self.gate.admitted
        logs = {
            one.cluster_id: ClusterLog.of(admitted, one, branch)
            for one, branch in zip(clusters, branches, strict=True)
        }
        delta.ensure_table(self.lake, gold.METADATA_CHANGES)
        with self.writing(gold.METADATA_HISTORY):
            told = replayed(OnSpark(self.spark), self.lake, logs)
            delta.commit(self.lake, gold.METADATA_HISTORY, told.history, "overwrite")
        with self.writing(gold.METADATA_CHANGES):
            delta.replace_by_files(self.spark, self.lake, gold.METADATA_CHANGES, told.changes)
        return told

    def _records(
        self,
        log_records: DataFrame,
        clusters: Sequence[Silver],
        branches: Sequence[AgreedBranch],
        told: ReplayFiles,
    ) -> list[Records]:
        if not clusters:
            return []
        compared, ranges = (grouped(of, _CLUSTER_ID) for of in (told.compared, told.ranges))
        holders = [
            holders_of(branch_batches(branch, one.bronze.batches))
            for one, branch in zip(clusters, branches, strict=True)
        ]
        lengths = record_lengths(log_records, pa.concat_tables(holders)).toArrow()
        return [
            Records(
                of_cluster(lengths, one.cluster_id).select(LENGTHS.names).cast(LENGTHS),
                compared.get(one.cluster_id, []),
                ranges.get(one.cluster_id, []),
            )
            for one in clusters
        ]

    def _judge_health(self, derived: Sequence[Gold]) -> None:
        """Judges the states that gold.metadata_history, which is written already, has at the ends
        of the looks."""
        looks = [look for one in derived for look in one.looks]
        history = delta.read(self.spark, self.lake, gold.METADATA_HISTORY)
        rows = health(history, looks).toArrow().to_pylist() if looks else []
        judged = grouped(rows, _CLUSTER_ID)
        for one in derived:
            one.records.health = judged.get(one.silver.cluster_id, [])

    def _gold(self, derived: Sequence[Gold]) -> None:
        for contract, made in GOLD_NODES.items():
            if contract is not gold.FINDINGS:
                self._put(contract, ((one.silver.cluster_id, made(one)) for one in derived))
        with self.writing(gold.FINDINGS):
            found = [GOLD_NODES[gold.FINDINGS](one) for one in derived]
            clusters = [one.silver for one in derived]
            captures = (row for one in clusters for row in one.bronze.captures)
            found.append(findings_of_rounds(clusters, with_neighbours(captures)))
            tables = [table_of(gold.FINDINGS, rows) for rows in found]
            put_all(self.lake, gold.FINDINGS, pa.concat_tables(tables))

    def _put(self, contract: Contract, of_clusters: Iterator[tuple[str, Content]]) -> None:
        """Replaces the content of the table. of_clusters: for each cluster its id and all of its
        rows."""
        with self.writing(contract):
            pieces = [
                ClusterRows((one,), table_of(contract, content)) for one, content in of_clusters
            ]
            put(self.lake, contract, pieces)
