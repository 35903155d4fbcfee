"""Samples processes repeatedly while something is measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.in_threads import in_threads


@contextmanager
def sampled(look: Callable[[], None], every_s: float) -> Iterator[None]:
    """Calls `look` every `every_s` seconds in a thread of its own, until the block ends."""
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(every_s):
            look()

    with in_threads(is_over, [run]):
        yield
