"""Work in threads while a block runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


@contextmanager
def in_threads(is_over: threading.Event, targets: Iterable[Callable[[], object]]) -> Iterator[None]:
    """Calls each target in a thread of its own. Leaving the block sets `is_over`, which tells the
    targets to return, and waits for their threads."""
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
