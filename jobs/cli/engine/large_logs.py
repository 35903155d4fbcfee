"""Lets a replica with large files use the bulk reader's compiled code, where that is installed and
compiled. The code finds the batches in the files, and replays their records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from replica.errors import KraftlakeError
from replica.machines import metadata

LARGE_BYTES = 64 * 1024 * 1024
"""The size of the log from which on compiled code is worth its loading, which takes 0.3 s and 60
MiB. Plain Python takes as long to find the batches of such a log, if they have 170 bytes each."""
LARGE_REPLAY_BYTES = 16 * 1024 * 1024
"""The size of the files from which on compiled code is worth its loading for a replica that replays
its log and snapshots: plain Python takes 8 to 14 s for 16 MiB of metadata records."""
LOOK_EVERY_S = 10.0
"""The seconds between two checks of a small log's size while its replica runs."""


def prepare(log_dir: str, *, replays: bool = False) -> bool:
    """Loads the compiled code that finds batches and replays records, if the files in `log_dir` are
    large. Returns whether they are. replays: whether the replica replays metadata records.

    It loads nothing where the bulk reader isn't installed, or where its code is not compiled yet,
    because a replica doesn't wait for a compiler.
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
    """While the block runs, calls `prepare` as soon as the log has become large.

    A replica searches for batches when it opens a log, and also for each answer to a reader. An
    observer's log is never cleaned. So before its next start an observer may read a log a thousand
    times from the beginning, even if the log was small at first.

    look_every_s: the seconds between two checks of the log's size.
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
    """The bytes of all files in `log_dir` that match the pattern, such as "*/*.log" for the
    segments of all partitions. 0 for a folder that doesn't exist."""
    total = 0
    for path in Path(log_dir).glob(pattern):
        with suppress(OSError):
            total += path.stat().st_size
    return total
