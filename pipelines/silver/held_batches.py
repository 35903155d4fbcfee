"""Which batches the log of a capture held."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.tables.bronze import BATCH_KEYS, REPLICA_KEYS


def one_row_per_capture(captures: DataFrame) -> DataFrame:
    """capture_id, REPLICA_KEYS, captured_at, log_start_offset, log_end_offset, source.

    captures: bronze.captures, where an unchanged replica has the same capture_id in several
    groups. All of them saw the same files, so the first time, and the first place, stand for all.
    """
    first = F.min(F.struct("captured_at", "log_start_offset", "log_end_offset"))
    source = F.min_by("source", "ingest_seq").alias("source")
    rows = captures.groupBy("capture_id", *REPLICA_KEYS).agg(first.alias("first"), source)
    return rows.select("capture_id", *REPLICA_KEYS, "first.*", "source")


_FACTS = ("last_offset", "record_count", "size_bytes", "max_timestamp")


def held_batches(captures: DataFrame, log_batches: DataFrame, control: DataFrame) -> DataFrame:
    """A row for each batch that a capture's .log files held undamaged.

    control: from control_records; the others bronze's. To be persisted: it reads what is large.
    Columns: capture_id, BATCH_KEYS, last_offset, record_count, size_bytes, max_timestamp,
    leader_change and voter_sets (both NULL in a batch without control records).
    """
    is_held = held_at("captured_at")
    batches = log_batches.select(*BATCH_KEYS, *_FACTS, "in_log")
    # Captures and control records are few beside batches: no shuffle of what scales.
    looks = one_row_per_capture(captures)
    moments = F.broadcast(looks.select("capture_id", *REPLICA_KEYS, "captured_at"))
    held = batches.join(moments, on=list(REPLICA_KEYS), how="inner").where(is_held)
    return held.join(F.broadcast(control), on=list(BATCH_KEYS), how="left").drop(
        "in_log", "captured_at"
    )


def held_at(moment: str) -> Column:
    """Whether the log of the capture at `moment`, a column, held the batch: by in_log, whose last
    span is open while the newest capture holds it."""
    at = F.col(moment)
    return F.exists(
        "in_log",
        lambda span: (at >= span["from"]) & F.coalesce(at <= span["to"], F.lit(True)),
    )


def entries_end() -> Column:
    """The offset behind the last record of a batch of bronze.log_batches, exclusive.

    As many offsets as records, each of which takes a byte at least: a header may claim more.
    """
    records = F.least("record_count", "size_bytes")
    return F.least(F.col("last_offset") + 1, F.col("base_offset") + records)
