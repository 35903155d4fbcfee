"""The records of the tables, spread by their keys over the parts of a replay.

pipelines.replay.stored turns them into values again.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.replay.stored import KNOWN_CONTROL, SPREAD, STATEFUL_CONTROL
from replica.metadata.image import BROADCAST, KEY_FIELDS, PartitionKey


def spread(records: DataFrame, buckets: int) -> DataFrame:
    """The columns of SPREAD for the records that have state. A record is in the bucket of its key,
    or in every bucket if all parts need it. records: with the columns of SPREAD except `bucket`."""
    control = F.col("record_type").isin(*STATEFUL_CONTROL) & F.col("value").isNotNull()
    known = F.col("record_type").isin(*KEY_FIELDS, *BROADCAST)
    stateful = records.where(F.when(F.col("is_control"), control).otherwise(known | is_unknown()))
    everywhere = F.col("record_type").isin(*BROADCAST) & ~F.col("is_control")
    every = F.sequence(F.lit(0), F.lit(buckets - 1))
    places = F.when(everywhere, every).otherwise(F.array(_bucket(buckets)))
    return stateful.withColumn("bucket", F.explode(places)).select(
        *(_json_of_hidden() if name == "payload" else F.col(name) for name in SPREAD.names)
    )


def _bucket(buckets: int) -> Column:
    """bucket_of(key_of(record)), computed from the fields of the record's VARIANT."""
    types_of: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for record_type, fields in KEY_FIELDS.items():
        types_of.setdefault(fields, []).append(record_type)
    choice = F.lit(None).cast("string")
    for (family, names), record_types in types_of.items():
        # NULL, and so the bucket of records without a key, where the version isn't known here
        values = [F.try_variant_get("payload", f"$.{name}", "string") for name in names]
        parts = [part for value in values for part in (F.lit("\0"), value)] or [F.lit("\0")]
        key = F.concat(F.lit(family), *parts)
        choice = F.when(F.col("record_type").isin(*record_types), key).otherwise(choice)
    text = F.coalesce(choice, F.lit("\0".join(PartitionKey("", ""))))
    return F.pmod(F.crc32(text.cast("binary")), F.lit(buckets)).cast("int")


def is_unknown() -> Column:
    """Whether a row of bronze has an api key, version or control type that this release doesn't
    know (json_text and UnknownControl have such rows' payloads)."""
    unknown = F.try_variant_get("payload", "$.apiKey", "int").isNotNull()
    return F.when(F.col("is_control"), ~F.col("record_type").isin(*KNOWN_CONTROL)).otherwise(
        unknown
    )


def _json_of_hidden() -> Column:
    return F.when(F.col("value").isNull(), F.to_json("payload")).alias("payload")
