"""Work in a thread until it must end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Self


class Background:
    """Work that is started on entry; on exit it is ended and waited for. failure: the error that
    ended it before."""

    def __init__(self, work: Callable[[threading.Event], None]) -> None:
        """work: ends soon after the event is set."""
        self.failure: BaseException | None = None
        self._work = work
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._work(self._stop)
        except BaseException as error:  # noqa: BLE001 - whoever waits for the end is told
            self.failure = error
