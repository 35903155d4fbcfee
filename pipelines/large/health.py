"""The health of each cluster in its newest known state, and its exposure to failures, by Spark.

One worker judges a cluster. It holds the cluster's state, and reads earlier versions only as far
back as the judgement needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.in_memory.health_rules import (
    HISTORY,
    JUDGED,
    JUDGEMENT,
    STATE,
    STEP,
    WATCHED_ENTITIES,
    told,
)
from pipelines.in_memory.rows import Row
from pipelines.replay.parts import batches_of


def health(history: DataFrame, looks: Sequence[Row]) -> DataFrame:
    """The rows of JUDGEMENT. history: gold.metadata_history. looks: from
    pipelines.in_memory.health.looks."""
    ends = [(look["cluster_id"], look["from_offset"], look["end_offset"]) for look in looks]
    known = history.sparkSession.createDataFrame(
        ends, "cluster_id string, begin_at bigint, end_at bigint"
    )
    versions = history.where(F.col("entity").isin(*JUDGED)).join(
        F.broadcast(known), on="cluster_id", how="inner"
    )
    rows = reduce(DataFrame.unionByName, _history(versions))
    ordered = rows.repartition("cluster_id").sortWithinPartitions(
        "cluster_id", "what", F.desc_nulls_last("offset")
    )
    judge = partial(_judge, looks={look["cluster_id"]: look for look in looks})
    return ordered.mapInArrow(judge, from_arrow_schema(JUDGEMENT, prefer_timestamp_ntz=False))


def _history(versions: DataFrame) -> tuple[DataFrame, ...]:
    """The rows of HISTORY: the entities of the state, and earlier values of entities of the kinds
    in WATCHED_ENTITIES."""
    is_held = "valid_to_offset IS NULL OR valid_to_offset >= end_at"
    state = versions.where(f"valid_from_offset < end_at AND ({is_held})")
    watched = versions.where(F.col("entity").isin(*WATCHED_ENTITIES))
    within = "{0} >= begin_at AND {0} < end_at"
    begun = watched.where(within.format("valid_from_offset"))
    ended = watched.where(within.format("valid_to_offset"))
    return (
        _rows(state, STATE, "record_offset", "valid_from", F.col("value")),
        _rows(begun, STEP, "valid_from_offset", "valid_from", F.lit(None).cast("string")),
        _rows(ended, STEP, "valid_to_offset", "valid_to", F.col("value")),
    )


def _rows(versions: DataFrame, what: int, offset: str, at: str, value: Column) -> DataFrame:
    return versions.select(
        "cluster_id",
        F.lit(what).cast("int").alias("what"),
        F.col(offset).alias("offset"),
        F.unix_millis(at).alias("at_ms"),
        "entity",
        "key",
        value.alias("value"),
    )


def _judge(
    batches: Iterator[pa.RecordBatch], *, looks: Mapping[str, Row]
) -> Iterator[pa.RecordBatch]:
    for cluster_id, rows in groupby(_of(batches), itemgetter("cluster_id")):
        yield from batches_of(told(looks[cluster_id], rows), JUDGEMENT)


def _of(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from batch.select(HISTORY.names).to_pylist()
