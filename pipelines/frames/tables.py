"""The functions on DataFrames. Each makes the rows of the lake's table of the same name, by the
same code, from directories that were read together.

logs: a frame of the source kraft_log, with content=records. snapshots: a frame of kraft_snapshot.
replicas: a frame of kraft_replica; without it the tasks read the small files of the directories in
which the logs lie. A replica whose log holds no record has no row there, so it is left out.

Nothing is computed before an action. An action runs in Spark's executors, one task for each
cluster. The frames lack the columns that say which capture a row is of: capture_id, capture_a,
capture_b, capture_group, is_latest and round_name. Only an ingest, which sees several captures,
gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkValueError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # pyspark's own idiom
from pyspark.sql.types import StructField, StructType

from pipelines.frames.cluster import LOG, REPLICA, ROWS, SNAPSHOT, cluster_of
from pipelines.gold import divergence_points as divergence
from pipelines.gold import leader_epoch_history as history
from pipelines.gold import snapshot_validity as validity
from pipelines.gold.inputs import Silver
from pipelines.gold.known_epochs import known_epochs
from pipelines.replay.reading import BranchReader, replayed_whole
from pipelines.silver import leader_epochs as epochs
from pipelines.sources.failures import one_line
from pipelines.sources.kraft_log import OWNER_COLUMNS
from pipelines.tables import gold, silver
from pipelines.tables.contract import Contract

Row = dict[str, Any]
OF_CAPTURES = frozenset(
    {"capture_id", "capture_a", "capture_b", "capture_group", "is_latest", "round_name"}
)
"""The columns of the lake's tables that the frames leave out."""

_Made: TypeAlias = Callable[[Silver], Iterable[Mapping[str, Any]]]


def leader_epochs(logs: DataFrame, replicas: DataFrame | None = None) -> DataFrame:
    """The leader epochs that each replica knows: the columns of silver.leader_epochs without
    capture_id."""
    rows = [_of_logs(_heads(logs)), *_of_replicas(replicas)]
    return _clusters(
        silver.LEADER_EPOCHS, rows, lambda of: epochs.leader_epochs(of.bronze, of.held)
    )


def leader_epoch_history(logs: DataFrame, replicas: DataFrame | None = None) -> DataFrame:
    """The leader of each epoch, and since when: the columns of gold.leader_epoch_history."""
    rows = [_of_logs(_heads(logs)), *_of_replicas(replicas)]
    return _clusters(gold.LEADER_EPOCH_HISTORY, rows, _history)


def divergence_points(logs: DataFrame, replicas: DataFrame | None = None) -> DataFrame:
    """Rows that tell whether the logs of each pair of replicas diverge, and where. They have the
    columns of gold.divergence_points without its columns about captures."""
    rows = [_of_logs(_heads(logs)), *_of_replicas(replicas)]
    return _clusters(gold.DIVERGENCE_POINTS, rows, _divergence)


def snapshot_validity(
    snapshots: DataFrame, logs: DataFrame, replicas: DataFrame | None = None
) -> DataFrame:
    """A row for each complete snapshot, which tells whether it is sound and equals a replay of the
    log. The rows have the columns of gold.snapshot_validity without capture_id. The task of a
    cluster holds all records of the cluster.

    Raises PySparkValueError where the two frames were read with different keys for secrets, because
    secrets that are equal would then look different.
    """
    _refuse_other_key(snapshots, logs)
    of_snapshots = snapshots.withColumn("what", F.lit(SNAPSHOT))
    rows = [_of_logs(logs), of_snapshots, *_of_replicas(replicas)]
    return _clusters(gold.SNAPSHOT_VALIDITY, rows, _validity, with_findings=True)


def _heads(logs: DataFrame) -> DataFrame:
    """The first record of each batch, and all control records: what shows epochs and where
    logs differ."""
    return logs.where("is_control OR offset = base_offset OR error IS NOT NULL").withColumn(
        "payload", F.lit(None).cast("variant")
    )


def _of_logs(logs: DataFrame) -> DataFrame:
    return logs.withColumn("what", F.lit(LOG))


def _of_replicas(replicas: DataFrame | None) -> list[DataFrame]:
    if replicas is None:
        return []
    whole = F.struct(*(F.col(name) for name in replicas.columns)).alias("replica")
    return [replicas.select(*OWNER_COLUMNS, F.lit(REPLICA).alias("what"), whole)]


def _history(of: Silver) -> Iterable[Row]:
    return history.leader_epoch_history(
        of.cluster_id, known_epochs(of.bronze, of.control, of.agreed), of.groups, of.agreed
    )


def _divergence(of: Silver) -> Iterable[Row]:
    return divergence.divergence_points(of.groups, of.bronze.captures)


def _validity(of: Silver) -> Iterable[Row]:
    _, found = replayed_whole(
        BranchReader(of.tables), of.log, of.agreed, of.asked, of.compared_before
    )
    return validity.snapshot_validity(validity.judged_snapshots(of.bronze, found.compared))


def _clusters(
    contract: Contract, frames: list[DataFrame], made: _Made, *, with_findings: bool = False
) -> DataFrame:
    """The rows of a table, made of all rows of each cluster at once."""
    columns = [one for one in contract.columns if one.name not in OF_CAPTURES]
    schema = StructType([StructField(one.name, one.data_type) for one in columns])
    kinds = contract.arrow_columns([one.name for one in columns])

    def make(rows: pa.Table) -> pa.Table:
        with one_line():
            found = [*made(cluster_of(rows, with_findings=with_findings))]
        values = {name: [row[name] for row in found] for name in kinds.names}
        return pa.Table.from_pydict(values, kinds)

    first, *others = map(_conformed, frames)
    for one in others:
        first = first.unionByName(one)
    return first.groupBy("cluster_id").applyInArrow(make, schema)


def _conformed(frame: DataFrame) -> DataFrame:
    """The frame with exactly the columns of ROWS; NULL for those that it lacks."""
    there = set(frame.columns)
    return frame.select(
        *(
            (F.col(f"`{one.name}`") if one.name in there else F.lit(None).cast(one.dataType)).alias(
                one.name
            )
            for one in ROWS.fields
        )
    )


def _refuse_other_key(snapshots: DataFrame, logs: DataFrame) -> None:
    one, other = (df.schema["payload"].metadata.get("redaction") for df in (snapshots, logs))
    if one != other:
        raise PySparkValueError(
            "snapshots and logs were read with different keys for secrets: call "
            'kraftlake.register(spark) before both, or give both .option("redactKeyFile", FILE)'
        )
