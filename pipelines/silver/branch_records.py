"""The records of the agreed branch, each once, whichever replicas hold them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

ENTRY_KEYS = ("cluster_id", "offset", "leader_epoch", "crc")
"""One entry of a cluster's log: a CRC tells two batches of one epoch apart."""

_CONTENT = ("timestamp", "is_control", "record_type", "record_version", "payload", "value")


def branch_records(committed_log: DataFrame, log_records: DataFrame) -> DataFrame:
    """ENTRY_KEYS, commitment, and the record as bronze.log_records has it.

    committed_log: silver's; log_records: bronze's, where every replica has a row of its own.
    """
    held = log_records.groupBy(*ENTRY_KEYS).agg(
        *(F.any_value(name).alias(name) for name in _CONTENT)
    )
    return committed_log.join(held, on=list(ENTRY_KEYS), how="inner")
