"""The memory that Python's allocator gives to a piece of work."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable


def peak_of(work: Callable[[], object]) -> int:
    """The highest number of bytes that were allocated at once while `work` ran."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
