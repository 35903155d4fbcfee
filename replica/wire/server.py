"""A server of Kafka's protocol: connections, limits, and the order of answers.

The server handles one request of each connection at a time, as in Kafka. It reads the next request
when the answer to the last request is being sent. So answers come in the order of the requests, and
the requests of a client that sends too fast wait in the sockets, not in this node's memory.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from replica.errors import DataError, KraftlakeError
from replica.message.primitives import Buffer
from replica.model.kafka_errors import ErrorCode
from replica.wire.acceptor import Acceptor, streams
from replica.wire.apis import APIS
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.apis.sasl import SASL_AUTHENTICATE, SASL_HANDSHAKE
from replica.wire.connections import Connected, ListenerConnections, address_of
from replica.wire.frame import read_charged, read_rest, read_size, send
from replica.wire.header import (
    UnsupportedVersionError,
    WireRequest,
    decode_request,
    response_pieces,
)
from replica.wire.limits import ListenerLimits, NodeLimits
from replica.wire.memory import FREE_BYTES, Memory, MemoryShare
from replica.wire.sasl.server import Authenticator, SaslServer
from replica.wire.schema import Api, Message
from replica.wire.tls import distinguished_name
from replica.wire.turns import Turns
from replica.wire.versions import (
    Features,
    Identity,
    Versions,
    api_versions_response,
    identity_error,
    unsupported_api_versions,
)

_SHARE_OF_ROOM = 8
_LEAST_ROOM = 64 * 1024


class Shared:
    """What all listeners of a node share.

    requests: memory for the requests of authenticated clients.
    unknown: memory for the requests of clients that have not authenticated.
    answers: memory for answers that are being sent.
    """

    def __init__(self, limits: NodeLimits) -> None:
        self.connections = ListenerConnections(limits)
        self.requests = Memory(limits.request_bytes)
        self.unknown = Memory(limits.unknown_bytes)
        self.answers = Memory(limits.answer_bytes, per_address=limits.answer_bytes)
        self.turns = Turns()

    def room_for_answer(self) -> int:
        """The most bytes that the next answer should have. The more bytes are being sent, the lower
        this limit is, so that all clients get an answer, even if many of them read at the same
        time."""
        return max(_LEAST_ROOM, self.answers.left // _SHARE_OF_ROOM)


ANONYMOUS = "ANONYMOUS"


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Client:
    """The client of one connection."""

    address: str
    """The address of the client, as host:port."""
    principal: str
    """The client's name by SASL, or the distinguished name of its TLS certificate, or ANONYMOUS."""
    listener: str
    """The name of the listener to which the client connected."""
    peer: tuple[str, int] = ("", 0)
    """Host and port of the client's end of the connection."""
    own: tuple[str, int] = ("", 0)
    """Host and port of this node's end of the connection."""

    @property
    def host(self) -> str:
        """`address` without its port."""
        return self.address.rpartition(":")[0]


Handler = Callable[[Client, WireRequest], Awaitable[Message | None]]
"""A function that answers a request by the message of its API's response, in the request's version;
None for no answer (Produce with acks=0). A KraftlakeError closes the connection."""


@dataclass(frozen=True, slots=True)
class Service:
    """What a listener serves."""

    handler: Handler
    served: Versions
    """The served versions of each API, by API key. ApiVersions and SASL may be missing, because the
    server answers them itself."""
    features: Callable[[], Features] = Features
    """A function that gives the node's features. This function is called for each ApiVersions
    request."""
    authenticator: Authenticator | None = None
    """The authenticator of the listener; None for a listener without SASL."""
    tls: ssl.SSLContext | None = None
    listener: str = "CONTROLLER"
    apis: Mapping[int, Api] = field(default_factory=lambda: APIS)
    """The APIs by API key."""
    identity: Identity | None = None
    """The node that clients reach at this listener. A client that expects another node is refused.
    None refuses no client."""
    on_refused_login: Callable[[Client, str], None] = lambda client, user: None
    """A function that is called for each failed login, with the client and the name that the client
    claims."""
    is_voters: Callable[[Client, WireRequest], bool] = lambda client, request: False
    """A function that says whether only a voter may send the request, and the client is known to be
    that voter. After such a request, the connection's later requests wait for no turn of `turns`,
    and the connection isn't closed to make room for others."""


class Server:
    """A server on one address.

    shared: what this server shares with the node's other listeners.
    refused: the number of connections that this server closed or refused, by reason, for example a
        malformed request, a limit or a failed login.
    """

    def __init__(
        self,
        service: Service,
        limits: ListenerLimits = ListenerLimits(),  # noqa: B008 (frozen)
        shared: Shared | None = None,
    ) -> None:
        self.refused: Counter[str] = Counter()
        self._service = service
        self._limits = limits
        self._shared = shared or Shared(NodeLimits())
        self._acceptor = Acceptor(self._arrived, self._failed)
        self._tasks: set[asyncio.Task[None]] = set()
        sasl = (SASL_HANDSHAKE, SASL_AUTHENTICATE) if service.authenticator else ()
        own = {api.key: api.versions for api in (API_VERSIONS, *sasl)}
        self._served: Mapping[int, range] = {**own, **service.served}

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return self._shared.connections.on(self._service.listener)

    async def start(self, host: str, port: int) -> int:
        """Begin to listen. Returns the port; for port 0 the system chooses a free port. Raises
        OSError if listening fails."""
        return await self._acceptor.start(host, port, self._limits)

    async def close(self) -> None:
        """Stop accepting connections, and close all open connections."""
        self._acceptor.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _failed(self, error: OSError) -> None:
        """Close a connection after an error of accept: usually the process has no free file
        descriptor."""
        self.refused[f"accept: {error.strerror or error}"] += 1
        self._shared.connections.make_room()

    def _arrived(self, connection: socket.socket, host: str) -> None:
        guest = _Guest(self._service, host, connection, self.refused)
        why = self._shared.connections.admit(guest.connected, self._limits.max_connections)
        if why:
            self.refused[why] += 1
            connection.close()
            return
        task = guest.task = asyncio.create_task(self._run(guest))
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, guest))

    def _ended(self, guest: _Guest, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._shared.connections.leave(guest.connected)
        if guest.writer is None:
            guest.socket.close()  # the task was cancelled before its first step
        else:
            guest.writer.close()

    async def _run(self, guest: _Guest) -> None:
        try:
            reader, guest.writer = await streams(guest.socket)
        except (OSError, asyncio.CancelledError):
            return
        if await self._has_agreed_on_tls(guest.writer):
            await self._converse(guest, reader, guest.writer)

    async def _has_agreed_on_tls(self, writer: asyncio.StreamWriter) -> bool:
        """Whether the TLS handshake succeeded, or the listener has no TLS.

        After a failure this method doesn't wait for the writer, because asyncio never tells the
        writer that its transport has ended.
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
        except asyncio.CancelledError:  # the server closes, or closes this connection
            return False
        else:
            return True
        self.refused[f"TLS: {why}"] += 1
        return False

    async def _converse(
        self, guest: _Guest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            guest.client = _client_of(writer, self._service.listener)
            await self._serve(guest, reader, writer)
        except KraftlakeError as error:
            self.refused[type(error).__name__] += 1
        except TimeoutError:
            self.refused["time is over"] += 1
        except (OSError, asyncio.CancelledError):
            pass  # the client is gone, or the connection or the server is closed
        writer.close()
        try:
            async with asyncio.timeout(self._limits.linger_s):
                await writer.wait_closed()
        except (TimeoutError, asyncio.CancelledError):
            # the transport has not ended, so it still has the event loop that abort needs
            writer.transport.abort()
        except OSError:
            pass  # the connection has ended already

    async def _serve(
        self, guest: _Guest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        limits, connections = self._limits, self._shared.connections
        deadline: float | None = asyncio.get_running_loop().time() + limits.handshake_s
        while True:
            most = limits.request_max_bytes if guest.sasl is None else limits.unknown_max_bytes
            async with asyncio.timeout_at(deadline), asyncio.timeout(limits.idle_s):
                size = await read_size(reader, most)
            if size is None:
                return
            guest.connected.is_busy = True
            connections.heard(guest.connected)
            answer, is_last = await self._answer_to_frame(guest, reader, size)
            if is_last:
                if guest.sasl is not None:
                    self._service.on_refused_login(guest.client, guest.sasl.claimed)
                await asyncio.sleep(limits.failed_login_s)
            if answer:
                await self._send(guest, writer, answer)
            del answer  # free the answer, which may be large, before the wait for the next request
            guest.connected.is_busy = False
            if is_last:
                self.refused["SASL"] += 1
                return
            guest.know()
            if guest.sasl is None:
                deadline = None

    async def _answer_to_frame(
        self, guest: _Guest, reader: asyncio.StreamReader, size: int
    ) -> tuple[list[Buffer], bool]:
        """Read the next frame, of `size` bytes, and return what `_answer` returns for this frame. A
        large frame is charged from its first bytes until the request is answered."""
        if size <= FREE_BYTES:
            async with asyncio.timeout(self._limits.transfer_s):
                frame: Buffer = await read_rest(reader, size)
            return await self._answer(guest, frame)
        memory = self._shared.requests if guest.sasl is None else self._shared.unknown
        with memory.load(guest.load()) as load:
            come = 0

            async def charge(part: int) -> None:
                nonlocal come
                come += part
                load.moved(part)
                await memory.grow(load, max(0, come - FREE_BYTES) - load.size)

            async with asyncio.timeout(self._limits.transfer_s):
                frame = await read_charged(reader, size, charge)
            memory.arrived(load)
            return await self._answer(guest, frame)

    async def _send(
        self, guest: _Guest, writer: asyncio.StreamWriter, pieces: Sequence[Buffer]
    ) -> None:
        """Send the pieces as one frame. Returns when most of the frame has left memory."""
        size, memory = sum(map(len, pieces)), self._shared.answers
        async with asyncio.timeout(self._limits.transfer_s):
            if size <= FREE_BYTES:
                await send(writer, pieces)
                return
            with memory.load(guest.load()) as load:
                memory.put(load, size)
                await send(writer, pieces, load.moved)

    async def _answer(self, guest: _Guest, frame: Buffer) -> tuple[list[Buffer], bool]:
        """(the pieces of the answer's frame, empty for no answer; whether the connection ends after
        the answer)."""
        if not guest.connected.is_voters:
            await self._shared.turns.next(guest.connected.address)
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
            answer, is_last = SaslServer.answer_of(guest.sasl, request)
        elif guest.sasl is not None:
            raise DataError(f"{request.api} before authentication")
        else:
            if self._service.is_voters(guest.client, request):
                self._shared.connections.protect(guest.connected)
            answer = await self._service.handler(guest.client, request)
        if answer is None:
            return [], is_last
        raw = response_pieces(request.api, request.version, request.correlation_id, answer)
        return raw, is_last

    def _tell_versions(self, request: WireRequest) -> Message:
        error = identity_error(request.message, self._service.identity)
        if error is not ErrorCode.NONE:
            return {"errorCode": int(error)}
        return api_versions_response(self._served, self._service.features(), request.version)


class _Guest:
    """What the server knows about one connection. sasl: None if no authentication is due."""

    def __init__(
        self, service: Service, host: str, connection: socket.socket, refused: Counter[str]
    ) -> None:
        self.connected = Connected(address_of(host), service.listener, self.close)
        self.socket = connection
        self.writer: asyncio.StreamWriter | None = None
        self.task: asyncio.Task[None] | None = None
        self.client = Client("", ANONYMOUS, service.listener)
        self.sasl = SaslServer(service.authenticator) if service.authenticator else None
        self._refused = refused

    def close(self, why: str) -> None:
        """Close the connection at once. Bytes that are being sent are lost."""
        self._refused[why] += 1
        if self.writer is not None and not self.writer.is_closing():
            self.writer.transport.abort()
        if self.task is not None:
            self.task.cancel()

    def load(self) -> MemoryShare:
        """A new account for a large request or answer of this connection."""
        return MemoryShare(self.connected.address, self.close, self.connected.is_voters)

    def know(self) -> None:
        """After an authentication, give the client the principal that it has proven."""
        if self.sasl is not None and self.sasl.principal is not None:
            self.client = replace(self.client, principal=self.sasl.principal)
            self.sasl = None


def _client_of(writer: asyncio.StreamWriter, listener: str) -> Client:
    peer = (writer.get_extra_info("peername") or ("", 0))[:2]
    own = (writer.get_extra_info("sockname") or ("", 0))[:2]
    name = distinguished_name(writer.get_extra_info("peercert") or {})
    return Client(f"{peer[0]}:{peer[1]}", name or ANONYMOUS, listener, peer, own)
