"""The limits of what clients may ask of a node, by the keys of Kafka's server.properties."""

from __future__ import annotations

import ipaddress

from replica.node.properties import Properties
from replica.wire.connections import address_of
from replica.wire.limits import UNLIMITED, ListenerLimits, NodeLimits

_LISTENER, _NODE = ListenerLimits(), NodeLimits()
_DELAY = "connection.failed.authentication.delay.ms"
_MAX_INT = 2**31 - 1


def listener_limits_in(section: Properties, own: Properties) -> ListenerLimits:
    """The limits of one listener. section: the file's values, in which keys with the listener's
    prefix override keys without the prefix. own: only the keys with the prefix. Raises UsageError
    for an invalid value."""
    request = section.number("socket.request.max.bytes", _LISTENER.request_max_bytes, 1, _MAX_INT)
    unknown = section.number("sasl.server.max.receive.size", _LISTENER.unknown_max_bytes, 1)
    idle_ms = section.number("connections.max.idle.ms", int(_LISTENER.idle_s * 1000), 1)
    delay_ms = section.number(_DELAY, int(_LISTENER.failed_login_s * 1000), 0, 8000)
    return ListenerLimits(
        request_max_bytes=request,
        failed_login_s=delay_ms / 1000,
        unknown_max_bytes=min(unknown, request),
        max_connections=own.number("max.connections", UNLIMITED, 1),
        idle_s=idle_ms / 1000,
        receive_buffer_bytes=_buffer(section, "socket.receive.buffer.bytes"),
        send_buffer_bytes=_buffer(section, "socket.send.buffer.bytes"),
    )


def node_limits_in(properties: Properties) -> NodeLimits:
    """The limits that all listeners share. Raises UsageError for an invalid value."""
    size_key, queued_key = "socket.request.max.bytes", "queued.max.request.bytes"
    request = properties.number(size_key, _LISTENER.request_max_bytes, 1, _MAX_INT)
    queued = properties.number(queued_key, max(request, _NODE.request_bytes), -1)
    if 0 <= queued < request:
        raise properties.error(queued_key, f"{queued} is less than {size_key}={request}: raise it")
    answers = properties.number("kraftlake.queued.max.response.bytes", _NODE.answer_bytes, -1)
    return NodeLimits(
        max_connections=properties.number("max.connections", _NODE.max_connections, 1),
        per_address=properties.number("max.connections.per.ip", _NODE.per_address, 1),
        per_address_of=_per_address_of(properties),
        request_bytes=queued if queued >= 0 else UNLIMITED,
        answer_bytes=answers if answers >= 0 else UNLIMITED,
    )


def _buffer(section: Properties, key: str) -> int | None:
    size = section.number(key, 100 * 1024, -1, _MAX_INT)
    return size if size > 0 else None


def _per_address_of(properties: Properties) -> dict[str, int]:
    """The limits of single addresses, from a comma-separated list of ADDRESS:COUNT."""
    key = "max.connections.per.ip.overrides"
    found = {}
    for text in properties.names(key):
        host, _, count = text.rpartition(":")
        host = host.strip("[]")
        try:
            ipaddress.ip_address(host)
            found[address_of(host)] = int(count)
        except ValueError as error:
            why = f"{text!r} is not ADDRESS:COUNT, with an IP address and a number"
            raise properties.error(key, why) from error
    return found
