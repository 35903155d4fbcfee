"""Records that wait to become batches: the linger, sizes and order (scenarios J)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.format.record import batch_size
from replica.format.whole_batch import value_batch
from replica.raft.config import FOREVER
from replica.raft.leader.accumulator import BatchAccumulator, BufferAllocationError

LINGER = 50
LARGE = 10**6


def accumulator(linger_ms=LINGER, max_batch_bytes=LARGE, max_batches=10):
    return BatchAccumulator(linger_ms, max_batch_bytes, max_batches)


@pytest.mark.scenario("J15")
def test_the_linger_begins_with_the_first_append_and_an_empty_accumulator_waits_for_ever():
    waiting = accumulator()
    assert waiting.deadline == FOREVER
    waiting.append([b"a"], now_ms=1000)
    assert waiting.deadline == 1050
    waiting.append([b"b"], now_ms=1020)
    assert waiting.deadline == 1050
    assert [(each.timestamp, each.values) for each in waiting.drain()] == [(1000, [b"a", b"b"])]
    assert waiting.deadline == FOREVER
    assert waiting.drain() == []
    waiting.append([b"c"], now_ms=2000)
    assert waiting.deadline == 2050


@pytest.mark.scenario("J08")
def test_appends_within_the_linger_make_one_batch():
    waiting = accumulator()
    for values in ([b"a"], [b"b", b"c"], [b"d", b"e", b"f"]):
        waiting.append(values, now_ms=0)
    assert waiting.record_count == 6
    assert [each.values for each in waiting.drain()] == [[b"a", b"b", b"c", b"d", b"e", b"f"]]
    assert waiting.record_count == 0


@pytest.mark.scenario("J10")
def test_a_hundred_records_and_a_small_limit_make_several_batches_none_above_it():
    limit = 256
    waiting = accumulator(max_batch_bytes=limit, max_batches=100)
    values = [b"record %03d" % number for number in range(100)]
    for value in values:
        waiting.append([value], now_ms=0)
    drained = waiting.drain()
    assert len(drained) > 5
    sizes = [len(value_batch(0, 1, 0, batch.values)) for batch in drained]
    assert max(sizes) <= limit
    assert min(sizes[:-1]) > limit - batch_size([values[0]])
    assert [value for batch in drained for value in batch.values] == values


def test_the_records_of_one_append_are_never_split():
    pair = [b"x" * 50, b"y" * 50]
    waiting = accumulator(max_batch_bytes=batch_size([b"first", *pair]) - 1)
    waiting.append([b"first"], now_ms=0)
    waiting.append(pair, now_ms=0)
    assert [batch.values for batch in waiting.drain()] == [[b"first"], pair]


@pytest.mark.scenario("J04", "J12")
def test_no_more_batches_wait_than_may():
    waiting = accumulator(max_batch_bytes=batch_size([b"1"]), max_batches=2)
    waiting.append([b"1"], now_ms=0)
    waiting.append([b"2"], now_ms=0)
    with pytest.raises(BufferAllocationError, match="2 batches wait"):
        waiting.append([b"3"], now_ms=0)
    assert waiting.record_count == 2
    assert [batch.values for batch in waiting.drain()] == [[b"1"], [b"2"]]
    waiting.append([b"3"], now_ms=0)
    assert waiting.record_count == 1


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=200))
def test_the_size_of_a_batch_is_that_of_its_bytes(lengths):
    values = [bytes(length) for length in lengths]
    assert batch_size(values) == len(value_batch(7, 3, 1_700_000_000_000, values))


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(st.binary(max_size=40), min_size=1, max_size=4)),
        st.tuples(st.just("drain"), st.none()),
    ),
    max_size=30,
)


@given(EVENTS)
def test_all_records_come_out_once_in_order_and_in_batches_within_the_limits(events):
    limit, most = 300, 4
    waiting = accumulator(max_batch_bytes=limit, max_batches=most)
    accepted, drained = [], []
    for kind, values in events:
        if kind == "append":
            try:
                waiting.append(values, now_ms=0)
            except BufferAllocationError:
                continue
            accepted += values
        else:
            drained += waiting.drain()
    drained += waiting.drain()
    assert [value for batch in drained for value in batch.values] == accepted
    assert all(batch_size(batch.values) <= limit for batch in drained)
    assert waiting.record_count == 0
    assert waiting.deadline == FOREVER
