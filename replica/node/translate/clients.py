"""What each version of a client's requests can express, and what each version of the answers
can."""

from __future__ import annotations

from replica.wire.apis.fetching import Timestamp

_FOLLOWERS_SINCE = 11
"""The first version of Fetch in which clients name their rack and read from followers (KIP-392)."""
_NULL_NAME_SINCE = 12
"""The first version of Metadata in which an answer about a topic may have no name (KIP-516)."""
_TIMESTAMPS_SINCE: dict[int, int] = {
    Timestamp.LATEST: 1,
    Timestamp.EARLIEST: 1,
    Timestamp.NEWEST_RECORD: 7,
    Timestamp.EARLIEST_LOCAL: 8,
    Timestamp.LATEST_TIERED: 9,
    Timestamp.EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version of ListOffsets in which a client may ask for each of these special
timestamps."""


def knows_followers(fetch_version: int) -> bool:
    """Whether a client that fetches in this version can read from followers, and follows the
    leader's choice of a replica."""
    return fetch_version >= _FOLLOWERS_SINCE


def absent_name(metadata_version: int) -> str | None:
    """The name in an answer of this version, for a topic that the request identified only by its
    id: None (null), or "" in versions that allow no null."""
    return None if metadata_version >= _NULL_NAME_SINCE else ""


def knows_timestamp(list_offsets_version: int, timestamp: int) -> bool:
    """Whether a version of ListOffsets knows this timestamp. All versions know real times. Negative
    numbers mean special offsets."""
    if timestamp >= 0:
        return True
    since = _TIMESTAMPS_SINCE.get(timestamp)
    return since is not None and list_offsets_version >= since
