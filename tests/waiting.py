"""Waits for events in other processes."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(
    is_so: Callable[[], bool], otherwise: str | Callable[[], str], within_s: float = 120.0
) -> None:
    """Returns as soon as `is_so` gives True. Fails with the text of `otherwise` where that takes
    more than `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline, otherwise if isinstance(otherwise, str) else otherwise()
        time.sleep(0.2)
