"""The ways in which a hostile client ends its data on a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from replica.wire.apis.fetching import FETCH
from replica.wire.apis.membership import ADD_RAFT_VOTER
from replica.wire.frame import framed
from replica.wire.header import WireRequest, encode_request
from tests.fuzz.hostile_frames import Target
from tests.fuzz.wire_campaign import damaged

_SLOW_BYTES, _SLOW_S = 12, 0.005
_HUGE = (2**31 - 1, 17 * 1024 * 1024, 10**9)


@dataclass
class Ending:
    """An ending. request: the request that its frame is made of."""

    target: Target
    writer: asyncio.StreamWriter
    request: WireRequest
    chance: Random

    @property
    def frame(self) -> bytes:
        return encode_request(self.request)

    def damaged(self) -> bytes:
        request = self.request
        # a damaged host would be looked up as a name
        while request.api is ADD_RAFT_VOTER or self.chance.random() < 0.5:
            request = self.target.sound(self.chance)
        return framed(damaged(encode_request(request), self.chance))

    def cut(self) -> bytes:
        return framed(self.frame)[: self.chance.randrange(1, len(self.frame) + 4)]

    def long_wait(self) -> bytes:
        """A fetch at the end of the log that would wait without end."""
        request = self.request
        while request.api is not FETCH:
            request = self.target.request(self.chance)
        for topic in request.message["topics"]:
            for each in topic["partitions"]:
                each["fetchOffset"] = self.target.end + self.chance.choice((0, 1000))
        request.message.update(maxWaitMs=2**31 - 1, minBytes=2**31 - 1)
        return framed(encode_request(request))

    async def slow(self) -> bytes:
        """Sends some of the frame byte by byte, until the replica closes the connection for an
        earlier fault."""
        for byte in framed(self.frame)[:_SLOW_BYTES]:
            if self.writer.transport.is_closing():
                break
            self.writer.write(bytes((byte,)))
            await asyncio.sleep(_SLOW_S)
        return b""

    def reset(self) -> bytes:
        self.writer.write(framed(self.frame))
        self.writer.transport.abort()
        return b""


ENDINGS: dict[str, Callable[[Ending], bytes | Awaitable[bytes]]] = {
    "damaged": Ending.damaged,
    "noise": lambda end: end.chance.randbytes(end.chance.randrange(1, 400)),
    "cut": Ending.cut,
    "huge length": lambda end: end.chance.choice(_HUGE).to_bytes(4, "big") + end.frame,
    "negative length": lambda end: end.chance.choice((b"\xff" * 4, b"\x80\0\0\0")),
    "empty": lambda end: framed(b"") + framed(end.frame[: end.chance.randrange(8)]),
    "reset": Ending.reset,
    "slow": Ending.slow,
    "half open": Ending.cut,
    "silent": lambda end: b"",
    "long wait": Ending.long_wait,
    "end": lambda end: b"",
}
HELD = ("half open", "silent", "long wait")
"""The endings after which the connection stays open."""
WITHOUT_FRAME = ("silent", "end")
LIKELY = ("damaged", "damaged", "damaged", *ENDINGS)
