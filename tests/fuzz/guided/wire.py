"""Targets: the bytes of a connection, as a server and as a client reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import cache

from replica.errors import DataError, KraftlakeError
from replica.wire.apis import APIS
from replica.wire.apis.sasl import SASL_AUTHENTICATE
from replica.wire.frame import read_frame
from replica.wire.sasl import scram
from replica.wire.sasl.client import Plain, Scram
from replica.wire.sasl.server import PlainExchange, RefusedError, ScramExchange
from replica.wire.schema import Api
from tests.fuzz.guided.target import Target, one_line, refused, require
from tests.fuzz.wire_campaign import decode, seeds

_MAX_FRAME_BYTES = 1024
_MECHANISM = "SCRAM-SHA-256"
_APIS: tuple[Api, ...] = tuple(APIS[key] for key in sorted(APIS))


def _request(data: bytes) -> None:
    decode((SASL_AUTHENTICATE, 0, True, data))


def _response(data: bytes) -> None:
    """Reads a response. The first two bytes choose the API and the version of the request."""
    if len(data) < 2:
        return
    api = _APIS[data[0] % len(_APIS)]
    version = api.versions[data[1] % len(api.versions)]
    decode((api, version, False, data[2:]))


def _requests() -> Iterable[bytes]:
    return [frame for _, _, is_request, frame in seeds() if is_request]


def _responses() -> Iterable[bytes]:
    for api, version, is_request, frame in seeds():
        if not is_request:
            place = api.versions.index(version)
            yield bytes((_APIS.index(api), place)) + frame


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


async def _frames(data: bytes) -> int:
    """Reads all frames of a connection that ends after the input. Gives their number."""
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    count = 0
    while (frame := await read_frame(reader, _MAX_FRAME_BYTES)) is not None:
        require(len(frame) <= _MAX_FRAME_BYTES, f"a frame of {len(frame)} bytes")
        count += 1
    return count


def _stream(data: bytes) -> None:
    try:
        count = _loop().run_until_complete(_frames(data))
    except DataError as error:
        refused(error)
        return
    except KraftlakeError as error:
        one_line(error)
        return
    require(4 * count <= len(data), f"{count} frames of {len(data)} bytes")


@cache
def _credentials() -> dict[str, scram.Credential]:
    return {"a": scram.credential("sha256", "secret", b"salt" * 4, 4096)}


def _tokens(data: bytes) -> list[bytes]:
    return data.split(b"\xff")[:4]


def _server_sasl(data: bytes) -> None:
    """Reads tokens with the byte 255 between them. A client that doesn't know the password is not
    let in."""
    exchanges: list[Callable[[], object]] = [
        lambda: ScramExchange(_MECHANISM, _credentials()),
        lambda: PlainExchange({"a": "secret"}),
    ]
    for begin in exchanges:
        exchange = begin()
        try:
            for token in _tokens(data):
                exchange.next(token)  # type: ignore[attr-defined]
        except (RefusedError, DataError) as error:
            one_line(error)


def _client_sasl(data: bytes) -> None:
    for mechanism in (Scram("a", "secret", _MECHANISM), Plain("a", "secret")):
        exchange = mechanism.start()
        next(exchange)
        try:
            for token in _tokens(data):
                exchange.send(token)
        except StopIteration:
            continue  # the client has sent its last token
        except KraftlakeError as error:
            one_line(error)


TARGETS = (
    Target(
        "requests",
        "requests of every API and version, as a server reads them, up to the core's messages",
        "a message, which comes back from what is written of it, or an error of ours",
        _requests,
        _request,
    ),
    Target(
        "responses",
        "responses of every API and version, as a client reads them, up to the core's messages",
        "a message, which comes back from what is written of it, or an error of ours",
        _responses,
        _response,
    ),
    Target(
        "frames",
        "the stream of a connection",
        "frames of the largest size at most, or an error of ours",
        lambda: [b"\0\0\0\x03abc" * 3, b"\0\0\0\0" * 2, b"\x7f\xff\xff\xff"],
        _stream,
        max_bytes=3000,
    ),
    Target(
        "sasl-server",
        "tokens of SASL, as a server reads them",
        "an answer, or a refusal of one line",
        lambda: [
            b"n,,n=a,r=rOprNGfwEbeRWgbNEkqO\xffc=biws,r=rOprNGfwEbeRWgbNEkqO,p=AAAA",
            b"\0a\0secret",
            b"n,a=b,n==2C=3D,r=x",
        ],
        _server_sasl,
        max_bytes=600,
        words=("n,,n=", "c=biws,r=", ",p=", "=2C", "=3D", "tokenauth=true"),
    ),
    Target(
        "sasl-client",
        "tokens of SASL, as a client reads them",
        "an answer, or an error of ours",
        lambda: [b"r=x,s=c2FsdA==,i=4096\xffv=AAAA", b"e=unknown-user", b""],
        _client_sasl,
        max_bytes=600,
        words=("r=", "s=", "i=4096", "v=", "e=", "m="),
    ),
)
