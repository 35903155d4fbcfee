"""Keeps the rounds of Python's garbage collector short in a process with a large state.

A full round looks at each object that lives: some 200 ms for the metadata of 200,000 partitions, in
which the event loop stands still. There was one after every 50,000 changes.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_S = 0.01


@contextmanager
def short_rounds(
    longest_s: float = LONGEST_S, now: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Within this context, the garbage collector no longer visits objects that have outlived a
    collection of more than `longest_s` seconds.

    They are freed nevertheless once nothing refers to them. Only those that refer to each other in
    a circle would stay, and the state of a replica has no circles. Because it takes some 50,000 new
    objects to make a round so long, few others are ever among them.
    """
    began = 0.0

    def note(phase: str, _: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = now()
        elif now() - began > longest_s:
            gc.freeze()

    gc.callbacks.append(note)
    try:
        yield
    finally:
        gc.callbacks.remove(note)
        gc.unfreeze()
