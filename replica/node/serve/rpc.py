"""What the table of RPCs (replica.node.rpcs) says about each: one row, one Rpc."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from replica.model.kafka_errors import ErrorCode
from replica.node.serve.callers import Callers
from replica.node.serve.partition import ServedPartition
from replica.node.translate.translation import Translation
from replica.wire.header import Request
from replica.wire.schema import Api, Message
from replica.wire.server import Client

Answer = Callable[[ServedPartition, Client, Request], Awaitable[Message | None]]
"""What the request is answered; None for no answer."""
Refusal = Callable[[ServedPartition, Request, ErrorCode], Message]
"""The response that says one error of everything that was asked."""


def error_alone(partition: ServedPartition, request: Request, error: ErrorCode) -> Message:
    """For responses with one error code for all."""
    return {"errorCode": int(error)}


@dataclass(frozen=True, slots=True)
class Rpc:
    """One request with its response.

    versions: those served. is_forwarded: a replica that doesn't lead sends the request on to the
    leader. is_fetch: the answer takes as many bytes as there is room for, and clients send the
    request again and again. translation: for requests that the consensus core answers.
    """

    api: Api
    callers: Callers
    answer: Answer
    refusal: Refusal = error_alone
    is_forwarded: bool = False
    is_fetch: bool = False
    translation: Translation | None = None

    def __str__(self) -> str:
        return str(self.api)

    @property
    def versions(self) -> range:
        return self.api.versions
