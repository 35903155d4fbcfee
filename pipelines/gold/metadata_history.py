"""gold.metadata_history and gold.metadata_changes, made of the rows of agreed_replay."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pipelines.replay.written import CHANGE, VERSION
from pipelines.tables.gold import METADATA_CHANGES, METADATA_HISTORY


def metadata_history(written: DataFrame) -> DataFrame:
    """The table of versions. written: rows of agreed_replay."""
    return METADATA_HISTORY.select(written.where(F.col("what") == VERSION))


def metadata_changes(written: DataFrame) -> DataFrame:
    """The table of changes. written: rows of agreed_replay."""
    changes = written.where(F.col("what") == CHANGE).withColumns(
        {"offset": F.col("record_offset"), "at": F.col("valid_from")}
    )
    proven = "coalesce(commitment, '') = 'proven'"
    agreed = changes.where(proven)
    others = _one_of_each(changes.where(f"NOT {proven}"))
    return METADATA_CHANGES.select(agreed.unionByName(_beside(agreed, others)))


def _one_of_each(changes: DataFrame) -> DataFrame:
    """The changes, each row once. Lost branches may have their first records in common, and then
    each has the changes of these records."""
    one_change = Window.partitionBy(*METADATA_CHANGES.keys)
    place = F.row_number().over(one_change.orderBy(F.desc("commitment"), "new", "old"))
    return changes.withColumn("place", place).where("place = 1").drop("place")


def _beside(agreed: DataFrame, others: DataFrame) -> DataFrame:
    """The changes of other branches, without those whose keys the agreed branch has. Where a quorum
    broke Raft's rules, one epoch can have two records at an offset."""
    keys = list(METADATA_CHANGES.keys)
    lost = F.broadcast(others.where("commitment = 'superseded'").select(*keys))
    taken = F.broadcast(agreed.select(*keys).join(lost, on=keys, how="left_semi"))
    return others.join(taken, on=keys, how="left_anti")
