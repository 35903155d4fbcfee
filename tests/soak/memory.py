"""The memory of processes over time, and when it counts as flat; the sizes of folders."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median

from tests.bench.memory import resident
from tests.descendants import descendants

RISE_SHARE, RISE_BYTES = 0.05, 4 * 2**20
"""Memory is flat if it rises by no more than this per hour: a share of the median, or bytes where
that is more."""
WINDOW_S = 300.0
"""The seconds of a window. The highest sample of each window counts, because some processes work
only now and then."""
_ATTACH_S = 120


@dataclass(frozen=True)
class Sample:
    """A sample. at_s: seconds since the start of the soak. size: bytes."""

    at_s: float
    size: int


@dataclass(frozen=True)
class Course:
    """The course of a process's memory in bytes. rise: of the highest sample of each window of the
    last half, in bytes per hour."""

    first: int
    median: int
    highest: int
    last: int
    rise: float

    @property
    def allowed(self) -> float:
        """The bytes per hour by which it may rise."""
        return max(RISE_SHARE * self.median, RISE_BYTES)

    @property
    def is_flat(self) -> bool:
        return self.rise <= self.allowed


def course(samples: Sequence[Sample]) -> Course:
    """The course of at least one sample, oldest first."""
    sizes = [sample.size for sample in samples]
    rise = slope(highest(samples[len(samples) // 2 :])) * 3600
    return Course(sizes[0], int(median(sizes)), max(sizes), sizes[-1], rise)


def highest(samples: Sequence[Sample]) -> list[Sample]:
    """The highest sample of each window of WINDOW_S, from the first sample on; a last window with
    less than half of the first one's samples is left out."""
    windows: dict[int, list[Sample]] = {}
    for sample in samples:
        windows.setdefault(int((sample.at_s - samples[0].at_s) // WINDOW_S), []).append(sample)
    sizes = [len(window) for window in windows.values()]
    found = [max(window, key=lambda sample: sample.size) for window in windows.values()]
    return found[:-1] if sizes[-1] < sizes[0] / 2 else found


def slope(samples: Sequence[Sample]) -> float:
    """The slope in bytes per second: the median of the slopes between all pairs (Theil and Sen), so
    that outliers don't count. 0 for fewer than two samples."""
    slopes = [(b.size - a.size) / (b.at_s - a.at_s) for a, b in combinations(samples, 2)]
    return median(slopes) if slopes else 0.0


def held(pid: int) -> dict[str, int]:
    """The resident bytes of a process and of the processes that it started: `python`, and where
    they exist `jvm` and `workers`, all of Spark's Python workers together. Empty where the process
    has ended."""
    own, _ = resident(pid)
    if not own:
        return {}
    found = {"python": own}
    for each in descendants(pid):
        size, name = resident(each)
        kind = "jvm" if name == "java" else "workers"
        if size:
            found[kind] = found.get(kind, 0) + size
    return found


def live_heap(pid: int) -> int | None:
    """The bytes of the objects that a full collection leaves in the JVM below a process; None where
    there is no JVM, or it doesn't answer."""
    jvms = [each for each in descendants(pid) if resident(each)[1] == "java"]
    if not jvms:
        return None
    try:
        ran = subprocess.run(
            ["jcmd", str(jvms[0]), "GC.class_histogram"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_ATTACH_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    total = next((line.split() for line in ran.stdout.splitlines() if line.startswith("Total")), [])
    return int(total[2]) if len(total) == 3 else None


def size(folder: Path) -> int:
    """The bytes of all files at or below a folder. Files that disappear meanwhile are left out."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.stat(os.path.join(parent, name)).st_size
    return total
