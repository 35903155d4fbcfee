"""One writer at a time in an object store. A store has no locks, so each writer leaves a claim.

A claim is an object below one prefix. A writer makes its own claim and then lists the claims of
others. A store lists what was written before (S3 does since 2020). So of two writers that come at
once at least one sees the other. A writer that sees another claim removes its own, and tries again
later.

A claim is renewed while its owner lives. A claim that was not renewed for EXPIRED_AFTER_S, by the
store's clock, belongs to an owner that was killed, and is removed. An owner that was cut off for
that long may continue beside another writer; at its end it gets an error. Its writes are sound
nevertheless: commits are Delta's, and a job that runs again adds nothing twice.
"""

from __future__ import annotations

import random
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from pipelines.lake import Lake
from pipelines.object_store import opened
from replica.errors import UnwritableFileError, UsageError

FOLDER = "_ingest.claims"
"""The folder of the claims, below the lake."""
RENEWED_EVERY_S = 30.0
EXPIRED_AFTER_S = 300.0
_TRIED_EVERY_S = 2.0


@contextmanager
def claimed(lake: Lake, waiting: Callable[[], None]) -> Iterator[None]:
    """Holds a claim on the lake while the block runs. waiting: is called once where another process
    holds the lake.

    Raises UnwritableFileError where the store refuses; UsageError, at the end, where the claim was
    lost meanwhile.
    """
    with opened(lake.place, UnwritableFileError) as (store, root):
        claim = Claim(store, f"{root}/{FOLDER}")
        is_told = False
        while not claim.take():
            if not is_told:
                waiting()
                is_told = True
            time.sleep(_TRIED_EVERY_S * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
    try:
        with _renewed(claim):
            yield
        if claim.is_lost:
            raise UsageError(
                f"{lake}: the object store didn't answer for so long that another job may have "
                "begun to write: run this job again"
            )
    finally:
        with suppress(OSError):  # without this removal the claim expires by itself
            claim.give_back()


@dataclass
class Claim:
    """One writer's claim on the lake: an object in the store."""

    store: Any
    """The file system of pyarrow.fs in which the claims are."""
    folder: str
    """The folder of all claims."""
    path: str = field(init=False)
    is_lost: bool = False

    def __post_init__(self) -> None:
        self.path = f"{self.folder}/{uuid.uuid4().hex}"

    def take(self) -> bool:
        """Tries to take the lake. Returns whether this succeeded; if not, the claim is removed
        again."""
        self.renew()
        if not self._others():
            return True
        self.give_back()
        return False

    def renew(self) -> None:
        with self.store.open_output_stream(self.path) as file:
            file.write(socket.gethostname().encode())

    def is_held(self) -> bool:
        return bool(self.store.get_file_info(self.path).is_file)

    def give_back(self) -> None:
        with suppress(FileNotFoundError):
            self.store.delete_file(self.path)

    def _others(self) -> list[str]:
        """The claims of other live writers. Claims of killed writers are removed. This writer's own
        claim must just have been written."""
        from pyarrow import fs

        found = self.store.get_file_info(fs.FileSelector(self.folder))
        times = {info.path: info.mtime for info in found if info.is_file}
        # Our claim was just written, so its time is the store's present time.
        mine = times.pop(self.path)
        expired = [
            path for path, at in times.items() if mine - at > timedelta(seconds=EXPIRED_AFTER_S)
        ]
        for path in expired:
            with suppress(FileNotFoundError):
                self.store.delete_file(path)
        return sorted(set(times) - set(expired))


@contextmanager
def _renewed(claim: Claim) -> Iterator[None]:
    """Renews the claim while the block runs."""
    is_over = threading.Event()

    def renew() -> None:
        while not is_over.wait(RENEWED_EVERY_S):
            with suppress(OSError):  # The next renewal may work.
                if not claim.is_held():
                    claim.is_lost = True
                    return
                claim.renew()

    thread = threading.Thread(target=renew, name="claim", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
