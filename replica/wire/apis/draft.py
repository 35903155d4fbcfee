"""FetchQuorumRecords, of the draft of KIP-595 that Kafka folded into Fetch before it had a key.

So the key is whatever a quorum agrees on. Its two errors that Kafka has no number for are in
replica.model.kafka_errors.
"""

from __future__ import annotations

from replica.errors import UsageError
from replica.wire.apis import APIS
from replica.wire.schema import FOREVER, Api, api, field

_MAX_KEY = 2**15 - 1


def fetch_quorum_records(key: int) -> Api:
    """The API under `key`; UsageError for one that Kafka uses, or that is none."""
    if not 0 <= key <= _MAX_KEY or key in APIS:
        raise UsageError(f"API key {key} can't be FetchQuorumRecords': choose a free one, as 1000")
    return api(
        "FetchQuorumRecords",
        key,
        (0, 0),
        flexible_since=FOREVER,
        request=(
            field("clusterId", "int32", default=-1),
            field("replicaId", "int32"),
            field("leaderEpoch", "int32"),
            field("fetchOffset", "int64"),
            field("fetchEpoch", "int32"),
            field("isFollower", "bool"),
        ),
        response=(
            field("errorCode", "int16"),
            field("leaderId", "int32", default=-1),
            field("leaderEpoch", "int32", default=-1),
            field("nextFetchOffset", "int64", default=-1),
            field("nextFetchOffsetEpoch", "int32", default=-1),
            field("records", "bytes"),
            field("highWatermark", "int64", default=-1),
            field("firstDirtyOffset", "int64"),
            field("lastCaughtUpTimeMs", "int64", default=-1),
        ),
    )
