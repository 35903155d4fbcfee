"""The records of branches that lost: some replicas held them beside the agreed branch."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.arrow_frames import dataframe_of
from pipelines.tables.bronze import BATCH_KEYS


def lost_tails(log_records: DataFrame, batches: pa.Table) -> DataFrame | None:
    """The records of lost branches, or None where there are none. Columns: those of
    bronze.log_records, position, tail_id and commitment.

    batches: of batches_of_tails. Where two tails begin with the same records, both have these
    records.
    """
    if not batches.num_rows:
        return None
    tails = dataframe_of(log_records.sparkSession, batches)
    return log_records.join(F.broadcast(tails), on=list(BATCH_KEYS), how="inner")
