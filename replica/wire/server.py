"""A server of Kafka's protocol: connections, limits, and the order of answers.

One request of a connection is worked on at a time, as in Kafka: the next is read when the answer to
the last is on its way, so answers come in the order of their requests, and a client that sends
faster than it is served fills its own socket and no memory here.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from replica.errors import DataError, KraftlakeError
from replica.format.primitives import Buffer
from replica.wire.apis import APIS
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.apis.sasl import SASL_AUTHENTICATE, SASL_HANDSHAKE
from replica.wire.client import NO_HOST_NAME
from replica.wire.error_codes import ErrorCode
from replica.wire.frame import Budget, Limits, read_rest, read_size, size_of_frame
from replica.wire.header import (
    Request,
    UnsupportedVersionError,
    decode_request,
    response_pieces,
)
from replica.wire.sasl.server import Authenticator, SaslServer
from replica.wire.schema import Api, Message
from replica.wire.tls import distinguished_name
from replica.wire.versions import (
    Features,
    Identity,
    Versions,
    api_versions_response,
    identity_error,
    no_features,
    unsupported_api_versions,
)

ANONYMOUS = "ANONYMOUS"
_PART_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks. address: host:port of its end. principal: its name by SASL, or the distinguished
    name of its TLS certificate, or ANONYMOUS. listener: that it came in by."""

    address: str
    principal: str
    listener: str


Handler = Callable[[Client, Request], Awaitable[Message | None]]
"""Answers a request by the message of its API's response, in the request's version; None for no
answer (Produce with acks=0). An error of ours closes the connection."""


@dataclass(frozen=True, slots=True)
class Service:
    """What a listener serves. served: API key -> versions; ApiVersions and SASL need not be there,
    for the server answers them itself. features: asked anew for each ApiVersions. authenticator:
    None for a listener without SASL. apis: what the keys of `served` mean. identity: the node that
    clients must mean who name one, None to ask nobody."""

    handler: Handler
    served: Versions
    features: Callable[[], Features] = no_features
    authenticator: Authenticator | None = None
    tls: ssl.SSLContext | None = None
    listener: str = "CONTROLLER"
    apis: Mapping[int, Api] = field(default_factory=lambda: APIS)
    identity: Identity | None = None


class Server:
    """Listening on one address. refused: how often a connection was closed for what it sent, by
    reason; who fails to authenticate counts there too."""

    def __init__(self, service: Service, limits: Limits = Limits()) -> None:  # noqa: B008 (frozen)
        self.refused: Counter[str] = Counter()
        self._service = service
        self._limits = limits
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._memory = Budget(limits.queued_max_bytes)
        sasl = (SASL_HANDSHAKE, SASL_AUTHENTICATE) if service.authenticator else ()
        own = {api.key: api.versions for api in (API_VERSIONS, *sasl)}
        self._served: Mapping[int, range] = {**own, **service.served}

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._connections)

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port, which port 0 lets the system choose. Raises OSError."""
        try:
            self._server = await asyncio.start_server(self._accept, host or None, port)
        except UnicodeError as error:  # of the codec for host names (IDNA)
            raise OSError(errno.EINVAL, NO_HOST_NAME) from error
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    async def close(self) -> None:
        """Take no more connections and close those that are there."""
        if self._server is None:
            return
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= self._limits.max_connections:
            self.refused["too many connections"] += 1
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if await self._has_agreed_on_tls(writer):
                await self._converse(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _has_agreed_on_tls(self, writer: asyncio.StreamWriter) -> bool:
        """Also where there is none to agree on. Not left to asyncio's start_server, which tells
        nobody of a failed handshake, nor counts one under way among the connections.

        After a failure there is nothing to wait for: the writer never hears of its transport's end.
        """
        if self._service.tls is None:
            return True
        try:
            handshake_s = self._limits.handshake_s
            await writer.start_tls(self._service.tls, ssl_handshake_timeout=handshake_s)
        except ssl.SSLError as error:
            why = getattr(error, "verify_message", "") or error.reason or "handshake failed"
        except ConnectionAbortedError:
            why = "no handshake in time"
        except OSError:
            why = "closed by the client"
        except asyncio.CancelledError:  # this server goes
            return False
        else:
            return True
        self.refused[f"TLS: {why}"] += 1
        return False

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve(reader, writer)
        except KraftlakeError as error:
            self.refused[type(error).__name__] += 1
        except TimeoutError:
            self.refused["time is over"] += 1
        except (OSError, asyncio.CancelledError):
            pass  # it is gone, or this server goes
        writer.close()
        try:
            async with asyncio.timeout(self._limits.linger_s):
                await writer.wait_closed()
        except (TimeoutError, asyncio.CancelledError):
            writer.transport.abort()  # not after its end: a transport without a loop can't
        except OSError:
            pass  # it has ended so

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _client_of(writer, self._service.listener)
        sasl = SaslServer(self._service.authenticator) if self._service.authenticator else None
        deadline = asyncio.get_running_loop().time() + self._limits.handshake_s
        while True:
            size = await self._next_size(reader, deadline if sasl else None, sasl is not None)
            if size is None:
                return
            async with self._memory.of(size):
                async with asyncio.timeout(self._limits.transfer_s):
                    frame = await read_rest(reader, size)
                answer, is_last = await self._answer(client, frame, sasl)
            if answer:
                async with asyncio.timeout(self._limits.transfer_s):
                    await _send(writer, answer)
            if is_last:
                self.refused["SASL"] += 1
                return
            if sasl is not None and sasl.principal is not None:
                client = Client(client.address, sasl.principal, client.listener)
                sasl = None

    async def _next_size(
        self, reader: asyncio.StreamReader, deadline: float | None, is_unknown: bool
    ) -> int | None:
        limits = self._limits
        most = limits.unknown_max_bytes if is_unknown else limits.request_max_bytes
        async with asyncio.timeout_at(deadline), asyncio.timeout(limits.idle_s):
            return await read_size(reader, most)

    async def _answer(
        self, client: Client, frame: bytes, sasl: SaslServer | None
    ) -> tuple[list[Buffer], bool]:
        """The pieces of the frame to send, none for no answer; whether the connection ends then."""
        try:
            request = decode_request(frame, self._served, self._service.apis)
        except UnsupportedVersionError as error:
            if error.api is not API_VERSIONS:
                raise
            message = unsupported_api_versions(self._served)
            return response_pieces(error.api, 0, error.correlation_id, message), False
        is_last = False
        answer: Message | None
        if request.api is API_VERSIONS:
            answer = self._tell_versions(request)
        elif request.api in (SASL_HANDSHAKE, SASL_AUTHENTICATE):
            answer, is_last = SaslServer.answer_of(sasl, request)
        elif sasl is not None:
            raise DataError(f"{request.api} before authentication")
        else:
            answer = await self._service.handler(client, request)
        if answer is None:
            return [], is_last
        raw = response_pieces(request.api, request.version, request.correlation_id, answer)
        return raw, is_last

    def _tell_versions(self, request: Request) -> Message:
        error = identity_error(request.message, self._service.identity)
        if error is not ErrorCode.NONE:
            return {"errorCode": int(error)}
        return api_versions_response(self._served, self._service.features(), request.version)


async def _send(writer: asyncio.StreamWriter, pieces: Sequence[Buffer]) -> None:
    """The pieces as one frame; returns when little of it is left here. In parts, because asyncio's
    TLS takes any amount at once and holds back only what comes after it."""
    first, *others = pieces
    size = sum(map(len, pieces))
    for piece in (size_of_frame(size) + bytes(first), *others):
        view = memoryview(piece)
        for at in range(0, len(view), _PART_BYTES):
            writer.write(view[at : at + _PART_BYTES])
            await writer.drain()


def _client_of(writer: asyncio.StreamWriter, listener: str) -> Client:
    peer = writer.get_extra_info("peername") or ("", 0)
    name = distinguished_name(writer.get_extra_info("peercert") or {})
    return Client(f"{peer[0]}:{peer[1]}", name or ANONYMOUS, listener)
