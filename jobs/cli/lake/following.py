"""`ingest --follow` without Spark: repeats an ingest whenever one of the logs has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from pipelines.sources.marks import Mark, marks_while_there


def follow(
    paths: Sequence[str], ingest: Callable[[], None], every_s: float, stop: threading.Event
) -> None:
    """Calls `ingest` at once, and again whenever a .log file at or below the paths has come, gone
    or changed since the last call began, until `stop` is set.

    every_s: the seconds between two checks of the files. A path that can't be read for a while
    counts as changed when it goes and when it is back. Raises whatever `ingest` raises.
    """
    seen: Mapping[str, Mapping[str, Mark] | None] | None = None
    while not stop.is_set():
        # taken before the ingest, so that the next ingest has what is written during this one
        now = {path: marks_while_there(path) for path in paths}
        if now != seen:
            ingest()
            seen = now
        stop.wait(every_s)
