"""Frames of responses, as a server sends them piece by piece."""

from __future__ import annotations

from replica.wire.header import response_pieces
from replica.wire.schema import Api, Message


def encode_response(api: Api, version: int, correlation_id: int, message: Message) -> bytes:
    """The frame of a response, without its length."""
    return b"".join(response_pieces(api, version, correlation_id, message))
