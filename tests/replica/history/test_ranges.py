"""Range algebra against sets of integers."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from replica.history.log import LogBatch, OffsetRange, ReplicaLog, contiguous_runs
from replica.history.ranges import below, difference, intersection, union
from replica.model.keys import ReplicaKey

RAW = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 6)).map(lambda p: OffsetRange(p[0], p[0] + p[1])),
    max_size=6,
)


def offsets(ranges):
    return {offset for r in ranges for offset in range(r.start, r.end)}


def is_normal(ranges):
    return all(r.size > 0 for r in ranges) and all(a.end < b.start for a, b in pairwise(ranges))


@given(RAW, RAW, st.integers(0, 40))
def test_ranges_behave_as_sets_of_offsets(left, right, end):
    one, other = union(left), union(right)
    assert is_normal(one)
    assert offsets(one) == offsets(left)
    assert offsets(union(left, right)) == offsets(left) | offsets(right)
    assert offsets(intersection(one, other)) == offsets(left) & offsets(right)
    assert offsets(difference(one, other)) == offsets(left) - offsets(right)
    assert offsets(below(one, end)) == {offset for offset in offsets(left) if offset < end}


@given(st.sets(st.integers(0, 12)), st.integers(0, 26))
def test_held_offsets_and_runs_leave_holes_out(present, start):
    """Batches of two offsets each, some missing."""
    batches = tuple(LogBatch(2 * i, 2 * i + 1, 1, i) for i in sorted(present))
    held = {offset for i in present for offset in (2 * i, 2 * i + 1)}
    log = ReplicaLog(ReplicaKey(1), 0, batches)
    assert is_normal(contiguous_runs(batches))
    assert offsets(contiguous_runs(batches)) == held
    assert log.held_from(start) == sum(offset >= start for offset in held)
    assert (log.batch_at(start) is not None) == (start in held)
