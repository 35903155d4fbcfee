"""Turns Python's search for cyclic garbage off for a while."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Turns Python's search for cyclic garbage off, for work that makes millions of values without
    a cycle among them, such as a replay. The search would take up to a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
