"""Windows of a round: each offset of a replica lies in one of them, and none is too large."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.bronze import batch_windows
from pipelines.bronze.batch_windows import Touched, _Batches, _cut
from pipelines.bronze.log_ranges import LogRange
from pipelines.sources.ranges import RangePartition
from replica.model.keys import ReplicaId

REPLICA = ReplicaId("c", 1, "d")
_OFFSETS = st.lists(st.integers(-5, 60), max_size=60)


def part(number: int) -> LogRange:
    return LogRange(RangePartition("path", "shown", number, number + 1, None), REPLICA)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_OFFSETS, st.lists(st.lists(st.integers(-5, 60), min_size=1, max_size=9), max_size=9))
def test_the_stretches_of_a_replica_have_each_offset_and_the_parts_that_hold_it(
    monkeypatch: pytest.MonkeyPatch, known: list[int], held: list[list[int]]
) -> None:
    monkeypatch.setattr(batch_windows, "MOST_ROWS", 7)
    parts = [(part(number), min(some), max(some)) for number, some in enumerate(held)]
    new = [offset for some in held for offset in some]
    batches = _Batches(np.array(new, np.int64), tuple(parts))
    found = list(_cut(REPLICA, Touched(), np.array(known, np.int64), batches))
    assert (found[0].start, found[-1].end) == (None, None)
    assert all(one.end == other.start for one, other in pairwise(found))
    assert sum(one.known for one in found) == len(known)
    assert sum(one.new for one in found) == len(new)
    for stretch in found:
        offsets = {offset for offset in (*known, *new) if _lies_in(stretch, offset)}
        assert stretch.size <= 7 or len(offsets) == 1
        for number, some in enumerate(held):
            if any(_lies_in(stretch, offset) for offset in some):
                assert part(number) in stretch.parts


def _lies_in(stretch: batch_windows.LogStretch, offset: int) -> bool:
    begins = stretch.start is None or offset >= stretch.start
    return begins and (stretch.end is None or offset < stretch.end)
