"""Fetches that ask for more than there is room for, cut down."""

from __future__ import annotations

from dataclasses import replace

from replica.wire.header import Request

_MAX_INT = 2**31 - 1


def unlimited() -> int:
    """Where nobody counts the bytes of answers."""
    return _MAX_INT


def with_room(request: Request, room: int) -> Request:
    """A fetch that asks for at most `room` bytes. Its answer has a whole batch at least, whatever
    was asked for."""
    message = request.message
    asked = message.get("maxBytes", _MAX_INT)
    return request if asked <= room else replace(request, message={**message, "maxBytes": room})
