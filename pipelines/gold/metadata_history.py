"""gold.metadata_history and gold.metadata_changes, out of silver's metadata_replay."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.tables.gold import METADATA_CHANGES, METADATA_HISTORY


def metadata_history(written: DataFrame) -> DataFrame:
    """The table of versions; written: from metadata_replay."""
    return METADATA_HISTORY.select(written.where("NOT is_change"))


def metadata_changes(written: DataFrame) -> DataFrame:
    """The table of changes; written: from metadata_replay."""
    changes = written.where("is_change").withColumns(
        {"offset": F.col("record_offset"), "at": F.col("valid_from")}
    )
    # Branches that lost may share their first records, and each tells them.
    agreed = "coalesce(commitment, '') = 'proven'"
    others = changes.where(f"NOT {agreed}").dropDuplicates(list(METADATA_CHANGES.keys))
    return METADATA_CHANGES.select(changes.where(agreed).unionByName(others))
