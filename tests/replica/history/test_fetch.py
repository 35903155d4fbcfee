"""Answers to replicas, to the draft RPC and to readers; B.. and G.. are scenario ids."""

import pytest

from replica.history.epochs import assign
from replica.history.fetch import (
    Diverging,
    DraftOutOfRange,
    LogView,
    SnapshotNeeded,
    ValidPosition,
    draft_validate_position,
    validate_leader_epoch,
    validate_position,
    view_of,
)
from replica.history.log import LogBatch, ReplicaLog
from replica.history.reader import (
    CaughtUp,
    Committed,
    OutOfRange,
    Unavailable,
    Uncommitted,
    reader_fetch,
)
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey


def view(start, end, *epochs, snapshots=()):
    entries = tuple(EpochStart(epoch, first) for epoch, first in epochs)
    ids = sorted((OffsetAndEpoch(*s) for s in snapshots), key=lambda s: (s.epoch, s.offset))
    return LogView(start, end, entries, ids[0] if ids else None, ids[-1] if ids else None)


GAPS = view(0, 17, (0, 0), (3, 2), (4, 8), (7, 13), (9, 14))
SILENT = view(0, 17, (9, 0), (10, 17))
"""Epoch 10 has a leader that wrote nothing yet."""
BEHIND_SNAPSHOT = view(3, 6, (2, 3), (4, 4), snapshots=[(3, 2)])


@pytest.mark.scenario("B01", "B02", "B03", "B04", "B05", "B06", "B07", "B08", "B09", "B10")
@pytest.mark.scenario("B11", "B12", "B13", "B30", "B31", "G01")
@pytest.mark.parametrize(
    ("log", "offset", "epoch", "expected"),
    [
        pytest.param(view(0, 9, (1, 0), (3, 3), (5, 6)), 6, 2, Diverging(1, 3), id="B01"),
        pytest.param(view(0, 1, (1, 0)), 1, 2, Diverging(1, 1), id="B02-epoch-above-last"),
        pytest.param(view(0, 20, (1, 0), (2, 10)), 11, 1, Diverging(1, 10), id="B03"),
        pytest.param(view(0, 5, (1, 0)), 6, 1, Diverging(1, 5), id="B04-offset-above-log-end"),
        pytest.param(
            view(10, 30, (1, 10), (2, 15), (4, 20), snapshots=[(10, 1)]),
            100,
            3,
            Diverging(2, 20),
            id="B05",
        ),
        pytest.param(
            view(10, 20, (3, 10), snapshots=[(10, 1)]), 100, 2, Diverging(1, 10), id="B06"
        ),
        pytest.param(
            view(10, 20, (1, 10), snapshots=[(10, 1)]),
            15,
            0,
            SnapshotNeeded(OffsetAndEpoch(10, 1)),
            id="B07",
        ),
        pytest.param(
            view(10, 20, (1, 10), snapshots=[(10, 1)]),
            9,
            1,
            SnapshotNeeded(OffsetAndEpoch(10, 1)),
            id="B08",
        ),
        pytest.param(BEHIND_SNAPSHOT, 3, 3, SnapshotNeeded(OffsetAndEpoch(3, 2)), id="B09"),
        pytest.param(BEHIND_SNAPSHOT, 3, 2, ValidPosition(), id="B10"),
        pytest.param(view(3, 6, (4, 3), snapshots=[(3, 2)]), 4, 3, Diverging(2, 3), id="B11"),
        pytest.param(BEHIND_SNAPSHOT, 6, 1, SnapshotNeeded(OffsetAndEpoch(3, 2)), id="B12"),
        pytest.param(view(0, 9, (1, 0), (3, 3)), 5, 3, ValidPosition(), id="B13"),
        pytest.param(GAPS, 5, 2, Diverging(0, 2), id="B30-unknown-epoch"),
        pytest.param(GAPS, 4, 0, Diverging(0, 2), id="B30-past-the-end-of-its-epoch"),
        pytest.param(GAPS, 6, 6, Diverging(4, 13), id="B30-inside-an-epoch-it-doesn-t-know"),
        pytest.param(SILENT, 17, 10, ValidPosition(), id="B31-at-the-log-end"),
        pytest.param(SILENT, 18, 10, Diverging(10, 17), id="B31-above-it"),
        pytest.param(
            view(0, 9, (1, 0), snapshots=[(9, 1)]),
            0,
            0,
            SnapshotNeeded(OffsetAndEpoch(9, 1)),
            id="G01",
        ),
        pytest.param(
            view(0, 9, (1, 0), snapshots=[(0, 0)]),
            0,
            0,
            ValidPosition(),
            id="G01-never-the-bootstrap",
        ),
        pytest.param(view(0, 9, (1, 0)), 0, 7, ValidPosition(), id="b-offset-0-whatever-the-epoch"),
        pytest.param(
            view(4, 9, (2, 4), snapshots=[(4, 1), (8, 2)]),
            2,
            1,
            SnapshotNeeded(OffsetAndEpoch(8, 2)),
            id="c-the-newest-not-the-earliest",
        ),
        pytest.param(view(0, 0), 5, 3, Diverging(0, 0), id="empty-leader"),
    ],
)
def test_a_replica_gets_records_a_diverging_epoch_or_a_snapshot(log, offset, epoch, expected):
    assert validate_position(log, offset, epoch) == expected


@pytest.mark.scenario("A07", "B31", "T11")
def test_an_epoch_without_records_counts_at_the_log_end_until_the_next_takes_its_place():
    """A fetch by the silent leader's epoch is right at the log end, while its cache has it."""
    silent = assign((EpochStart(9, 0),), 10, 17)
    assert validate_position(LogView(0, 17, silent), 17, 10) == ValidPosition()
    following = assign(silent, 11, 17)
    assert following == (EpochStart(9, 0), EpochStart(11, 17))
    assert validate_position(LogView(0, 17, following), 17, 10) == Diverging(9, 17)


@pytest.mark.scenario("B15")
def test_an_older_leader_epoch_is_fenced_and_a_newer_one_unknown():
    assert validate_leader_epoch(5, 4) is ErrorCode.FENCED_LEADER_EPOCH
    assert validate_leader_epoch(5, 6) is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert validate_leader_epoch(5, 5) is None


def test_a_view_hides_leftovers_and_orders_snapshots_by_epoch():
    batches = (LogBatch(0, 4, 1, "a"), LogBatch(5, 9, 2, "b"), LogBatch(10, 12, 3, "c"))
    ids = (OffsetAndEpoch(12, 3), OffsetAndEpoch(7, 2))
    log = ReplicaLog(ReplicaKey(1), 7, batches, ids)
    assert view_of(log) == view(7, 13, (2, 7), (3, 10), snapshots=[(7, 2), (12, 3)])


def test_a_log_older_than_its_snapshot_is_seen_as_kafka_empties_it_at_start():
    log = ReplicaLog(
        ReplicaKey(1), 0, (LogBatch(0, 4, 1, "a"),), (OffsetAndEpoch(3, 1), OffsetAndEpoch(20, 2))
    )
    assert view_of(log) == view(20, 20, snapshots=[(20, 2)])
    assert view_of(log).last_fetched_epoch == 2


DRAFT_LEADER = view(0, 9, (1, 0), (3, 3), (5, 6))


@pytest.mark.parametrize(
    ("offset", "epoch", "expected"),
    [
        (6, 3, ValidPosition()),
        (0, 0, ValidPosition()),
        (7, 3, DraftOutOfRange(6, 3)),
        (8, 4, DraftOutOfRange(6, 3)),
        (6, 2, DraftOutOfRange(3, 1)),
        (10, 5, DraftOutOfRange(9, 5)),
        (2, 2, DraftOutOfRange(3, 1)),
    ],
)
def test_the_draft_sends_back_to_the_end_of_the_largest_epoch_at_most_the_fetchers(
    offset, epoch, expected
):
    assert draft_validate_position(DRAFT_LEADER, offset, epoch) == expected


def test_the_draft_sends_below_its_first_epoch_to_the_log_start():
    assert draft_validate_position(view(10, 20, (3, 10)), 15, 1) == DraftOutOfRange(10, 3)
    assert draft_validate_position(view(10, 20, (3, 10)), 10, 1) == ValidPosition()


READER_LOG = view(10, 30, (1, 10), snapshots=[(10, 1)])


@pytest.mark.scenario("B29")
@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        pytest.param(9, OutOfRange(10, 20), id="below-log-start-never-a-snapshot"),
        pytest.param(10, Committed(20), id="B29-served-to-the-high-watermark"),
        pytest.param(19, Committed(20), id="last-committed"),
        pytest.param(20, CaughtUp(), id="B29-at-the-high-watermark"),
        pytest.param(21, Uncommitted(), id="case-1"),
        pytest.param(30, Uncommitted(), id="case-1-at-the-log-end"),
        pytest.param(31, Unavailable(), id="case-2"),
        pytest.param(40, Unavailable(), id="case-2-at-the-leaders-high-watermark"),
        pytest.param(41, OutOfRange(10, 20), id="above-both"),
    ],
)
def test_a_reader_is_served_to_the_high_watermark_and_told_why_not_further(offset, expected):
    assert reader_fetch(READER_LOG, 20, 40, offset) == expected


def test_a_reader_above_the_log_end_is_out_of_range_without_the_leaders_high_watermark():
    assert reader_fetch(READER_LOG, 20, None, 31) == OutOfRange(10, 20)


def test_a_new_leader_serves_nothing_above_its_log_start_until_its_epoch_commits():
    assert reader_fetch(READER_LOG, None, None, 10) == CaughtUp()
    assert reader_fetch(READER_LOG, None, None, 11) == Uncommitted()


def test_a_replica_that_knows_no_high_watermark_calls_nothing_out_of_range_but_what_is_gone():
    assert reader_fetch(READER_LOG, None, None, 31) == Unavailable()
    assert reader_fetch(READER_LOG, None, 30, 31) == OutOfRange(10, 10)
    assert reader_fetch(READER_LOG, None, None, 9) == OutOfRange(10, 10)


def test_a_follower_behind_a_raw_high_watermark_serves_its_log_and_waits_at_its_end():
    assert reader_fetch(READER_LOG, 50, 50, 12) == Committed(30)
    assert reader_fetch(READER_LOG, 50, 50, 30) == CaughtUp()


@pytest.mark.parametrize(
    ("offset", "epoch", "expected"),
    [
        pytest.param(15, 2, Committed(20), id="in-the-epoch-it-says"),
        pytest.param(16, 2, Committed(20), id="at-the-end-of-its-epoch"),
        pytest.param(17, 2, Diverging(2, 16), id="past-the-end-of-its-epoch"),
        pytest.param(25, 2, Diverging(2, 16), id="past-the-high-watermark-in-an-epoch-that-ended"),
        pytest.param(15, 3, Diverging(2, 16), id="in-an-epoch-that-never-was"),
        pytest.param(12, 0, Diverging(0, 10), id="in-an-epoch-before-the-log-start"),
        pytest.param(10, 0, Committed(20), id="at-the-log-start"),
        pytest.param(20, 4, CaughtUp(), id="at-the-high-watermark"),
        pytest.param(25, 4, Uncommitted(), id="ahead-in-the-newest-epoch-that-is-committed"),
        pytest.param(25, 6, Uncommitted(), id="by-an-epoch-whose-end-may-still-move"),
        pytest.param(35, 9, Unavailable(), id="by-an-epoch-that-is-unknown-here"),
        pytest.param(9, 2, OutOfRange(10, 20), id="below-the-log-start"),
    ],
)
def test_a_reader_diverges_only_by_what_is_committed(offset, epoch, expected):
    log = view(10, 30, (2, 10), (4, 16), (6, 22))
    assert reader_fetch(log, 20, 40, offset, epoch) == expected
