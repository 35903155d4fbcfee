"""The four functions that translate one of the core's requests and its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from replica.node.translate.forms import Part, RequestForm, ResponseForm
from replica.node.translate.partition import ReplicatedPartition
from replica.raft.messages import RESPONSE_OF, PeerRequest, PeerResponse
from replica.wire.schema import Api, Message


@dataclass(frozen=True, slots=True)
class ServerSide:
    """How a replica reads the request and writes the answer. `read` raises InvalidPartitionError or
    InvalidFeatureError, whose `code` is the error to answer."""

    read: Callable[[ReplicatedPartition, Message, int], PeerRequest]
    write: Callable[[ReplicatedPartition, Any, int], Message]


@dataclass(frozen=True, slots=True)
class ClientSide:
    """How a replica writes the request and reads the answer. `read` raises DataError for a message
    that doesn't answer this request."""

    write: Callable[[ReplicatedPartition, Any, int], Message]
    read: Callable[[ReplicatedPartition, Message, int], PeerResponse]


@dataclass(frozen=True, slots=True)
class Translation:
    """How one of the core's requests and its answer are written and read on the wire.

    request: the class of the core's request. client: None for a request that no replica sends.
    server: None for ApiVersions, which replica.wire.server answers itself. oldest: the first
    version that can hold everything which the core needs in every such request. needed: a function
    that gives the first version which can hold everything that matters in one given request.
    """

    request: type[PeerRequest]
    api: Api
    client: ClientSide | None
    server: ServerSide | None
    oldest: int = 0
    needed: Callable[[Any], int] = lambda request: 0

    @property
    def versions(self) -> range:
        """The versions in which replicas send this request to each other."""
        return range(self.oldest, self.api.versions[-1] + 1)

    def least_version(self, request: PeerRequest) -> int:
        """The first version in which this request may be sent."""
        return max(self.oldest, self.needed(request))


def translated(
    api: Api,
    request: type[PeerRequest],
    asked: tuple[Part, ...],
    told: tuple[Part, ...],
    *,
    oldest: int = 0,
    needed: Callable[[Any], int] = lambda request: 0,
) -> Translation:
    """The translation by the parts of the request and those of the response."""
    sent = RequestForm(api.request, request, asked)
    answer = ResponseForm(api.response, RESPONSE_OF[request], told)
    client, server = ClientSide(sent.write, answer.read), ServerSide(sent.read, answer.write)
    return Translation(request, api, client, server, oldest, needed)
