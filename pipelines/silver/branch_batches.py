"""The batches of the agreed branch, each once, whichever replicas hold them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_ENTRY = ("cluster_id", "base_offset", "leader_epoch", "crc")
_FACTS = ("last_offset", "record_count", "size_bytes", "max_timestamp")


def branch_batches(committed_log: DataFrame, log_batches: DataFrame) -> DataFrame:
    """BATCH_KEYS of one replica that was seen to hold the batch undamaged, last_offset,
    record_count, size_bytes, max_timestamp.

    committed_log: silver's; log_batches: bronze's, where every replica has a row of its own.
    """
    holder = F.min(F.struct("node_id", "directory_id", *_FACTS)).alias("holder")
    batches = log_batches.where("crc_valid").groupBy(*_ENTRY).agg(holder)
    firsts = committed_log.withColumnRenamed("offset", "base_offset")
    on_branch = batches.join(firsts, on=list(_ENTRY), how="left_semi")
    return on_branch.select(*_ENTRY, "holder.*")
