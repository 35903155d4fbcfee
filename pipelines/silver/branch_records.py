"""The records of the agreed branch, each once, however many replicas hold them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

ENTRY_KEYS = ("cluster_id", "offset", "leader_epoch", "crc")
"""The key of one entry of a cluster's log. The CRC tells two batches of one epoch apart."""

_CONTENT = ("timestamp", "is_control", "record_type", "record_version", "payload", "value")


def branch_records(committed_log: DataFrame, log_records: DataFrame) -> DataFrame:
    """ENTRY_KEYS, commitment, and the record's columns of bronze.log_records.

    committed_log: of silver. log_records: of bronze, which has a row for each replica that holds
    the record.
    """
    held = log_records.groupBy(*ENTRY_KEYS).agg(
        *(F.any_value(name).alias(name) for name in _CONTENT)
    )
    return committed_log.join(held, on=list(ENTRY_KEYS), how="inner")
