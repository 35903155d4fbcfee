"""Lets a replica with large files find their batches, and replay their records, by the bulk
reader's compiled code, where that is installed and compiled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from replica.errors import KraftlakeError
from replica.machines import metadata

LARGE_BYTES = 64 * 1024 * 1024
"""From this size of the log on, compiled code is worth the 0.3 s and 60 MiB that loading it takes.
Plain Python takes as long to find the batches of such a log, if they have 170 bytes each."""
LARGE_REPLAY_BYTES = 16 * 1024 * 1024
"""The same for a replica that replays its log and snapshots: plain Python takes 8 to 14 s for
16 MiB of metadata records."""
LOOK_EVERY_S = 10.0
"""How often the size of a small log is looked at while its replica runs."""


def prepare(log_dir: str, *, replays: bool = False) -> bool:
    """Load the compiled code that finds batches and replays records, if the files in `log_dir` are
    large. Returns whether they are. replays: whether the replica replays metadata records.

    It loads nothing where the bulk reader isn't installed, or where its code is not compiled yet: a
    replica doesn't wait for a compiler.
    """
    log_bytes = file_bytes(log_dir, "*/*.log")
    replayed = log_bytes + file_bytes(log_dir, "*/*.checkpoint") if replays else 0
    if log_bytes < LARGE_BYTES and replayed < LARGE_REPLAY_BYTES:
        return False
    with suppress(ImportError, KraftlakeError):
        from replica.scan import compiled_runs, stored_replay

        if compiled_runs.is_compiled():
            compiled_runs.load()
        if stored_replay.is_compiled():
            stored_replay.load()
            metadata.use(stored_replay.replay_stored)
    return True


@asynccontextmanager
async def prepared_once_large(
    log_dir: str, look_every_s: float = LOOK_EVERY_S, *, replays: bool = False
) -> AsyncIterator[None]:
    """While the block runs, call `prepare` as soon as the log has become large.

    A replica looks for batches when it opens a log, and for each answer to a reader, too. An
    observer's log is never cleaned, so the observer may have to read a log that began small from
    its beginning a thousand times before the next start.

    look_every_s: the time between two looks at the log's size, in seconds.
    replays: see prepare.
    """

    async def look() -> None:
        while not await asyncio.to_thread(prepare, log_dir, replays=replays):
            await asyncio.sleep(look_every_s)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


def file_bytes(log_dir: str, pattern: str) -> int:
    """The bytes of all files in `log_dir` that the pattern names, such as "*/*.log" for the
    segments of all partitions. 0 for a folder that isn't there."""
    total = 0
    for path in Path(log_dir).glob(pattern):
        with suppress(OSError):
            total += path.stat().st_size
    return total
