"""TCP proxies on 127.0.0.1 in front of the nodes of a quorum. They cut ways between nodes, delay
frames, and lose connections.

A way leads from one node to another: node 1's requests to node 2 and node 1's answers to node 2
take the same way. A client is known by the client id of its first request: `raft-client-N` of node
N, of Kafka and kraftlake alike. Frames of other clients pass unchanged. Frames stay whole. A frame
on a cut way waits until the way is healed. Then it passes, even if its sender has given up the
connection and asked again on a newer one, so frames of older connections come after frames of newer
ones. Or it is lost, with its connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from replica.errors import KraftlakeError
from replica.wire.frame import framed, read_frame
from tests.interop.proxies import MAX_BYTES, START, client_id, listening

Way = tuple[int, int]
"""(from node, to node)."""
_RAFT_CLIENT = re.compile(rb"raft-client-(\d+)")
_POLL_S = 0.01


@dataclass
class Faults:
    """The faults of the proxies. A test's thread sets them, and the proxies' thread reads them;
    each is replaced as a whole.

    cut: ways on which nothing passes.
    delay_s: each frame on all ways waits for a random time up to this.
    lost: (time, ways): frames that came before this time on these ways and still wait are lost,
        with their connection.
    passed, held, discarded: numbers of frames.
    """

    cut: frozenset[Way] = frozenset()
    delay_s: float = 0.0
    lost: tuple[float, frozenset[Way]] = (0.0, frozenset())
    passed: int = 0
    held: int = 0
    discarded: int = 0

    def heal(self, *, loses: bool) -> None:
        """Lets all ways pass again, without delay. loses: whether waiting frames are lost."""
        if loses:
            self.lost = (time.monotonic(), self.cut)
        self.cut = frozenset()
        self.delay_s = 0.0

    def break_connections(self, ways: frozenset[Way]) -> None:
        """Connections on these ways end with the next frame on them."""
        self.lost = (time.monotonic() + 0.5, ways)


class Link:
    """Gets each frame of one connection, in order. An answer that is lost on its way was answered,
    and is never told. A lost request was sent, and is never asked. This class itself keeps nothing.
    """

    def sent(self, frame: bytes) -> None:
        """Note that the client's request has arrived."""

    def asked(self) -> None:
        """Note that the oldest request of the client has gone on to the node."""

    def answered(self, frame: bytes) -> None:
        """Note that the node's answer has arrived."""

    def told(self) -> None:
        """Note that the oldest answer has gone on to the client."""


Watch = Callable[[int | None, int], Link]
"""Called for each connection with the node that asks (None for any other client) and the node that
is asked."""


@dataclass
class CuttingProxies:
    """The proxies. faults: the faults on the ways, set by the test. watch: gets what passes."""

    faults: Faults = field(default_factory=Faults)
    watch: Watch = lambda source, node_id: Link()
    _random: random.Random = field(default_factory=lambda: random.Random(1))

    async def carry(
        self, node_id: int, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Carries one connection. Requests that have arrived go on to the node even where the
        client has gone."""
        first = await read_frame(reader, MAX_BYTES)
        if first is None:
            return
        source = _source(first)
        there = back = None
        if source is not None:
            there, back = (source, node_id), (node_id, source)
        link = self.watch(source, node_id)
        link.sent(first)
        answers, requests = await asyncio.open_connection("127.0.0.1", target)
        try:
            asking = asyncio.create_task(
                self._pump(reader, requests, there, link.sent, link.asked, first)
            )
            answering = asyncio.create_task(
                self._pump(answers, writer, back, link.answered, link.told)
            )
            try:
                await asyncio.wait({asking, answering}, return_when=asyncio.FIRST_COMPLETED)
                if asking.done() and asking.exception() is None:
                    requests.write_eof()
                    await asyncio.wait({answering}, timeout=1.0)
            finally:
                asking.cancel()
                answering.cancel()
                await asyncio.gather(asking, answering, return_exceptions=True)
        finally:
            requests.close()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        way: Way | None,
        came: Callable[[bytes], None],
        passed: Callable[[], None],
        first: bytes | None = None,
    ) -> None:
        """Frame by frame to the end; ConnectionResetError where one is lost."""
        frames: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
        if first is not None:
            frames.put_nowait((time.monotonic(), first))
        reading = asyncio.create_task(_read(reader, frames, came))
        try:
            while (each := await frames.get()) is not None:
                at, frame = each
                if way is not None:
                    await self._wait(way, at)
                passed()
                writer.write(framed(frame))
                await writer.drain()
                self.faults.passed += 1
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _wait(self, way: Way, came: float) -> None:
        faults = self.faults
        due = came + self._random.uniform(0.0, faults.delay_s)
        was_held = False
        while True:
            since, ways = faults.lost
            if way in ways and came < since:
                faults.discarded += 1
                raise ConnectionResetError("lost on the way")
            if way not in faults.cut:
                break
            faults.held += not was_held
            was_held = True
            await asyncio.sleep(_POLL_S)
        if due > time.monotonic():
            await asyncio.sleep(due - time.monotonic())


async def _read(
    reader: asyncio.StreamReader,
    frames: asyncio.Queue[tuple[float, bytes] | None],
    came: Callable[[bytes], None],
) -> None:
    """Reads all frames, then gives None, also where the connection breaks."""
    with contextlib.suppress(OSError, KraftlakeError):
        while (frame := await read_frame(reader, MAX_BYTES)) is not None:
            came(frame)
            frames.put_nowait((time.monotonic(), frame))
    frames.put_nowait(None)


def _source(frame: bytes) -> int | None:
    """The node that asks; None for any other client."""
    if len(frame) < START.size:
        return None
    found = _RAFT_CLIENT.fullmatch(client_id(frame))
    return None if found is None else int(found[1])


@contextmanager
def cutting_proxies(
    targets: Mapping[int, tuple[int, int]], watch: Watch | None = None
) -> Iterator[CuttingProxies]:
    """Proxies that listen while the block runs. targets: as in listening."""
    found = CuttingProxies() if watch is None else CuttingProxies(watch=watch)
    with listening(targets, found.carry):
        yield found
