"""The peak memory of this process and of all processes that it started, sampled from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.sampling import sampled
from tests.descendants import descendants

_INTERVAL_S = 0.25
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Peak:
    """Bytes of resident memory: of the JVM, of all Python workers together, of this process, and of
    all of these at one time. Pages that a worker shares with its parent count for both."""

    jvm: int = 0
    workers: int = 0
    driver: int = 0
    together: int = 0

    def sample(self) -> None:
        jvm, workers = 0, 0
        for pid in descendants(os.getpid()):
            size, name = resident(pid)
            if name == "java":
                jvm += size
            else:
                workers += size
        driver, _ = resident(os.getpid())
        self.jvm, self.workers = max(self.jvm, jvm), max(self.workers, workers)
        self.driver = max(self.driver, driver)
        self.together = max(self.together, jvm + workers + driver)


@contextmanager
def peak() -> Iterator[Peak]:
    """The peak memory, sampled while the block runs."""
    found = Peak()
    with sampled(found.sample, _INTERVAL_S):
        yield found


def resident(pid: int) -> tuple[int, str]:
    """(resident bytes, name of the program) of a process; 0 bytes where it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * _PAGE, Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return 0, ""
