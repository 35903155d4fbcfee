"""silver.leader_epochs: the epochs that one capture knows, and whether its sources agree.

Three sources name an epoch: the batches, the LEADER_CHANGE record that a leader writes first
(KIP-595), and leader-epoch-checkpoint, Kafka's cache of the first offsets.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.silver.held_batches import one_row_per_capture
from pipelines.tables.silver import LEADER_EPOCHS


def leader_epochs(captures: DataFrame, held: DataFrame, replica_state: DataFrame) -> DataFrame:
    """The table: a row for each epoch of each capture; held: from held_batches, the others
    bronze's."""
    looks = one_row_per_capture(captures)
    checkpoints = replica_state.select("capture_id", F.col("leader_epochs").alias("checkpoint"))
    looks = F.broadcast(looks.join(checkpoints, on="capture_id", how="left"))
    epochs = _sighted(held, checkpoints).join(looks, on="capture_id", how="inner")
    return LEADER_EPOCHS.select(_judged(_with_ends(epochs)))


def _sighted(held: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """A row for each (capture_id, epoch) that batches or the checkpoint name."""
    in_batches = held.select(
        "capture_id",
        F.col("leader_epoch").alias("epoch"),
        "base_offset",
        "last_offset",
        "leader_change",
    )
    entries = checkpoints.select("capture_id", F.inline("checkpoint"))
    in_checkpoint = entries.withColumnRenamed("start_offset", "checkpoint_start")
    sightings = in_batches.unionByName(in_checkpoint, allowMissingColumns=True)
    return sightings.groupBy("capture_id", "epoch").agg(
        F.min("base_offset").alias("start_offset"),
        F.max("last_offset").alias("newest_offset"),
        F.min("leader_change").alias("leader_change"),
        F.min("checkpoint_start").alias("checkpoint_start"),
    )


def _with_ends(epochs: DataFrame) -> DataFrame:
    """Adds end_offset, first_offset (of the whole log) and whether a newer epoch is known."""
    of_capture = Window.partitionBy("capture_id")
    newer = of_capture.orderBy("epoch").rowsBetween(1, Window.unboundedFollowing)
    return epochs.withColumns(
        {
            "next_start": F.min("start_offset").over(newer),
            "is_newest": F.max("epoch").over(newer).isNull(),
            "first_offset": F.min("start_offset").over(of_capture),
        }
    ).withColumn(
        "end_offset",
        F.when(
            F.col("start_offset").isNotNull(), F.coalesce("next_start", F.col("log_end_offset"))
        ),
    )


def _judged(epochs: DataFrame) -> DataFrame:
    in_batches = F.col("start_offset").isNotNull()
    in_order = ~in_batches | (F.col("newest_offset") < F.col("end_offset"))
    agrees = in_order & _leader_change_agrees(in_batches) & _checkpoint_agrees(in_batches)
    return epochs.select(
        "*",
        F.col("leader_change.leader_id").alias("leader_id"),
        F.col("leader_change.voters").alias("voters"),
        F.col("leader_change.granting_voters").alias("granting_voters"),
        F.col("leader_change.started_at").alias("started_at"),
        in_batches.alias("in_batches"),
        F.col("leader_change").isNotNull().alias("in_control_record"),
        F.col("checkpoint_start").isNotNull().alias("in_checkpoint"),
        agrees.alias("agrees"),
    )


def _leader_change_agrees(in_batches: Column) -> Column:
    """It is the epoch's first record; absent only where deletion cut the epoch's head."""
    changed_at = F.col("leader_change.offset")
    is_first_record = F.coalesce(changed_at == F.col("start_offset"), F.lit(False))
    is_log_head = F.col("start_offset") == F.col("first_offset")
    head_is_cut = changed_at.isNull() & is_log_head & (F.col("start_offset") > 0)
    return ~in_batches | is_first_record | head_is_cut


def _checkpoint_agrees(in_batches: Column) -> Column:
    """The checkpoint starts at the log start: LeaderEpochFileCache.truncateFromStart.

    So an epoch that ends at or below the log start is absent, unless it is the one in force there,
    which the cache never loses. An epoch without batches is the newest one, at the log end: the
    leader enters it before it writes (KafkaMetadataLog.initializeLeaderEpoch).
    """
    entry = F.col("checkpoint_start")
    log_start, log_end = F.col("log_start_offset"), F.col("log_end_offset")
    has_no_file = F.col("checkpoint").isNull()
    expected = F.greatest("start_offset", log_start)
    is_expected = F.coalesce(entry == expected, F.lit(False))
    is_below_start = F.col("end_offset") <= log_start
    may_be_absent = in_batches & is_below_start & entry.isNull()
    is_kept = is_expected & (~is_below_start | F.col("is_newest"))
    is_about_to_start = ~in_batches & F.col("is_newest") & (entry == log_end)
    return has_no_file | F.when(in_batches, may_be_absent | is_kept).otherwise(is_about_to_start)
