"""The capture that shows the newest state of a cluster, from single rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pipelines.cluster.rows import Row
from pipelines.gold.newest_states import newest_states

EARLIER = datetime(2026, 1, 1, tzinfo=UTC)
LATER = EARLIER + timedelta(hours=1)


def _status(node_id: int, at: datetime, agreed_end: int, snapshot_end: int | None = None) -> Row:
    return {
        **{"cluster_id": "c", "node_id": node_id, "directory_id": "d", "captured_at": at},
        **{"capture_id": f"{node_id} at {at:%H}", "last_append_time": None},
        **{"agreed_end_offset": agreed_end, "snapshot_end_offset": snapshot_end},
    }


def _state_row(*status: Row, agreed_end: int) -> Row:
    """The row of a state that ends at offset 39."""
    captures = [{"capture_id": row["capture_id"], "ingest_seq": 1, "source": ""} for row in status]
    (state_row,) = newest_states(
        status, captures, [{"from_offset": 0, "to_offset": 39}], [], agreed_end
    )
    return state_row


def test_what_an_earlier_branch_had_beyond_the_agreed_one_lacks_nothing() -> None:
    """Node 3 wrote on alone up to offset 53, and a new leader's epoch took the place of that."""
    state_row = _state_row(_status(3, EARLIER, 54), _status(1, LATER, 39), agreed_end=39)
    assert (state_row["capture_id"], state_row["is_whole"]) == ("1 at 01", True)


def test_a_state_that_ends_below_the_agreed_branch_or_a_snapshot_is_not_whole() -> None:
    assert not _state_row(_status(1, LATER, 45), agreed_end=45)["is_whole"]
    assert not _state_row(_status(1, LATER, 39, snapshot_end=50), agreed_end=39)["is_whole"]
