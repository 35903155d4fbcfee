"""FetchQuorumRecords of KIP-595's draft. Kafka moved this API into Fetch before it had an API key,
so each quorum chooses a key. replica.model.kafka_errors has the two errors of the draft that have
no number in Kafka."""

from __future__ import annotations

from replica.errors import UsageError
from replica.message.schema import FOREVER
from replica.wire.apis import APIS
from replica.wire.schema import Api, api, field

_MAX_KEY = 2**15 - 1


def fetch_quorum_records(key: int) -> Api:
    """The API with the key `key`. Raises UsageError for a key that Kafka uses or that is out of
    range."""
    if not 0 <= key <= _MAX_KEY or key in APIS:
        raise UsageError(
            f"API key {key} can't be that of FetchQuorumRecords: choose a free one, such as 1000"
        )
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
