"""One connection to a node: it negotiates versions, numbers requests, and has several requests in
flight.

A server answers requests in their order, so the requests that wait for answers form a queue. An
answer out of order ends the connection. The connection also ends when an answer doesn't come in
time: a late answer could be mistaken for the answer to the next request.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from replica.errors import (
    AuthenticationError,
    CorruptDataError,
    DataError,
    MisroutedConnectionError,
    PeerError,
    UnansweredConnectionError,
    UnreachablePeerError,
    UnsupportedByPeerError,
)
from replica.model.kafka_errors import ErrorCode, error_name
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.apis.sasl import SASL_AUTHENTICATE, SASL_HANDSHAKE
from replica.wire.frame import framed, read_frame
from replica.wire.header import WireRequest, correlation_id_of, decode_response, encode_request
from replica.wire.sasl.client import Mechanism
from replica.wire.schema import Api, Message
from replica.wire.versions import Identity, newest_common, versions_in

_MAX_CORRELATION_ID = 2**31 - 1
_PLAIN_TEXT_HINT = "; it may want TLS (security.protocol)"
_CERTIFICATE_HINT = "; it may want another certificate of ours (ssl.keystore.location)"
NO_HOST_NAME = "no host name: each part between dots has 1 to 63 bytes"
_TLS_HINT = " before TLS was agreed on; is it a TLS listener, with an enabled version of it?"
_SASL_HINT = "; it may want SASL (security.protocol, sasl.mechanism)"


def address_text(host: str, port: int) -> str:
    """host:port, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The settings of a connection. Times are in seconds, sizes in bytes."""

    client_id: str | None = "kraftlake"
    timeout_s: float = 30.0
    """The longest time to wait for each answer."""
    max_in_flight: int = 5
    """The most requests that may wait for answers at once. Further requests wait to be sent."""
    response_max_bytes: int = 64 * 1024 * 1024
    tls: ssl.SSLContext | None = None
    """The settings of TLS; None for plain text."""
    sasl: Mechanism | None = None
    """The SASL mechanism of this client; None for a connection without SASL."""
    connect_timeout_s: float | None = None
    """The longest time for connecting and negotiating; None for the value of timeout_s."""


@dataclass(frozen=True, slots=True)
class WireResponse:
    """A response, and the version that the request and the response have."""

    version: int
    message: Message


class Connection:
    """A connection to a node, which `connect` opens. After the first failure, every later call
    raises the same error again.

    versions: the versions of each API that the node serves, by API key.
    """

    def __init__(
        self,
        address: str,
        config: ClientConfig,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.address = address
        self.api_versions: Message = {}
        self.versions: Mapping[int, range] = {}
        self._config = config
        self._reader = reader
        self._writer = writer
        self._last_id = 0
        self._in_flight: deque[tuple[WireRequest, asyncio.Future[Message]]] = deque()
        self._slots = asyncio.Semaphore(config.max_in_flight)
        self._failure: PeerError | None = None
        self._answered: Api | None = None
        self._receiving = asyncio.create_task(self._receive())

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        config: ClientConfig = ClientConfig(),
        expected: Identity | None = None,
    ) -> Self:
        """Connect, learn the node's versions, authenticate.

        expected: the node that the caller wants to reach; None accepts any node. Nodes from Kafka
            4.4 on compare `expected` with their own identity.

        Raises UnreachablePeerError if the node can't be reached (MisroutedConnectionError if
        another node answers), AuthenticationError if the node refuses this client, and
        UnsupportedByPeerError if both sides have no common version.
        """
        address = address_text(host, port)
        timeout_s = config.connect_timeout_s or config.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_connection(host, port, ssl=config.tls)
                connection = cls(address, config, reader, writer)
                try:
                    await connection._negotiate(expected)
                except BaseException:
                    await connection.close()
                    raise
                return connection
        except TimeoutError as error:
            reason = f"no connection within {timeout_s:g} s"
            raise UnreachablePeerError(address, reason) from error
        except ssl.SSLError as error:
            raise AuthenticationError(address, _tls_reason(error)) from error
        except ConnectionRefusedError as error:
            raise UnreachablePeerError(address, f"no connection: {_reason(error)}") from error
        except ConnectionError as error:
            reason = f"closed by the peer{_TLS_HINT if config.tls else ''}"
            raise UnansweredConnectionError(address, reason) from error
        except OSError as error:
            raise UnreachablePeerError(address, f"no connection: {_reason(error)}") from error
        except UnicodeError as error:  # the codec for host names (IDNA) raises it
            raise UnreachablePeerError(address, NO_HOST_NAME) from error

    @property
    def ends(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Host and port of both ends: first this end, then the node's."""
        own, peer = map(self._writer.get_extra_info, ("sockname", "peername"))
        return (own or ("", 0))[:2], (peer or ("", 0))[:2]

    @property
    def is_open(self) -> bool:
        return self._failure is None

    def version_of(self, api: Api, least: int = 0) -> int:
        """The newest version that both sides know, from `least` on. Raises UnsupportedByPeerError
        if there is no such version."""
        version = newest_common(api, self.versions, least)
        if version is None:
            wanted = f"{max(least, api.versions[0])} to {api.versions[-1]}"
            raise UnsupportedByPeerError(self.address, f"{api} in versions {wanted} isn't served")
        return version

    async def call(self, api: Api, message: Message, version: int | None = None) -> WireResponse:
        """Send a request, and return its answer. version: None for the newest version that both
        sides know.

        Raises UnreachablePeerError if no answer comes, UnsupportedByPeerError if the node lacks the
        version, and AuthenticationError if the node refuses this client's certificate. The caller
        checks the error code in the answer.
        """
        used = self.version_of(api) if version is None else version
        return WireResponse(used, await self._exchange(api, used, message))

    async def close(self) -> None:
        """Close the connection. Requests that wait for an answer get UnreachablePeerError."""
        self._fail(UnreachablePeerError(self.address, "closed"))
        self._receiving.cancel()
        await asyncio.wait((self._receiving,))
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _exchange(self, api: Api, version: int, message: Message) -> Message:
        try:
            async with asyncio.timeout(self._config.timeout_s), self._slots:
                return await self._send(api, version, message)
        except TimeoutError as error:
            reason = f"no answer to {api} within {self._config.timeout_s:g} s"
            failure = UnreachablePeerError(self.address, reason)
            self._fail(failure)
            raise failure from error

    async def _send(self, api: Api, version: int, message: Message) -> Message:
        if self._failure is not None:
            raise self._failed()
        self._last_id = self._last_id % _MAX_CORRELATION_ID + 1
        request = WireRequest(api, version, self._last_id, self._config.client_id, message)
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._in_flight.append((request, future))
        # no await between the queue and the write, so that both have the same order
        self._writer.write(framed(encode_request(request)))
        try:
            await self._writer.drain()
        except OSError as error:
            self._fail(self._lost(error))
        return await future

    async def _negotiate(self, expected: Identity | None) -> None:
        """Send ApiVersions in the newest version. If the node lacks this version, send the newest
        version that the node knows. After that authenticate, if the config has a SASL mechanism."""
        us: Message = {"clientSoftwareName": "kraftlake", "clientSoftwareVersion": "0"}
        if expected is not None:
            us |= {"clusterId": expected.cluster_id, "nodeId": expected.node_id}
        version = API_VERSIONS.versions[-1]
        answer = await self._exchange(API_VERSIONS, version, us)
        theirs = versions_in(answer)
        is_refused = answer["errorCode"] == ErrorCode.UNSUPPORTED_VERSION
        if is_refused or version not in theirs.get(API_VERSIONS.key, (version,)):
            older = newest_common(API_VERSIONS, theirs or {API_VERSIONS.key: range(1)})
            answer = await self._exchange(API_VERSIONS, older or 0, us)
        if answer["errorCode"] == ErrorCode.REBOOTSTRAP_REQUIRED and expected is not None:
            meant = f"node {expected.node_id} of cluster {expected.cluster_id}"
            raise MisroutedConnectionError(
                self.address, f"expected {meant}, but another node answers"
            )
        if answer["errorCode"] != ErrorCode.NONE:
            reason = f"ApiVersions answered with {error_name(answer['errorCode'])}"
            raise UnsupportedByPeerError(self.address, reason)
        self.api_versions, self.versions = answer, versions_in(answer)
        if self._config.sasl is not None:
            await self._authenticate(self._config.sasl)

    async def _authenticate(self, mechanism: Mechanism) -> None:
        """Send SaslHandshake v1, and then the mechanism's messages inside SaslAuthenticate
        (KIP-152)."""
        version = self.version_of(SASL_HANDSHAKE, least=1)
        hello = await self.call(SASL_HANDSHAKE, {"mechanism": mechanism.name}, version)
        self._check_sasl(hello.message, f"mechanism {mechanism.name} is refused")
        exchange = mechanism.start()
        token = next(exchange)
        while True:
            answer = await self.call(SASL_AUTHENTICATE, {"authBytes": token})
            self._check_sasl(answer.message, "authentication failed")
            try:
                token = exchange.send(answer.message["authBytes"])
            except StopIteration:
                return
            except DataError as error:
                raise AuthenticationError(self.address, error.reason) from error

    def _check_sasl(self, answer: Message, what: str) -> None:
        code = answer["errorCode"]
        if code != ErrorCode.NONE:
            said = answer.get("errorMessage") or ", ".join(answer.get("mechanisms", ()))
            reason = f"{what}: {error_name(code)}" + (f" ({said})" if said else "")
            raise AuthenticationError(self.address, reason)

    async def _receive(self) -> None:
        try:
            while True:
                frame = await read_frame(self._reader, self._config.response_max_bytes)
                if frame is None:
                    raise ConnectionResetError("closed by the peer")
                self._take(frame)
        # in TLS 1.3 the server rejects this client's certificate only now
        except ssl.SSLError as error:
            self._fail(AuthenticationError(self.address, _tls_reason(error)))
        except OSError as error:
            self._fail(self._lost(error))
        except DataError as error:
            self._fail(UnreachablePeerError(self.address, f"an answer that is none: {error}"))

    def _take(self, frame: bytes) -> None:
        if not self._in_flight:
            raise CorruptDataError("an answer that no request waits for", 0)
        request, future = self._in_flight[0]
        found = correlation_id_of(frame)
        if found != request.correlation_id:
            raise CorruptDataError(f"correlation id {found}, not {request.correlation_id}", 0)
        message = decode_response(request.api, request.version, frame)
        self._answered = request.api
        self._in_flight.popleft()
        if not future.done():
            future.set_result(message)

    def _lost(self, error: OSError) -> UnreachablePeerError:
        """The error of a connection that the node closed. If the node has answered only
        ApiVersions, the error also names the likely reason."""
        reason = f"connection lost: {error}"
        if self._answered is None:
            hint = _CERTIFICATE_HINT if self._config.tls else _PLAIN_TEXT_HINT
            return UnansweredConnectionError(self.address, reason + hint)
        wants_sasl = SASL_HANDSHAKE.key in self.versions and self._config.sasl is None
        if self._answered is API_VERSIONS and wants_sasl:
            return UnansweredConnectionError(self.address, reason + _SASL_HINT)
        return UnreachablePeerError(self.address, reason)

    def _fail(self, failure: PeerError) -> None:
        if self._failure is not None:
            return
        self._failure = failure
        self._writer.close()
        while self._in_flight:
            _, future = self._in_flight.popleft()
            if not future.done():
                future.set_exception(self._failed())

    def _failed(self) -> PeerError:
        """A new copy of the failure. Each request that waits gets its own copy."""
        assert self._failure is not None
        return type(self._failure)(self.address, self._failure.reason)


def _tls_reason(error: ssl.SSLError) -> str:
    """OpenSSL's name for the error; for an error of a certificate also OpenSSL's description."""
    why = getattr(error, "verify_message", "")
    return f"TLS: {error.reason or error}" + (f" ({why})" if why else "")


def _reason(error: OSError) -> str:
    """The reason for an error. asyncio's own text for a refused connection names only the failed
    call."""
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    return error.strerror or str(error)
