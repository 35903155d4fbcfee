"""How far a log lags behind another log that grows, and what following costs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tests.bench.processes import cpu_seconds

LOOK_EVERY_S = 0.1


class Log(Protocol):
    """A log. size: the present number of its bytes."""

    @property
    def size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of a follower. rate: bytes that the leader wrote per second. looks: for each
    measurement, how many ms of the leader's writing the follower lacked. cpu_share: CPU seconds of
    the follower's process per second."""

    rate: float
    looks: tuple[float, ...]
    cpu_share: float

    @property
    def median_ms(self) -> float:
        return statistics.median(self.looks)

    @property
    def most_ms(self) -> float:
        return max(self.looks)

    @property
    def last_ms(self) -> float:
        return self.looks[-1]


def measured_lag(
    leader: Log,
    follower: Log,
    pid: int,
    seconds: float,
    looked: Callable[[int], None] = lambda look: None,
) -> Lag:
    """Measures both logs for `seconds` seconds. pid: the follower's process. looked: is called
    after each measurement with its number, from 1 on."""
    began, first, cpu = time.monotonic(), leader.size, cpu_seconds(pid)
    behind: list[int] = []
    while time.monotonic() < began + seconds:
        has = follower.size
        behind.append(max(0, leader.size - has))
        looked(len(behind))
        time.sleep(LOOK_EVERY_S)
    took = time.monotonic() - began
    rate = (leader.size - first) / took
    looks = tuple(lag / rate * 1000 for lag in behind)
    return Lag(rate, looks, (cpu_seconds(pid) - cpu) / took)
