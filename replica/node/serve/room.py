"""Limits the bytes that a fetch asks for to the memory that the node has for answers."""

from __future__ import annotations

from dataclasses import replace

from replica.wire.header import WireRequest

_MAX_INT = 2**31 - 1


def unlimited() -> int:
    """The most bytes that a fetch can ask for: the default for a node that doesn't limit its
    answers."""
    return _MAX_INT


def with_room(request: WireRequest, room: int) -> WireRequest:
    """The fetch `request`, changed so that it asks for at most `room` bytes. Its answer still holds
    at least one whole batch."""
    message = request.message
    asked = message.get("maxBytes", _MAX_INT)
    return request if asked <= room else replace(request, message={**message, "maxBytes": room})
