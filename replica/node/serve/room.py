"""How many bytes a fetch may ask for, by the memory that a node has for answers."""

from __future__ import annotations

from dataclasses import replace

from replica.wire.header import Request

_MAX_INT = 2**31 - 1


def unlimited() -> int:
    """For a node that doesn't bound the bytes of its answers."""
    return _MAX_INT


def with_room(request: Request, room: int) -> Request:
    """The same fetch, asking for at most `room` bytes. The answer has a whole batch at least,
    whatever was asked for."""
    message = request.message
    asked = message.get("maxBytes", _MAX_INT)
    return request if asked <= room else replace(request, message={**message, "maxBytes": room})
