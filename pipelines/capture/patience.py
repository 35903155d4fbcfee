"""Calls of a library that nothing can interrupt. They run in a thread, so that the caller can give
up a call that an object store or another server doesn't answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from replica.errors import UnreadableFileError

T = TypeVar("T")
_LOOK_S = 0.2


class _Work(threading.Thread, Generic[T]):
    """A thread that makes one call. The process can end before the call does."""

    def __init__(self, call: Callable[[Callable[[], None]], T]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self.last_step = time.monotonic()
        self.found: list[T] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self.found.append(self._call(self._step))
        except BaseException as error:  # noqa: BLE001 (raised by `within`)
            self.failure = error

    def _step(self) -> None:
        self.last_step = time.monotonic()


class TooSlowError(Exception):
    """A step of a call takes too long."""


def within(limit_s: float, call: Callable[[Callable[[], None]], T]) -> T:
    """The result of `call`, which gets a function to call after each step. Ctrl-C ends the wait,
    though it may not end the call. Raises TooSlowError where a step takes longer than limit_s
    seconds, and what `call` raises."""
    work = _Work(call)
    work.start()
    while work.is_alive():
        work.join(_LOOK_S)
        if work.is_alive() and time.monotonic() - work.last_step > limit_s:
            raise TooSlowError
    if work.failure is not None:
        raise work.failure
    return work.found[0]


def patiently(call: Callable[[Callable[[], None]], T], shown: str, within_s: float, what: str) -> T:
    """The result of `call`, as by `within`. Raises UnreadableFileError, which names the place
    `shown`, instead of TooSlowError. what: the words for the step that is waited for."""
    try:
        return within(within_s, call)
    except TooSlowError:
        reason = f"the store gave no end of {what} within {within_s:.0f} s: try again, or later"
        raise UnreadableFileError(shown, reason) from None


def goes_on() -> bool:
    """Whether a call still runs whose caller no longer waits for it. At its normal end, an
    interpreter waits in pyarrow for the end of the call, which may never come."""
    return any(isinstance(thread, _Work) for thread in threading.enumerate())
