"""Kills the leading controller by SIGKILL again and again, and restarts it each time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from tests.interop.kafka_cluster import STARTED, KafkaCluster

_DOWN_S = 5.0
_JITTER = 0.2
_ATTEMPTS = 5
T = TypeVar("T")


@dataclass(frozen=True)
class Kill:
    """A kill. node_id: the leader. at_s: seconds since the start of the kills. leaderless_s:
    seconds until another node led."""

    node_id: int
    at_s: float
    leaderless_s: float


class LeaderKills:
    """Kills leaders. `run` kills the leading controller about every `every_s` seconds, and starts
    it again soon afterwards. When `run` ends, every node runs."""

    def __init__(self, cluster: KafkaCluster, every_s: float, draw: Random) -> None:
        self.kills: list[Kill] = []
        self._cluster = cluster
        self._every_s = every_s
        self._draw = draw

    def run(self, stop: threading.Event) -> None:
        began = time.monotonic()
        while not stop.wait(self._every_s * self._draw.uniform(1 - _JITTER, 1 + _JITTER)):
            self.kills.append(self._kill(began))

    def _kill(self, began: float) -> Kill:
        old = patiently(self._cluster.leader)
        at = time.monotonic()
        self._cluster.nodes[old].kill()
        patiently(lambda: self._cluster.leader(other_than=old))
        elected = time.monotonic()
        time.sleep(_DOWN_S)
        self._cluster.nodes[old].start()
        patiently(lambda: self._cluster.nodes[old].wait_for(STARTED))
        return Kill(old, at - began, elected - at)


def patiently(wait: Callable[[], T]) -> T:
    """Waits several times as long as a test would, because the machine may be busy for hours."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(AssertionError):
            return wait()
    return wait()
