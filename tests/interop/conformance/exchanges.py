"""The messages between the nodes of a quorum as values of the consensus core, and the file that
keeps them.

Real Kafka's frames are read by the tables and translations of a kraftlake replica, so a trace of
Kafka and a trace of kraftlake's core have the same form.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from replica.errors import KraftlakeError
from replica.model.control import KRAFT_VERSION
from replica.model.kafka_errors import ErrorCode, error_of
from replica.model.keys import METADATA_TOPIC, METADATA_TOPIC_ID, ReplicaKey
from replica.model.voters import Endpoint, Voter, VoterSet, voter_set
from replica.node.rpcs import TRANSLATIONS
from replica.node.translate.fetches import replica_id
from replica.node.translate.partition import ReplicatedPartition
from replica.node.translate.translation import ClientSide, Translation
from replica.raft.messages import (
    ApiVersionsRequest,
    DescribeQuorumResponse,
    FetchRequest,
    PeerRequest,
    PeerResponse,
    UpdateFeaturesRequest,
    VoterChangeResponse,
)
from replica.wire.apis import APIS
from replica.wire.apis.fetching import FETCH
from replica.wire.header import decode_request, decode_response
from replica.wire.schema import Message

NEVER = 2**63 - 1
"""The time of something that didn't happen, in microseconds."""
PARTITION = ReplicatedPartition(METADATA_TOPIC, METADATA_TOPIC_ID)


def _write_features(
    partition: ReplicatedPartition, request: UpdateFeaturesRequest, version: int
) -> Message:
    update = {"feature": KRAFT_VERSION, "maxVersionLevel": request.kraft_version}
    return {"featureUpdates": [update], "validateOnly": request.validate_only}


def _read_features_response(
    partition: ReplicatedPartition, message: Message, version: int
) -> VoterChangeResponse:
    """The response to UpdateFeatures. Up to version 1 each feature has an error of its own."""
    errors = [message["errorCode"], *(each["errorCode"] for each in message.get("results") or ())]
    return VoterChangeResponse(error=error_of(next(filter(None, errors), 0)))


ASKED: Mapping[type[PeerRequest], Translation] = {
    **TRANSLATIONS,
    UpdateFeaturesRequest: replace(
        TRANSLATIONS[UpdateFeaturesRequest],
        client=ClientSide(_write_features, _read_features_response),
    ),
}
"""The translations of all requests in a trace. No replica sends UpdateFeatures, so its client's
side is here."""
_BY_KEY: dict[int, Translation] = {
    each.api.key: each
    for each in ASKED.values()
    if each.client is not None and each.request is not ApiVersionsRequest
}
"""The translations by the API's key, without ApiVersions, about which no quorum decides."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer, with the times at which a proxy between the two nodes saw them.

    client: the node that asks; None for an administrator or a probe.

    The times are in microseconds, NEVER for what didn't happen: `sent` when the request left its
    client, `asked` when it went on to the node, `answered` when the answer left the node, `told`
    when the answer went on to the client. The node has handled the request, and was in the state
    that the answer shows, at some time from `asked` to `answered`.
    """

    client: int | None
    node: int
    connection: int
    sent: int
    asked: int
    answered: int
    told: int
    request: PeerRequest
    reply: PeerResponse | None


@dataclass(frozen=True, slots=True)
class Started:
    """A new start of a node's process at `at`, after the former process had ended."""

    at: int
    node: int


@dataclass(frozen=True, slots=True)
class Replica:
    """A node of the trace, and where it listens for its peers. first_voters: ids of the voters in
    its bootstrap snapshot 0-0; none for a node that joined."""

    key: ReplicaKey
    endpoint: Endpoint
    first_voters: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace. exchanges: by the time of `asked`. left_out: by API, the number of frames that
    aren't judged because they can't be read as a message of the core. is_static: whether
    controller.quorum.voters names all replicas as voters (kraft.version 0)."""

    cluster_id: str
    replicas: Mapping[int, Replica]
    exchanges: tuple[Exchange, ...]
    starts: tuple[Started, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    is_static: bool = False

    @property
    def static_voters(self) -> VoterSet:
        """The voters in each node's configuration, which has no directory ids."""
        if not self.is_static:
            return VoterSet()
        named = self.replicas.items()
        return voter_set(Voter(ReplicaKey(id), (each.endpoint,)) for id, each in named)


@dataclass(slots=True)
class Frames:
    """A request and its answer as bytes, while they pass a proxy; see Exchange."""

    client: int | None
    node: int
    connection: int
    sent: int
    request: bytes
    asked: int = NEVER
    answered: int = NEVER
    told: int = NEVER
    reply: bytes | None = None

    @property
    def is_judged(self) -> bool:
        """Whether this is one of the quorum's RPCs; a reader's fetch isn't."""
        key = int.from_bytes(self.request[:2], "big")
        if key not in _BY_KEY:
            return False
        if key != FETCH.key:
            return True
        try:
            found = decode_request(self.request)
        except KraftlakeError:
            return False
        return replica_id(found.message, found.version) >= 0

    def exchange(self) -> Exchange:
        """The exchange. Raises KraftlakeError where the core has no such message."""
        found = decode_request(self.request)
        rpc = _BY_KEY[found.api.key]
        assert rpc.server is not None
        request = rpc.server.read(PARTITION, found.message, found.version)
        reply = None
        if self.reply is not None and rpc.client is not None:
            message = decode_response(found.api, found.version, self.reply)
            reply = rpc.client.read(PARTITION, message, found.version)
            if isinstance(reply, DescribeQuorumResponse) and reply.error is not ErrorCode.NONE:
                # Kafka's refusal has epoch 0 and leader 0, whatever the real ones are
                reply = DescribeQuorumResponse(error=reply.error)
        if isinstance(request, FetchRequest) and found.version < rpc.oldest:
            request = replace(request, last_fetched_epoch=-1)
        return Exchange(
            self.client,
            self.node,
            self.connection,
            self.sent,
            self.asked,
            self.answered,
            self.told,
            request,
            reply,
        )


def read_trace(
    cluster_id: str,
    replicas: Mapping[int, Replica],
    frames: Iterable[Frames],
    starts: Iterable[Started],
    *,
    is_static: bool = False,
) -> Trace:
    """The trace of the frames. A request that never reached its node shows nothing about the node,
    but something about its client."""
    exchanges, left_out = [], dict[str, int]()
    for each in frames:
        if not each.is_judged:
            continue
        try:
            exchanges.append(each.exchange())
        except KraftlakeError:
            name = APIS[int.from_bytes(each.request[:2], "big")].name
            left_out[name] = left_out.get(name, 0) + 1
    exchanges.sort(key=lambda each: (each.asked, each.sent))
    return Trace(cluster_id, replicas, tuple(exchanges), tuple(starts), left_out, is_static)


def save(
    path: Path,
    cluster_id: str,
    replicas: Mapping[int, Replica],
    frames: Iterable[Frames],
    starts: Iterable[Started],
    *,
    is_static: bool = False,
) -> None:
    """Writes compressed JSON lines: the nodes, the starts, then a line for each request."""
    nodes = {
        str(node_id): [
            each.key.directory_id,
            each.endpoint.host,
            each.endpoint.port,
            each.first_voters,
        ]
        for node_id, each in replicas.items()
    }
    lines: list[object] = [{"cluster": cluster_id, "nodes": nodes, "is_static": is_static}]
    lines += [{"started": each.node, "at": each.at} for each in starts]
    for each in frames:
        if each.is_judged:
            times = [each.sent, each.asked, each.answered, each.told]
            lines.append([each.client, each.node, each.connection, *(_none(at) for at in times),
                          _text(each.request), _text(each.reply)])  # fmt: skip
    text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def load(path: Path) -> Trace:
    lines = map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines())
    head = next(lines)
    replicas = {
        int(node_id): Replica(
            ReplicaKey(int(node_id), directory),
            Endpoint(PARTITION.listener, host, port),
            tuple(first),
        )
        for node_id, (directory, host, port, first) in head["nodes"].items()
    }
    starts, frames = [], []
    for line in lines:
        if isinstance(line, dict):
            starts.append(Started(line["at"], line["started"]))
            continue
        client, node, connection, sent, *times, request, reply = line
        asked, answered, told = (NEVER if at is None else at for at in times)
        found = Frames(client, node, connection, sent, base64.b64decode(request))
        found.asked, found.answered, found.told = asked, answered, told
        found.reply = None if reply is None else base64.b64decode(reply)
        frames.append(found)
    is_static = head.get("is_static", False)
    return read_trace(head["cluster"], replicas, frames, starts, is_static=is_static)


def _none(at: int) -> int | None:
    return None if at == NEVER else at


def _text(frame: bytes | None) -> str | None:
    return None if frame is None else base64.b64encode(frame).decode()
