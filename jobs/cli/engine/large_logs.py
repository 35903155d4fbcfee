"""Lets a replica with a large log find its batches by the bulk reader's compiled code, where that
is installed and compiled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from replica.errors import KraftlakeError

LARGE_BYTES = 64 * 1024 * 1024
"""From this size of the log on, compiled code is worth the 0.3 s that loading it takes. Plain
Python takes as long to find the batches of such a log, if they have 170 bytes each."""


LOOK_EVERY_S = 10.0
"""How often the size of a small log is looked at while its replica runs."""


def prepare(log_dir: str) -> bool:
    """Load the compiled code that finds batches, if the log in `log_dir` is large. Returns whether
    it is large.

    It loads nothing where the bulk reader isn't installed, or where its code is not compiled yet: a
    replica doesn't wait for a compiler.
    """
    if log_bytes(log_dir) < LARGE_BYTES:
        return False
    with suppress(ImportError, KraftlakeError):
        from replica.scan import compiled_runs

        if compiled_runs.is_compiled():
            compiled_runs.load()
    return True


@asynccontextmanager
async def prepared_once_large(
    log_dir: str, look_every_s: float = LOOK_EVERY_S
) -> AsyncIterator[None]:
    """While the block runs, do `prepare` as soon as the log has become large.

    Batches are found not only where a log is opened, but for each answer to a reader, too. An
    observer's log is never cleaned, so one that began small may have to be read from its beginning
    a thousand times before the next start.
    """

    async def look() -> None:
        while not await asyncio.to_thread(prepare, log_dir):
            await asyncio.sleep(look_every_s)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


def log_bytes(log_dir: str) -> int:
    """The bytes of all segments of all partitions in `log_dir`. 0 for a folder that isn't there."""
    total = 0
    for path in Path(log_dir).glob("*/*.log"):
        with suppress(OSError):
            total += path.stat().st_size
    return total
