"""Finds which of overlapping ranges counts at each offset, by their ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipelines.cluster.batches import Longs


class Best(NamedTuple):
    """Ranges that don't overlap, ascending, from low (inclusive) to high (exclusive)."""

    low: Longs
    high: Longs
    claim: Longs
    """For each range from low to high, the index of the given range that counts there."""


def best_of_overlapping(
    ranges: tuple[Longs, Longs], ranks: Sequence[npt.NDArray[np.generic]]
) -> Best:
    """For each offset, the range with the highest rank of the ranges that contain the offset.

    ranges: the first offsets (inclusive) and the ends (exclusive), an entry for each range; no
        range is empty.
    ranks: several ranks, each with an entry for each range. A later rank decides only between
        ranges whose earlier ranks are equal. Where all ranks are equal, the earlier range counts.
    """
    low, high = ranges
    if not len(low):
        return Best(low, high, np.zeros(0, np.int64))
    place = np.empty(len(low), np.int64)
    # The higher the place, the more a range counts. lexsort is stable, so the first of equal ranges
    # is highest.
    place[np.lexsort([one[::-1] for one in ranks[::-1]])] = np.arange(len(low))
    place = place[::-1]
    order = np.lexsort([-place, high, low])
    is_new = np.ones(len(order), bool)
    is_new[1:] = (low[order][1:] != low[order][:-1]) | (high[order][1:] != high[order][:-1])
    kept = order[is_new]
    ends = np.maximum.accumulate(high[kept])
    starts = np.flatnonzero(np.append(True, low[kept][1:] >= ends[:-1]))
    sizes = np.diff(np.append(starts, len(kept)))
    alone = kept[starts[sizes == 1]]
    found = [Best(low[alone], high[alone], alone)]
    together = zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True)
    swept = [
        one
        for start, size in together
        for one in _swept(kept[start : start + size], low, high, place)
    ]
    if swept:
        found.append(Best(*np.array(swept, np.int64).T))
    joined = Best(*map(np.concatenate, zip(*found, strict=True)))
    in_order = np.argsort(joined.low, kind="stable")
    return Best(*(column[in_order] for column in joined))


def _swept(claims: Longs, low: Longs, high: Longs, place: Longs) -> Iterator[tuple[int, int, int]]:
    """The ranges that count. claims: the indexes of ranges that together cover all offsets from the
    first one to the last, sorted by their starts. place: of two ranges the one with the higher
    place counts."""
    starts, ends = low[claims].tolist(), high[claims].tolist()
    waiting = list(zip(starts, (-place[claims]).tolist(), ends, claims.tolist(), strict=True))
    waiting.reverse()
    open_: list[tuple[int, int, int]] = []
    for start, end in pairwise(sorted({*starts, *ends})):
        while waiting and waiting[-1][0] <= start:
            heappush(open_, waiting.pop()[1:])
        while open_ and open_[0][1] <= start:
            heappop(open_)
        if open_:
            yield start, end, open_[0][2]
