"""What a cluster's metadata was at an offset: every entity, from the agreed branch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from pipelines.silver.replay_parts import IN_SNAPSHOT, Part, replay_in_parts

STATE = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("entity", pa.string()),
        ("key", pa.string()),
        ("value", pa.string()),
        ("offset", pa.int64()),
    ]
)
"""offset: of the record that last changed the entity; NULL where that lies before the snapshot with
which the replay began."""


def state_at(
    branch: DataFrame,
    snapshots: DataFrame,
    snapshot_records: DataFrame,
    end_offset: int,
    buckets: int,
) -> DataFrame:
    """STATE after the records below end_offset, as far as they are known here; no rows where no
    replay reaches it.

    branch: one cluster's, from branch_records; the others bronze's; buckets: parts of the replay.
    """
    upto = branch.where(branch["offset"] < end_offset)
    work = partial(_entities, end_offset=end_offset)
    inputs = upto, snapshots, snapshot_records
    return replay_in_parts(*inputs, buckets, work, STATE, through_unknown=True)


def _entities(part: Part, end_offset: int) -> Iterator[dict[str, Any]]:
    for run in part.replays():
        if run.base_offset <= end_offset == run.end:
            for entity in run.image_at(end_offset).entities():
                if part.owns(entity.kind, entity.key):
                    yield {
                        "cluster_id": part.cluster_id,
                        "entity": entity.kind,
                        "key": entity.key,
                        "value": entity.value,
                        "offset": None if entity.offset == IN_SNAPSHOT else entity.offset,
                    }
