"""Translates FetchQuorumRecords of KIP-595's draft, which has no topics, no versions, and its own
errors."""

from __future__ import annotations

from replica.model.keys import ReplicaKey
from replica.node.translate.translation import LEADER, Part, Translation, same, translated
from replica.raft.messages import FetchQuorumRecordsRequest
from replica.wire.apis.draft import fetch_quorum_records

_REPLICA = Part(
    lambda request: {"replicaId": request.replica.node_id},
    lambda fields, version: {"replica": ReplicaKey(fields["replicaId"])},
)
_ASKED = (
    _REPLICA,
    same(epoch="leaderEpoch", fetch_offset="fetchOffset", fetch_epoch="fetchEpoch"),
    same(is_follower="isFollower"),
)
"""The parts of the request. No part names the cluster, because the draft's int32 can't hold Kafka's
cluster ids."""
_TOLD = (
    LEADER,
    same(next_fetch_offset="nextFetchOffset", next_fetch_epoch="nextFetchOffsetEpoch"),
    same(records="records", high_watermark="highWatermark"),
    same(first_dirty_offset="firstDirtyOffset", last_caught_up="lastCaughtUpTimeMs"),
)


def translation(key: int) -> Translation:
    """The translation for the API key that the quorum's settings name. Raises UsageError for an
    invalid key."""
    return translated(fetch_quorum_records(key), FetchQuorumRecordsRequest, _ASKED, _TOLD)
