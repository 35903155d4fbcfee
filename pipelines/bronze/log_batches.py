"""bronze.log_batches: which captures held a batch, and when it vanished.

A pure fold: (rows so far, batches a capture holds, the capture's moment) -> rows. It does not
depend on the order in which captures arrive; captured_at alone orders them. What the newest
capture holds is open-ended: a capture that changes nothing about a batch leaves its row alone.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.tables.bronze import BATCH_KEYS, LOG_BATCHES, REPLICA_KEYS

MOMENT_SCHEMA = (
    "cluster_id string, node_id int, directory_id string, at bigint, previous_at bigint, "
    "next_at bigint, log_start_offset bigint, "
    "uncovered array<struct<start:bigint,end:bigint>>, "
    "later array<struct<at:timestamp,log_start_offset:bigint,"
    "uncovered:array<struct<start:bigint,end:bigint>>>>"
)
"""One row for each replica of the capture: its captured_at, those of the replica's captures just
before and after it (us since the epoch), the offset ranges that damage may hide, and the replica's
later captures in the order of their time, which only a capture that arrives late has."""

_HELD = {"in_log": "new.held", "undamaged": "new.crc_valid", "seen": "true"}
"""Column of spans -> what a capture that has the batch must show for its moment to count."""

FOLDED_COLUMNS = (
    *("crc_valid", "first_seen", "last_seen", "truncated_at", "removed_at"),
    *_HELD,
)

_FACTS = (
    "last_offset",
    "is_control",
    "record_count",
    "size_bytes",
    "position",
    "base_timestamp",
    "max_timestamp",
    "file",
)
_NO_SPANS = "array<struct<from:timestamp,to:timestamp>>"


def one_row_per_batch(batches: DataFrame, kept: DataFrame | None = None) -> DataFrame:
    """Batches of kraft_log with a replica; of a batch in several files, the one in the log.

    kept: rows of LOG_BATCHES that the log still holds, in bytes that were not read again.
    Adds `held`: whether a .log file (not .log.deleted) holds it undamaged.
    """
    held = F.col("crc_valid") & ~F.col("file").endswith(".deleted")
    names = (*BATCH_KEYS, *_FACTS, "crc_valid", "held")
    rows = batches.withColumn("held", held).select(*names)
    if kept is not None:
        rows = rows.unionByName(kept.withColumn("held", F.lit(True)).select(*names))
    best = F.struct("held", F.negative("position").alias("rank"), *_FACTS, "crc_valid")
    rows = rows.groupBy(*BATCH_KEYS).agg(F.max(best).alias("best"))
    facts = [F.col(f"best.{name}").alias(name) for name in (*_FACTS, "crc_valid", "held")]
    return rows.select(*BATCH_KEYS, *facts)


def fold(known: DataFrame, seen: DataFrame, moments: DataFrame) -> DataFrame:
    """The rows of the moments' replicas after this capture, in LOG_BATCHES' columns.

    known: rows of LOG_BATCHES; seen: from one_row_per_batch; moments: MOMENT_SCHEMA.
    """
    times = {name: F.timestamp_micros(name) for name in ("at", "previous_at", "next_at")}
    now = F.broadcast(moments.withColumns(times))
    before = known.join(now.select(*REPLICA_KEYS), on=list(REPLICA_KEYS), how="left_semi")
    before = before.select(*BATCH_KEYS, F.struct(*before.columns).alias("old"))
    after = seen.select(*BATCH_KEYS, F.struct(*seen.columns).alias("new"))
    rows = before.join(after, on=list(BATCH_KEYS), how="full_outer")
    rows = rows.join(now, on=list(REPLICA_KEYS), how="inner")
    rows = rows.withColumn("present", F.col("new").isNotNull())
    facts = [F.coalesce(f"old.{name}", f"new.{name}").alias(name) for name in _FACTS]
    folded = rows.select(
        *BATCH_KEYS,
        *facts,
        _crc_valid().alias("crc_valid"),
        F.least("old.first_seen", _at_if_present()).alias("first_seen"),
        _last_seen().alias("last_seen"),
        *_vanished(),
        *(_spans(name, held).alias(name) for name, held in _HELD.items()),
    )
    return LOG_BATCHES.select(folded)


def changed() -> str:
    """The MERGE condition: rows of the source that say something new about `t`."""
    return " OR ".join(f"NOT (t.{name} <=> s.{name})" for name in FOLDED_COLUMNS)


def _at_if_present() -> Column:
    return F.when(F.col("present"), F.col("at"))


def _last_seen() -> Column:
    """NULL while the newest capture holds it."""
    return F.expr(
        "CASE WHEN present AND next_at IS NULL THEN NULL "
        "WHEN old IS NOT NULL AND old.last_seen IS NULL THEN "
        "CASE WHEN next_at IS NULL THEN greatest(old.first_seen, previous_at) END "
        "WHEN present THEN greatest(old.last_seen, at) ELSE old.last_seen END"
    )


def _crc_valid() -> Column:
    return F.coalesce("old.crc_valid", F.lit(False)) | F.coalesce("new.crc_valid", F.lit(False))


def _vanished() -> tuple[Column, Column]:
    """truncated_at and removed_at: one of them, by the earliest capture that shows the absence."""
    vanished = F.coalesce(_vanished_now(), _vanished_before_it_was_known())
    old = ("old.truncated_at", "old.removed_at")
    truncated_at = F.when(~vanished["removed"], vanished["at"])
    removed_at = F.when(vanished["removed"], vanished["at"])
    return (
        F.when(vanished.isNotNull(), truncated_at).otherwise(F.col(old[0])).alias("truncated_at"),
        F.when(vanished.isNotNull(), removed_at).otherwise(F.col(old[1])).alias("removed_at"),
    )


def _vanished_now() -> Column:
    """struct<at, removed> where this capture is the first that shows the absence, else NULL."""
    known = F.least("old.truncated_at", "old.removed_at")
    is_first = known.isNull() | (F.col("at") < known)
    was_there = F.col("old.first_seen") < F.col("at")
    is_covered = F.expr(f"NOT {_hidden('uncovered')}")
    removed = F.col("base_offset") < F.col("log_start_offset")
    vanishes = ~F.col("present") & was_there & is_covered & is_first
    return F.when(vanishes, F.struct(F.col("at").alias("at"), removed.alias("removed")))


def _vanished_before_it_was_known() -> Column:
    """The same for a batch that a late capture shows first: a later capture lacked it already."""
    first = f"""get(filter(later, l -> l.at < coalesce(old.first_seen, l.at + INTERVAL 1 DAY)
        AND NOT {_hidden("l.uncovered")}), 0)"""
    removed = f"base_offset < ({first}).log_start_offset"
    is_news = "present AND (old IS NULL OR at < old.first_seen)"
    return F.expr(
        f"CASE WHEN {is_news} AND ({first}) IS NOT NULL "
        f"THEN struct(({first}).at AS at, {removed} AS removed) END"
    )


def _hidden(ranges: str) -> str:
    """Whether damage may hide the batch's offset."""
    return (
        f"exists({ranges}, u -> base_offset >= u.start AND (u.end IS NULL OR base_offset < u.end))"
    )


def _spans(name: str, held: str) -> Column:
    """The spans with this capture's moment added, or cut out where it doesn't count."""
    old = f"coalesce(old.{name}, cast(array() as {_NO_SPANS}))"
    before = f"get(filter({old}, i -> i.`to` = previous_at), 0)"
    after = f"get(filter({old}, i -> i.`from` = next_at), 0)"
    touching = "coalesce(i.`to` = previous_at, false) OR coalesce(i.`from` = next_at, false)"
    extended = f"""array_sort(concat(
        filter({old}, i -> NOT ({touching})),
        array(struct(
            coalesce({before}.`from`, at) AS `from`,
            CASE WHEN next_at IS NULL THEN NULL WHEN {after} IS NULL THEN at
                 ELSE {after}.`to` END AS `to`))))"""
    known = f"exists({old}, i -> i.`from` <= at AND coalesce(i.`to` >= at, true))"
    split = f"""filter(flatten(transform({old}, i ->
        if(i.`from` < at AND coalesce(at < i.`to`, true),
        array(struct(i.`from` AS `from`, greatest(i.`from`, previous_at) AS `to`),
              struct(next_at AS `from`, i.`to` AS `to`)),
        array(struct(i.`from` AS `from`, i.`to` AS `to`))))), i -> i.`from` IS NOT NULL)"""
    is_held = f"(present AND {held})"
    return F.expr(
        f"CASE WHEN {is_held} AND {known} THEN {old} "
        f"WHEN {is_held} THEN {extended} ELSE {split} END"
    )
