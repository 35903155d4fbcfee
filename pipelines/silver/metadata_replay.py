"""The agreed branch replayed on Spark for what each record writes: see pipelines.replay.written."""

from __future__ import annotations

from pyspark.sql import DataFrame

from pipelines.replay.written import WRITTEN, written_by
from pipelines.silver.replay_parts import replay_in_parts


def metadata_replay(
    branch: DataFrame,
    snapshots: DataFrame,
    snapshot_records: DataFrame,
    tails: DataFrame,
    buckets: int,
) -> DataFrame:
    """WRITTEN; to be persisted, as three tables read it.

    branch: from branch_records; tails: from lost_tails; the others bronze's; buckets: parts of the
    replay.
    """
    inputs = branch, snapshots, snapshot_records
    return replay_in_parts(*inputs, buckets, written_by, WRITTEN, tails=tails)
