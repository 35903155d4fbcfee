"""Of ranges that overlap, at each offset the one with the highest ranks counts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipelines.cluster.overlaps import best_of_overlapping

_RANGE = st.tuples(
    st.integers(0, 30),
    st.integers(1, 8),
    st.integers(0, 2),
    st.integers(0, 2),
)


@given(st.lists(_RANGE, max_size=12))
def test_each_offset_has_the_range_that_counts_most_and_of_equals_the_first(
    ranges: list[tuple[int, int, int, int]],
) -> None:
    low, size, *ranks = np.array(ranges, np.int64).reshape(-1, 4).T
    best = best_of_overlapping((low, low + size), ranks)
    found = [
        (offset, claim)
        for start, end, claim in zip(*(column.tolist() for column in best), strict=True)
        for offset in range(start, end)
    ]
    expected = {}
    for offset in range(40):
        there = [n for n, one in enumerate(ranges) if one[0] <= offset < one[0] + one[1]]
        if there:
            expected[offset] = max(there, key=lambda n: (*ranges[n][2:], -n))
    assert found == sorted(expected.items())
