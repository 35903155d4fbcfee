"""Translates one of the core's requests and its answer, by four functions.

Most of these functions are made from tables. The table of a message has parts, and each part writes
and reads some of the fields. Kafka's own tables (replica.wire.apis) say which fields are about the
partition, and which field of a version names the topic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from replica.message.schema import fields_at
from replica.model.kafka_errors import ErrorCode, error_of
from replica.model.keys import ReplicaKey
from replica.node.translate.partition import (
    ReplicatedPartition,
    endpoints_in,
    is_top_level,
    leader_endpoints,
    listeners,
    node_endpoints,
    topics_field,
)
from replica.raft.messages import RESPONSE_OF, PeerRequest, PeerResponse
from replica.wire.schema import Api, Message, Structure


@dataclass(frozen=True, slots=True)
class Part:
    """Some attributes of a message of the core, and the fields that hold them."""

    write: Callable[[Any], Message]
    """A function that makes the fields from the core's message."""
    read: Callable[[Message, int], dict[str, Any]]
    """A function that makes the attributes from the fields of Kafka's message (including the fields
    of the partition) and from its version."""


def same(**names: str) -> Part:
    """A Part whose attributes have the same values as fields. names: for each attribute the name of
    its field."""
    return Part(
        lambda message: {name: getattr(message, own) for own, name in names.items()},
        lambda fields, version: {own: fields[name] for own, name in names.items()},
    )


def within(name: str, part: Part) -> Part:
    """A Part with the attributes of `part`, whose fields are inside of the structure `name`."""
    return Part(
        lambda message: {name: part.write(message)},
        lambda fields, version: part.read(fields[name], version),
    )


def key(own: str, node_id: str, directory_id: str) -> Part:
    """A Part for the attribute `own`, a ReplicaKey, which two fields hold."""

    def write(message: Any) -> Message:
        found: ReplicaKey = getattr(message, own)
        return {node_id: found.node_id, directory_id: found.directory_id}

    return Part(
        write,
        lambda fields, version: {own: ReplicaKey(fields[node_id], fields[directory_id])},
    )


def endpoints(own: str, name: str) -> Part:
    """A Part for the attribute `own`, Endpoints, which the array `name` holds."""
    return Part(
        lambda message: {name: listeners(getattr(message, own))},
        lambda fields, version: {own: endpoints_in(fields[name])},
    )


CLUSTER = same(cluster_id="clusterId")
LEADER = same(epoch="leaderEpoch", leader_id="leaderId")


class _Form:
    """Writes and reads a message by its parts.

    structure: Kafka's message.
    kind: the class of the core's message.
    """

    def __init__(self, structure: Structure, kind: type[Any], parts: tuple[Part, ...]) -> None:
        self._kind = kind
        self._parts = parts
        self._names = frozenset(field.name for field in structure.fields)
        topics = topics_field(structure)
        self._topics = None if topics is None else topics.name
        self._of_partition: frozenset[str] = frozenset()
        if topics is not None:
            entry = topics.fields[-1].fields
            self._of_partition = frozenset(field.name for field in entry)
            self._index = entry[0].name
            self._name_at = {
                version: fields_at(topics.fields, version)[0].name for version in structure.versions
            }

    def _written(self, partition: ReplicatedPartition, fields: Message, version: int) -> Message:
        """The message with these fields, at the top or in the partition's entry."""
        if self._topics is None:
            return fields
        entry = {name: fields.pop(name) for name in self._of_partition & fields.keys()}
        topics = partition.topics(entry, self._name_at[version], self._index)
        return {**fields, self._topics: topics}

    def _fields(self, message: Any) -> Message:
        found: Message = {}
        for part in self._parts:
            found.update(part.write(message))
        return found

    def _attributes(self, fields: Message, version: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for part in self._parts:
            found.update(part.read(fields, version))
        return found


class RequestForm(_Form):
    def write(self, partition: ReplicatedPartition, request: PeerRequest, version: int) -> Message:
        fields = self._fields(request)
        if "rackId" in self._names:
            fields["rackId"] = partition.rack
        return self._written(partition, fields, version)

    def read(self, partition: ReplicatedPartition, message: Message, version: int) -> PeerRequest:
        """The request. Raises RefusedRequestError for a request about another partition."""
        fields = message
        if self._topics is not None:
            topics, name = message[self._topics], self._name_at[version]
            fields = {**message, **partition.of_request(topics, name, self._index)}
        found: PeerRequest = self._kind(**self._attributes(fields, version))
        return found


class ResponseForm(_Form):
    """Writes and reads a response, which always has an error. The error is in the partition's
    entry; an error of the whole request has no entry."""

    def write(
        self, partition: ReplicatedPartition, response: PeerResponse, version: int
    ) -> Message:
        if self._topics is not None and is_top_level(response.error):
            return {"errorCode": response.error}
        fields = {"errorCode": response.error, **self._fields(response)}
        if "nodeEndpoints" in self._names:
            fields["nodeEndpoints"] = node_endpoints(partition, response)
        return self._written(partition, fields, version)

    def read(self, partition: ReplicatedPartition, message: Message, version: int) -> PeerResponse:
        """The response. Raises DataError if the response is malformed, or about another
        partition."""
        fields, error = message, error_of(message["errorCode"])
        if self._topics is not None and error is not ErrorCode.NONE:
            alone: PeerResponse = self._kind(error=error)
            return alone
        if self._topics is not None:
            topics, name = message[self._topics], self._name_at[version]
            fields = {**message, **partition.of_response(topics, name, self._index)}
        told = {"error": error_of(fields["errorCode"]), **self._attributes(fields, version)}
        if "nodeEndpoints" in self._names:
            nodes = message["nodeEndpoints"]
            told["leader_endpoints"] = leader_endpoints(partition, nodes, told["leader_id"])
        found: PeerResponse = self._kind(**told)
        return found


@dataclass(frozen=True, slots=True)
class ServerSide:
    """The functions by which a replica reads the request and writes the answer. `read` raises
    RefusedRequestError for a request that is refused."""

    read: Callable[[ReplicatedPartition, Message, int], PeerRequest]
    write: Callable[[ReplicatedPartition, Any, int], Message]


@dataclass(frozen=True, slots=True)
class ClientSide:
    """The functions by which a replica writes the request and reads the answer. `read` raises
    DataError for a message that isn't an answer to this request."""

    write: Callable[[ReplicatedPartition, Any, int], Message]
    read: Callable[[ReplicatedPartition, Message, int], PeerResponse]


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of one of the core's requests and its answer."""

    request: type[PeerRequest]
    """The class of the core's request."""
    api: Api
    client: ClientSide | None
    """The side that sends the request; None for a request that no replica sends."""
    server: ServerSide | None
    """The side that answers the request; None for ApiVersions, which replica.wire.server answers
    itself."""
    oldest: int = 0
    """The first version with every field that the core needs in each request of this class."""
    needed: Callable[[Any], int] = lambda request: 0
    """A function that gives, for one request, the first version with every field that the request
    needs."""

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
    answered: tuple[Part, ...],
    *,
    oldest: int = 0,
    needed: Callable[[Any], int] = lambda request: 0,
) -> Translation:
    """The translation by the parts of the request (`asked`) and the parts of the response
    (`answered`)."""
    sent = RequestForm(api.request, request, asked)
    answer = ResponseForm(api.response, RESPONSE_OF[request], answered)
    client, server = ClientSide(sent.write, answer.read), ServerSide(sent.read, answer.write)
    return Translation(request, api, client, server, oldest, needed)
