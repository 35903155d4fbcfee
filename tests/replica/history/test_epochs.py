"""The leader-epoch cache; scenario ids (A..) are those of the catalogue of Kafka's own tests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.history.epochs import (
    UNDEFINED,
    assign,
    end_offset_for,
    epoch_for_offset,
    kraft_end_offset_for,
    truncate_from_end,
    truncate_from_start,
)
from replica.history.log import LogBatch, epochs_of
from replica.model.epochs import EpochStart, OffsetAndEpoch


def entries(*pairs: tuple[int, int]) -> tuple[EpochStart, ...]:
    """(epoch, start offset) pairs."""
    return tuple(EpochStart(epoch, start) for epoch, start in pairs)


GAPS = entries((0, 10), (2, 13), (4, 17))
THREE = entries((2, 6), (3, 8), (4, 11))


@pytest.mark.scenario("A01", "A02", "A04", "A05", "A06", "A18", "A19")
@pytest.mark.parametrize(
    ("cache", "log_end", "epoch", "expected"),
    [
        pytest.param(GAPS, 20, 1, OffsetAndEpoch(13, 0), id="A01-missing-epoch"),
        pytest.param(entries((2, 100)), 120, 3, UNDEFINED, id="A02-above-every-known-epoch"),
        pytest.param(GAPS, 20, 4, OffsetAndEpoch(20, 4), id="A04-latest-epoch"),
        pytest.param(entries((5, 11), (6, 12)), 14, 4, OffsetAndEpoch(11, 4), id="A05-below-first"),
        pytest.param(entries((1, 3), (2, 6), (3, 9)), 12, 2, OffsetAndEpoch(9, 2), id="A06-middle"),
        pytest.param((), 7, 3, UNDEFINED, id="A18-empty-cache"),
        pytest.param(GAPS, 20, -1, UNDEFINED, id="A19-undefined-epoch"),
        pytest.param(GAPS, 20, 0, OffsetAndEpoch(13, 0), id="epoch-0-is-an-epoch-like-any"),
    ],
)
def test_the_cache_answers_the_largest_known_epoch_and_its_end(cache, log_end, epoch, expected):
    assert end_offset_for(cache, log_end, epoch) == expected


def test_the_worked_example_of_seed_004_makes_the_old_leader_truncate_to_5():
    new_leader = entries((1, 1), (2, 5))
    assert end_offset_for(new_leader, 8, 1) == OffsetAndEpoch(5, 1)
    assert end_offset_for(new_leader, 8, 2) == OffsetAndEpoch(8, 2)


@pytest.mark.scenario("A03")
@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(0, (0, 0)), (1, (15, 1)), (2, (15, 1)), (3, (20, 3)), (4, (30, 4)), (5, (30, 4))],
)
def test_the_kraft_log_clamps_to_its_end_above_the_newest_epoch(epoch, expected):
    log = entries((1, 0), (3, 15), (4, 20))
    assert kraft_end_offset_for(log, 30, None, epoch) == OffsetAndEpoch(*expected)


@pytest.mark.scenario("A02", "A03", "T10")
def test_above_every_known_epoch_the_cache_knows_nothing_and_the_kraft_log_its_end():
    log = entries((1, 0), (3, 15), (4, 20))
    assert end_offset_for(log, 30, 5) == UNDEFINED
    assert kraft_end_offset_for(log, 30, None, 5) == OffsetAndEpoch(30, 4)


@pytest.mark.scenario("A22", "B06")
def test_the_kraft_log_answers_the_snapshot_id_below_its_first_epoch():
    """A22, B06: the log starts behind snapshot (5, e0) and holds only epoch 3."""
    snapshot = OffsetAndEpoch(5, 0)
    assert kraft_end_offset_for(entries((3, 5)), 9, snapshot, 0) == snapshot
    assert kraft_end_offset_for(entries((3, 5)), 9, snapshot, 2) == snapshot


def test_an_empty_kraft_log_ends_in_the_epoch_of_its_snapshot():
    assert kraft_end_offset_for((), 10, OffsetAndEpoch(10, 3), 2) == OffsetAndEpoch(10, 3)
    assert kraft_end_offset_for((), 0, None, 2) == OffsetAndEpoch(0, 0)


@pytest.mark.scenario("A21", "A24")
def test_an_epoch_without_records_is_forgotten_when_the_next_starts_at_its_offset():
    """A21 and A24: epochs are known before any record of theirs."""
    cache = assign(entries((1, 0)), 2, 5)
    assert cache[-1].epoch == 2
    cache = assign(cache, 3, 5)
    assert kraft_end_offset_for(cache, 5, None, 2) == OffsetAndEpoch(5, 1)


@pytest.mark.scenario("A07", "A08", "A09", "A10", "A11")
@pytest.mark.parametrize(
    ("cache", "epoch", "start", "expected"),
    [
        pytest.param(entries((2, 9)), 3, 9, entries((3, 9)), id="A07-same-start"),
        pytest.param(entries((2, 6)), 3, 5, entries((3, 5)), id="A08-offset-falls"),
        pytest.param(entries((1, 5), (2, 6)), 1, 7, entries((1, 7)), id="A09-epoch-falls"),
        pytest.param(
            entries((5, 11), (6, 12), (7, 13)), 7, 12, entries((5, 11), (7, 12)), id="A10-earlier"
        ),
        pytest.param(entries((2, 6)), 2, 10, entries((2, 6)), id="A11-first-start-kept"),
        pytest.param((), 0, 4, entries((0, 4)), id="first-entry"),
    ],
)
def test_assigning_an_epoch_keeps_both_columns_ascending(cache, epoch, start, expected):
    assert assign(cache, epoch, start) == expected


@pytest.mark.scenario("A10")
def test_both_ends_point_to_the_new_start_after_an_earlier_assignment():
    cache = assign(entries((5, 11), (6, 12), (7, 13)), 7, 12)
    assert end_offset_for(cache, 20, 5) == end_offset_for(cache, 20, 6) == OffsetAndEpoch(12, 5)


@pytest.mark.scenario("A25")
def test_ends_follow_the_leader_changes():
    """A25: epoch 0 never wrote."""
    cache = assign(assign(assign((), 0, 0), 1, 0), 2, 5)
    assert end_offset_for(cache, 9, 0).offset == 0
    assert end_offset_for(cache, 9, 1).offset == 5


@pytest.mark.scenario("A12", "A13", "A17")
@pytest.mark.parametrize(
    ("end", "expected"),
    [
        pytest.param(8, entries((2, 6)), id="A12-on-a-boundary"),
        pytest.param(9, entries((2, 6), (3, 8)), id="A13-between"),
        pytest.param(-1, THREE, id="A17-undefined"),
        pytest.param(6, (), id="everything"),
    ],
)
def test_cutting_the_tail_drops_epochs_that_start_at_or_after_the_cut(end, expected):
    assert truncate_from_end(THREE, end) == expected


@pytest.mark.scenario("A14", "A15", "A16", "A17")
@pytest.mark.parametrize(
    ("start", "expected"),
    [
        pytest.param(9, entries((3, 9), (4, 11)), id="A14-between"),
        pytest.param(15, entries((4, 15)), id="A15-past-the-end"),
        pytest.param(1, THREE, id="A16-before-the-first"),
        pytest.param(6, THREE, id="A16-at-the-first"),
        pytest.param(8, entries((3, 8), (4, 11)), id="on-a-boundary"),
        pytest.param(-1, THREE, id="A17-undefined"),
    ],
)
def test_cutting_the_head_moves_the_first_epoch_up_and_keeps_the_last(start, expected):
    assert truncate_from_start(THREE, start) == expected


@pytest.mark.scenario("A18")
def test_cutting_an_empty_cache_does_nothing():
    assert truncate_from_end((), 3) == truncate_from_start((), 3) == ()


@pytest.mark.scenario("A20")
@pytest.mark.parametrize(("offset", "epoch"), [(20, 1), (25, 1), (50, 5), (5, None)])
def test_the_epoch_of_an_offset_is_the_last_one_started(offset, epoch):
    assert epoch_for_offset(entries((0, 10), (1, 20), (5, 30)), offset) == epoch


def test_a_cache_from_batches_has_each_epoch_once_at_its_first_offset():
    batches = (LogBatch(3, 4, 1, "a"), LogBatch(5, 5, 1, "b"), LogBatch(9, 9, 4, "c"))
    assert epochs_of(batches) == entries((1, 3), (4, 9))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), max_size=8))
def test_no_sequence_of_assignments_breaks_the_order(assignments):
    cache: tuple[EpochStart, ...] = ()
    for epoch, start in assignments:
        cache = assign(cache, epoch, start)
        assert cache[-1].epoch == epoch
    epochs = [entry.epoch for entry in cache]
    starts = [entry.start_offset for entry in cache]
    assert epochs == sorted(set(epochs))
    assert starts == sorted(set(starts))


@given(st.sets(st.integers(0, 9), min_size=1, max_size=5), st.integers(1, 5), st.integers(-1, 11))
def test_the_end_of_an_epoch_is_where_brute_force_finds_it(epochs, size, asked):
    """Each epoch writes `size` offsets, one after another."""
    ordered = sorted(epochs)
    cache = tuple(EpochStart(epoch, i * size) for i, epoch in enumerate(ordered))
    end = len(ordered) * size
    held = [epoch for epoch in ordered for _ in range(size)]
    expected = OffsetAndEpoch(
        sum(epoch <= asked for epoch in held),
        max((epoch for epoch in ordered if epoch <= asked), default=asked),
    )
    if asked == -1 or asked > ordered[-1]:
        assert end_offset_for(cache, end, asked) == UNDEFINED
    else:
        assert end_offset_for(cache, end, asked) == expected
