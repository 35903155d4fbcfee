"""The logs of a capture group with runs of batches in the place of batches.

A run is a range of neighbouring batches of one epoch that every log of the group holds either
completely or not at all. replica.history compares epochs and contents at offsets, so runs give it
the same results as their batches. The logs of a quorum differ at few places, so a log of a hundred
thousand batches has a handful of runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipelines.in_memory.batches import Longs
from replica.history.log import LogBatch

_NONE, _SEVERAL, _UNSEEN = -1, -2, -3
"""Stand for the neighbour of an entry. _NONE: the entry has no neighbour in the logs. _SEVERAL: two
logs have different neighbours of it. _UNSEEN: no log has held the entry so far."""


@dataclass(frozen=True)
class HeldEntries:
    """The batches of one log, sorted by offset, not overlapping. entry: a number for each batch,
    from 0 on, which is the same for equal batches of all logs. base_offset, last_offset:
    inclusive."""

    entry: Longs
    base_offset: Longs
    last_offset: Longs
    epoch: Longs


def runs_of(logs: Sequence[HeldEntries]) -> list[tuple[LogBatch, ...]]:
    """The runs of each log, as the batches that replica.history compares."""
    count = max((int(log.entry.max()) + 1 for log in logs if len(log.entry)), default=0)
    before, behind = np.full((2, count), _UNSEEN)
    for log in logs:
        previous, following = _neighbours(log)
        for known, found in ((before, previous), (behind, following)):
            is_same = (known[log.entry] == _UNSEEN) | (known[log.entry] == found)
            known[log.entry] = np.where(is_same, found, _SEVERAL)
    begins = before < 0
    others = np.flatnonzero(~begins)
    begins[others] = behind[before[others]] != others
    return [_runs(log, np.flatnonzero(begins[log.entry])) for log in logs]


def _neighbours(log: HeldEntries) -> tuple[Longs, Longs]:
    """For each entry of the log the entries right before it and right behind it. An entry of
    another epoch, and one beyond a hole, is no neighbour."""
    is_next = (log.base_offset[1:] == log.last_offset[:-1] + 1) & (log.epoch[1:] == log.epoch[:-1])
    previous, following = np.full((2, len(log.entry)), _NONE)
    previous[1:] = np.where(is_next, log.entry[:-1], _NONE)
    following[:-1] = np.where(is_next, log.entry[1:], _NONE)
    return previous, following


def _runs(log: HeldEntries, firsts: Longs) -> tuple[LogBatch, ...]:
    """The runs that begin at these indexes. The first entry stands for the content of its run,
    because all logs that hold this entry hold the same run."""
    lasts = np.append(firsts, len(log.entry))[1:] - 1
    columns = log.base_offset[firsts], log.last_offset[lasts], log.epoch[firsts], log.entry[firsts]
    return tuple(map(LogBatch, *(column.tolist() for column in columns)))
