"""How much a server takes from its clients. The names in brackets are Kafka's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MIB = 1024 * 1024
UNLIMITED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """Limits of one listener. Times in seconds, sizes in bytes.

    request_max_bytes: of a frame (socket.request.max.bytes, 100 MiB in Kafka; a batch has at most 8
    MiB). unknown_max_bytes: of a frame before its sender has authenticated
    (sasl.server.max.receive.size). max_connections: of this listener
    (listener.name.NAME.max.connections). idle_s: how long a connection may send nothing
    (connections.max.idle.ms). transfer_s: how long one frame may take to arrive, or to be read by
    the client. handshake_s: for the TLS handshake, then for authentication or, without SASL, until
    the first request. linger_s: when a connection is closed, how long the last bytes (also TLS's
    close_notify) may take. failed_login_s: until the answer to a wrong password is sent
    (connection.failed.authentication.delay.ms, 100 ms in Kafka). receive_buffer_bytes,
    send_buffer_bytes: of a connection's socket (socket.receive.buffer.bytes,
    socket.send.buffer.bytes); None for the system's default.
    """

    request_max_bytes: int = 16 * MIB
    unknown_max_bytes: int = 512 * 1024
    max_connections: int = UNLIMITED
    idle_s: float = 600.0
    transfer_s: float = 30.0
    handshake_s: float = 10.0
    linger_s: float = 5.0
    failed_login_s: float = 1.0
    receive_buffer_bytes: int | None = 100 * 1024
    send_buffer_bytes: int | None = 100 * 1024


@dataclass(frozen=True, slots=True)
class NodeLimits:
    """Limits of all listeners of a node together.

    max_connections: at once (max.connections). per_address: of one address
    (max.connections.per.ip). per_address_of: exceptions from per_address
    (max.connections.per.ip.overrides), by address as `address_of` writes it. request_bytes: of
    requests that arrive or are worked on (queued.max.request.bytes). unknown_bytes: of requests
    whose senders have not authenticated. answer_bytes: of answers that are being sent.
    """

    max_connections: int = 1000
    per_address: int = 250
    per_address_of: Mapping[str, int] = field(default_factory=dict)
    request_bytes: int = 256 * MIB
    unknown_bytes: int = 16 * MIB
    answer_bytes: int = 256 * MIB

    def connections_of(self, address: str) -> int:
        """How many connections one address may have at once."""
        return self.per_address_of.get(address, self.per_address)
