"""Finds runs of batches by compiled code, for replicas with large logs.

A replica needs neither numba nor numpy, and finds runs by replica.format.runs.plain_run. If the
bulk reader is installed, its kernel finds the same runs at twenty times the speed. Loading the
kernel takes a quarter of a second and 60 MiB, of which 48 MiB are file pages, so a small log is
read without the kernel.
"""

from __future__ import annotations

import numpy as np

from replica.format.batch import HEADER, decode_header
from replica.format.runs import Due, Place, Run, plain_run, use
from replica.scan import frames as t
from replica.scan import store
from replica.scan.compiled import find_run

SMALL_BYTES = 16 * 1024
"""The fewest bytes for which the kernel is called. In the time of a call, plain Python finds dozens
of batches."""
_MAX_LONG = (1 << 63) - 1


def is_compiled() -> bool:
    """Whether the kernel is compiled already, so that `load` needs no compiler."""
    return store.find(find_run.name) is not None


def load() -> None:
    """Let this process find runs by the kernel from now on. Raises UsageError if the kernel must be
    compiled and numba isn't installed, and KraftlakeError if the compiler fails."""
    find_run.load()
    use(compiled_run)


def compiled_run(
    view: memoryview, place: Place, epoch: int, room: int, interval: int
) -> Run | None:
    """The run that plain_run finds; None if plain_run finds none. A run ends behind the DUES-th
    batch that gets an entry in the index."""
    at, start, expected, end_offset = place
    if len(view) - at < max(SMALL_BYTES, HEADER.size) or expected < 0:
        return plain_run(view, place, epoch, room, interval)
    due, state = np.empty(t.DUES * t.DUE_COLUMNS, np.int64), np.empty(t.RUN_ITEMS, np.int64)
    limit = min(max(at + room, -1), _MAX_LONG)
    end_offset, interval = min(end_offset, _MAX_LONG), min(interval, _MAX_LONG // 2)
    array = np.frombuffer(view, np.uint8)
    count = find_run(array, at, expected, end_offset, epoch, limit, interval, due, state)
    found = state.tolist()
    if found[t.RUN_POSITION] == at:
        return None
    rows = due[: count * t.DUE_COLUMNS].reshape(-1, t.DUE_COLUMNS).tolist()
    return Run(
        start + at,
        start + found[t.RUN_POSITION],
        expected,
        found[t.RUN_EXPECTED] - 1,
        epoch,
        decode_header(view, at).max_timestamp,
        found[t.RUN_LATEST],
        found[t.RUN_OFFSET_OF_LATEST],
        False,
        [Due(start + position, *rest) for position, *rest in rows],
    )
