"""Interrupts that wait while a client library runs that can't pass them on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held_interrupts() -> Iterator[Callable[[], None]]:
    """Inside of the block, handlers of SIGINT and SIGTERM that are Python functions don't run. They
    run at its end, and where the block calls the function that it gets.

    confluent-kafka's `produce` needs it. It makes each header's name a str (PyObject_Str), where
    Python runs handlers; if one raises KeyboardInterrupt there, `produce` raises a TypeError in
    its place, and nothing shows that it was an interrupt. Outside of the main thread no handler
    runs anyway.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    found = {number: signal.getsignal(number) for number in _NUMBERS}
    before = {number: handler for number, handler in found.items() if callable(handler)}
    came: list[int] = []

    def let_through() -> None:
        while came:
            number = came.pop(0)
            before[signal.Signals(number)](number, None)

    for number in before:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield let_through
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        let_through()
