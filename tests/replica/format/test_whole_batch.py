"""Batches of values: the quick way gives the bytes of the way that takes any record."""

from hypothesis import example, given
from hypothesis import strategies as st

from replica.format.batch import decode_header
from replica.format.record import Record, records_of
from replica.format.whole_batch import record_batch, value_batch

OFFSET, EPOCH, TIME = 7, 3, 1_700_000_000_000
LENGTHS = st.sampled_from((0, 1, 54, 55, 56, 57, 58, 59, 63, 64, 8183, 8184, 8191, 8192))
VALUES = st.lists(st.one_of(st.binary(max_size=70), LENGTHS.map(bytes)), min_size=1, max_size=80)


@given(VALUES)
@example([b"x"] * 8200)
def test_a_batch_of_values_is_the_batch_of_records_that_have_these_values(values):
    records = [Record(OFFSET + at, TIME, None, value) for at, value in enumerate(values)]
    batch = value_batch(OFFSET, EPOCH, TIME, values)
    assert batch == record_batch(OFFSET, EPOCH, TIME, records)
    assert list(records_of(decode_header(batch), batch)) == records
