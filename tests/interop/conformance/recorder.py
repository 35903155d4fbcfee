"""Keeps all frames of the quorum's RPCs that pass the proxies in front of its nodes."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field

from tests.interop.conformance.exchanges import Frames, Started
from tests.interop.cutting_proxy import Link


@dataclass
class Recorder:
    """Keeps the frames. frames: in the order in which they were sent. `watch` is for
    CuttingProxies. The proxies' thread writes while the test's thread reads."""

    frames: list[Frames] = field(default_factory=list)
    starts: list[Started] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _connections: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self) -> int:
        """The microseconds since the recording began."""
        return int((time.monotonic() - self._began) * 1_000_000)

    def watch(self, source: int | None, node_id: int) -> Link:
        self._connections += 1
        return _Recorded(self, source, node_id, self._connections)

    def started(self, node_id: int) -> None:
        """Notes that the process of a node starts again."""
        with self._lock:
            self.starts.append(Started(self.now(), node_id))

    def keep(self, frames: Frames) -> None:
        with self._lock:
            self.frames.append(frames)

    def kept(self) -> list[Frames]:
        with self._lock:
            return [each for each in self.frames if each.is_judged]


@dataclass
class _Recorded(Link):
    """One connection. A node answers the requests of a connection in their order."""

    recorder: Recorder
    client: int | None
    node_id: int
    connection: int
    _to_ask: deque[Frames] = field(default_factory=deque)
    _to_answer: deque[Frames] = field(default_factory=deque)
    _to_tell: deque[Frames] = field(default_factory=deque)

    def sent(self, frame: bytes) -> None:
        made = Frames(self.client, self.node_id, self.connection, self.recorder.now(), frame)
        self._to_ask.append(made)
        self.recorder.keep(made)

    def asked(self) -> None:
        each = self._to_ask.popleft()
        each.asked = self.recorder.now()
        self._to_answer.append(each)

    def answered(self, frame: bytes) -> None:
        each = self._to_answer.popleft()
        each.answered, each.reply = self.recorder.now(), frame
        self._to_tell.append(each)

    def told(self) -> None:
        self._to_tell.popleft().told = self.recorder.now()
