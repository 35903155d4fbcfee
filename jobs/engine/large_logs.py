"""Has a replica with a large log find its batches by the bulk reader's machine code, where that is
installed and compiled."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from replica.errors import KraftlakeError

LARGE_BYTES = 64 * 1024 * 1024
"""The size of log from which on machine code is worth its loading, which takes about 0.3 s. Plain
Python takes as long to find the batches of such a log, if they have 170 bytes each."""


def prepare(log_dir: str) -> None:
    """Have this process find batches by machine code where the log in `log_dir` is large.

    It does nothing where the bulk reader isn't installed, or where its code is not compiled yet: a
    replica's start doesn't wait for a compiler.
    """
    if log_bytes(log_dir) < LARGE_BYTES:
        return
    with suppress(ImportError, KraftlakeError):
        from replica.scan import compiled_runs

        if compiled_runs.is_compiled():
            compiled_runs.load()


def log_bytes(log_dir: str) -> int:
    """The bytes of all segments of all partitions in `log_dir`. 0 for a folder that isn't there."""
    total = 0
    for path in Path(log_dir).glob("*/*.log"):
        with suppress(OSError):
            total += path.stat().st_size
    return total
