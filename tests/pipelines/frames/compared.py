"""A lake compared with the frames of the same directories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

import kraftlake
from pipelines.frames.tables import OF_CAPTURES
from pipelines.lake import Lake
from pipelines.tables import gold, silver
from pipelines.tables.contract import Contract
from pipelines.tables.keys import REPLICA_KEYS

TABLES = (
    silver.LEADER_EPOCHS,
    gold.LEADER_EPOCH_HISTORY,
    gold.DIVERGENCE_POINTS,
    gold.SNAPSHOT_VALIDITY,
)


@dataclass(frozen=True)
class Sources:
    """The DataFrames of the three sources, of all directories below a path."""

    logs: DataFrame
    snapshots: DataFrame
    replicas: DataFrame

    @staticmethod
    def of(spark: SparkSession, path: Path) -> Sources:
        kraftlake.register(spark)
        names = ("kraft_log", "kraft_snapshot", "kraft_replica")
        return Sources(*(spark.read.format(name).load(str(path)) for name in names))

    def table(self, contract: Contract, replicas: DataFrame | None) -> DataFrame:
        made: dict[str, Callable[[], DataFrame]] = {
            silver.LEADER_EPOCHS.name: lambda: kraftlake.leader_epochs(self.logs, replicas),
            gold.LEADER_EPOCH_HISTORY.name: lambda: kraftlake.leader_epoch_history(
                self.logs, replicas
            ),
            gold.DIVERGENCE_POINTS.name: lambda: kraftlake.divergence_points(self.logs, replicas),
            gold.SNAPSHOT_VALIDITY.name: lambda: kraftlake.snapshot_validity(
                self.snapshots, self.logs, replicas
            ),
        }
        return made[contract.name]()


def built_lake_of(path: Path, lake: Path) -> Path:
    """A lake of all directories below a path, in one round."""
    from jobs.build import run as build
    from jobs.cli.commands.lake import BuildOptions, IngestOptions
    from jobs.ingest import run as ingest

    ingest(IngestOptions([str(path)], Lake(lake)))  # its exit code says that it found damage
    assert build(BuildOptions(Lake(lake))) == 0
    return lake


def in_lake(spark: SparkSession, lake: Path, contract: Contract) -> DataFrame:
    """The table's rows, without the columns that only a lake has."""
    table = spark.read.format("delta").load(Lake(lake).path_of(contract))
    return table.drop(*OF_CAPTURES)


def assert_same(spark: SparkSession, path: Path, lake: Path) -> dict[str, int]:
    """Compares all tables, made with the frame of kraft_replica and without it. Gives the number of
    rows of each."""
    sources = Sources.of(spark, path)
    in_logs, in_snapshots = (one.select(*REPLICA_KEYS) for one in (sources.logs, sources.snapshots))
    with_records = in_logs.distinct().cache()
    with_any = in_logs.union(in_snapshots).distinct().cache()
    counts = {}
    for contract in TABLES:
        expected = in_lake(spark, lake, contract)
        counts[contract.table_name] = expected.count()
        assertDataFrameEqual(sources.table(contract, sources.replicas), expected)
        is_of_both = contract is gold.SNAPSHOT_VALIDITY
        seen = _of_replicas(expected, with_any if is_of_both else with_records)
        assertDataFrameEqual(sources.table(contract, None), seen)
    return counts


_NAMES = (("node_id", "directory_id"), ("node_a", "directory_a"), ("node_b", "directory_b"))


def _of_replicas(rows: DataFrame, replicas: DataFrame) -> DataFrame:
    """The rows about these replicas: the logs alone have no rows about replicas
    without a record."""
    found = rows
    for names in _NAMES:
        if names[0] in rows.columns:
            these = replicas.toDF("cluster_id", *names)
            found = found.join(these, ["cluster_id", *names], "left_semi")
    return found.select(*rows.columns)
