"""The branches that lost: records that replicas once held behind the agreed branch."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.arrow_frames import dataframe_of
from pipelines.tables.bronze import BATCH_KEYS


def lost_tails(log_records: DataFrame, batches: pa.Table) -> DataFrame | None:
    """Records of branches that lost, or None where there is none: the columns of
    bronze.log_records, position, tail_id and commitment.

    batches: from batches_of_tails. Two tails may begin with the same records, and then both tell
    them.
    """
    if not batches.num_rows:
        return None
    tails = dataframe_of(log_records.sparkSession, batches)
    return log_records.join(F.broadcast(tails), on=list(BATCH_KEYS), how="inner")
