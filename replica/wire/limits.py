"""How much a server accepts from its clients. The names in brackets are Kafka's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MIB = 1024 * 1024
UNLIMITED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """Limits of one listener. Times are in seconds, sizes in bytes."""

    request_max_bytes: int = 16 * MIB
    """The largest frame (socket.request.max.bytes, 100 MiB in Kafka; a batch has at most 8 MiB)."""
    unknown_max_bytes: int = 512 * 1024
    """The largest frame of a sender that has not authenticated (sasl.server.max.receive.size)."""
    max_connections: int = UNLIMITED
    """The most connections of this listener (listener.name.NAME.max.connections)."""
    idle_s: float = 600.0
    """The longest time without a request on a connection (connections.max.idle.ms)."""
    transfer_s: float = 30.0
    """The longest time in which one frame arrives, or is read by the client."""
    handshake_s: float = 10.0
    """The longest time for the TLS handshake, and again for the authentication after the handshake;
    without SASL, for the first request after the handshake."""
    linger_s: float = 5.0
    """The longest time for the last bytes of a connection that is being closed, including TLS's
    close_notify."""
    failed_login_s: float = 1.0
    """The pause before the answer to a wrong password (connection.failed.authentication.delay.ms,
    100 ms in Kafka)."""
    receive_buffer_bytes: int | None = 100 * 1024
    """The size of the receive buffer of a connection's socket (socket.receive.buffer.bytes); None
    for the system's default."""
    send_buffer_bytes: int | None = 100 * 1024
    """The size of the send buffer of a connection's socket (socket.send.buffer.bytes); None for the
    system's default."""


@dataclass(frozen=True, slots=True)
class NodeLimits:
    """Limits of all listeners of a node together."""

    max_connections: int = 1000
    """The most connections at the same time (max.connections)."""
    per_address: int = 250
    """The most connections of one address (max.connections.per.ip)."""
    per_address_of: Mapping[str, int] = field(default_factory=dict)
    """Exceptions from per_address (max.connections.per.ip.overrides), by address in the form of
    `address_of`."""
    request_bytes: int = 256 * MIB
    """The most bytes of requests that arrive or are worked on (queued.max.request.bytes)."""
    unknown_bytes: int = 16 * MIB
    """The most bytes of requests whose senders have not authenticated."""
    answer_bytes: int = 256 * MIB
    """The most bytes of answers that are being sent."""

    def connections_of(self, address: str) -> int:
        """The most connections that this address may have at once."""
        return self.per_address_of.get(address, self.per_address)
