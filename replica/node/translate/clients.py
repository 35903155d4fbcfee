"""What each version of an ordinary client's request lets it say, and be told."""

from __future__ import annotations

from replica.wire.apis.fetching import Timestamp

_FOLLOWERS_SINCE = 11
"""Of Fetch: the client names its rack, and reads from followers too (KIP-392)."""
_NULL_NAME_SINCE = 12
"""Of Metadata: an answer about a topic may have no name (KIP-516)."""
_TIMESTAMPS_SINCE: dict[int, int] = {
    Timestamp.LATEST: 1,
    Timestamp.EARLIEST: 1,
    Timestamp.NEWEST_RECORD: 7,
    Timestamp.EARLIEST_LOCAL: 8,
    Timestamp.LATEST_TIERED: 9,
    Timestamp.EARLIEST_PENDING_UPLOAD: 11,
}
"""Of ListOffsets."""


def knows_followers(fetch_version: int) -> bool:
    """Whether a client that fetches in this version may be answered, or sent on, by followers."""
    return fetch_version >= _FOLLOWERS_SINCE


def absent_name(metadata_version: int) -> str | None:
    """What stands for the name of a topic that was asked for by its id alone."""
    return None if metadata_version >= _NULL_NAME_SINCE else ""


def knows_timestamp(list_offsets_version: int, timestamp: int) -> bool:
    """Whether a version of ListOffsets has this timestamp: every time, and some negative numbers
    that stand for something else."""
    if timestamp >= 0:
        return True
    since = _TIMESTAMPS_SINCE.get(timestamp)
    return since is not None and list_offsets_version >= since
