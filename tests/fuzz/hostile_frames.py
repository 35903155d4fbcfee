"""Requests of every API that a replica serves: well-formed requests with hostile values, and bytes
that are no request. The same seed gives the same request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from replica.message.schema import Field, Kind, fields_at
from replica.model.keys import METADATA_TOPIC, METADATA_TOPIC_ID, ZERO_UUID
from replica.node.rpcs import RPCS
from replica.wire.apis import APIS
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.apis.fetching import FETCH
from replica.wire.apis.writing import PRODUCE
from replica.wire.header import WireRequest, decode_request
from replica.wire.schema import Message
from tests.fuzz.hostile_batches import records

_GOLDEN = Path(__file__).parents[1] / "golden" / "wire.jsonl"
_ALL = {
    **{key: rpc.api.versions for key, rpc in RPCS.items()},
    API_VERSIONS.key: API_VERSIONS.versions,
}
_CHOSEN = (*_ALL, *(api.key for api in (FETCH, PRODUCE) for _ in range(5)))
"""The APIs to choose from. FETCH and PRODUCE come more often, because they
have the most to break."""
_MOST = {Kind.INT8: 127, Kind.INT16: 2**15 - 1, Kind.INT32: 2**31 - 1, Kind.INT64: 2**63 - 1}
_UUIDS = (ZERO_UUID, METADATA_TOPIC_ID, "kafkakafkakafkakafka1A", "_____________________w")
_TEXTS = ("", "x", "\0", "é" * 40, "__consumer_offsets", "a" * 300)
_OFFSETS = ("fetchOffset", "offset", "lastOffset", "endOffset", "highWatermark")
_LIKELY: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("partition", "partitionIndex", "index", "sessionId"), (0,)),
    **dict.fromkeys(("maxBytes", "partitionMaxBytes"), (0, 1, 1 << 20, 2**31 - 1)),
    "replicaId": (-1, -1, 1, 2, 3, 77),
    "voterId": (1, 2, 3, -1),
    "leaderId": (1, 2, 3),
    "acks": (-1, -1, -1, -1, 1, 2),
    "timestamp": (-1, -2, -3, -4, 0, 1_795_300_000_000),
    "timeoutMs": (0, 1, 500),
    "maxWaitMs": (0, 0, 0, 5),
    "minBytes": (0, 1),
    "transactionalId": (None,),
    "feature": ("kraft.version",),
    "maxVersionLevel": (0, 1, 2),
    "resourceType": (2,),
    "host": ("127.0.0.1",),
}
_LONGEST_TEXT = 32_767
_LONGEST_ARRAY = 5_000
_SELDOM = 0.002


@dataclass
class Target:
    """The subject of the frames. epoch, end: of the log as it is known, so that many values are
    nearly right."""

    topic: str
    topic_id: str
    cluster_id: str
    epoch: int = 1
    end: int = 1

    def __post_init__(self) -> None:
        self.recorded = [self._renamed(request) for request in _recorded()]
        named = dict.fromkeys(("topic", "topicName", "name", "resourceName"), (self.topic,))
        ids = {"topicId": (self.topic_id,), "clusterId": (self.cluster_id, None)}
        self.constant: dict[str, tuple[Any, ...]] = {**_LIKELY, **named, **ids}

    def request(self, chance: Random) -> WireRequest:
        """A request that can be read, with values that no correct client sends."""
        key = chance.choice(_CHOSEN)
        api, version = APIS[key], chance.choice(_ALL[key])
        message = self._message(api.request.fields, version, chance)
        client_id = chance.choice((None, "", "fuzz"))
        return WireRequest(api, version, chance.randrange(2**31), client_id, message)

    def sound(self, chance: Random) -> WireRequest:
        """A request that Kafka sent, changed to this topic."""
        return chance.choice(self.recorded)

    def _renamed(self, request: WireRequest) -> WireRequest:
        names = {METADATA_TOPIC: self.topic, METADATA_TOPIC_ID: self.topic_id}

        def renamed(value: Any) -> Any:
            if isinstance(value, dict):
                changed = {name: renamed(each) for name, each in value.items()}
                if value.get("clusterId"):
                    changed["clusterId"] = self.cluster_id
                return changed | ({"timeoutMs": 500} if "timeoutMs" in value else {})
            if isinstance(value, list):
                return [renamed(each) for each in value]
            return names.get(value, value) if isinstance(value, str) else value

        return WireRequest(
            request.api,
            request.version,
            request.correlation_id,
            request.client_id,
            renamed(request.message),
        )

    def _message(self, fields: tuple[Field, ...], version: int, chance: Random) -> Message:
        return {
            field.name: self._field(field, version, chance)
            for field in fields_at(fields, version)
            if field.tag is None or chance.random() < 0.5
        }

    def _field(self, field: Field, version: int, chance: Random) -> Any:
        if field.is_nullable(version) and chance.random() < 0.2:
            return None
        if not field.is_array:
            return self._value(field, version, chance)
        if chance.random() < _SELDOM and not _holds_bytes(field):
            return [self._value(field, version, chance)] * chance.randrange(_LONGEST_ARRAY)
        count = chance.choice((0, 1, 1, 1, 1, 1, 1, 2, 3))
        return [self._value(field, version, chance) for _ in range(count)]

    def _value(self, field: Field, version: int, chance: Random) -> Any:
        if field.kind is Kind.STRUCT:
            return self._message(field.fields, version, chance)
        likely = self._likely(field.name)
        if likely and chance.random() < 0.9:
            return chance.choice(likely)
        return _extreme(field, chance)

    def _likely(self, name: str) -> tuple[Any, ...]:
        """Values that pass the first checks; empty for names without such values."""
        if "poch" in name:  # leaderEpoch, replicaEpoch, lastFetchedEpoch, ...
            return (*(self.epoch,) * 3, self.epoch - 1, self.epoch + 1, 0, 2**30)
        if name in _OFFSETS:
            return (0, 1, *(self.end,) * 2, self.end - 1, self.end + 1, self.end // 2)
        return self.constant.get(name, ())


def _extreme(field: Field, chance: Random) -> Any:
    kind = field.kind
    if field.name in ("maxWaitMs", "timeoutMs"):
        return chance.choice((0, -1, -(2**31)))  # long waits are a fault of their own
    if field.name == "host":
        return chance.choice(("", "127.0.0.1", "::1"))  # no name is looked up
    if kind is Kind.BYTES:
        return records(chance) or b""
    if kind is Kind.BOOL:
        return chance.random() < 0.5
    if kind is Kind.STRING:
        long = chance.random() < _SELDOM
        return "y" * chance.randrange(_LONGEST_TEXT) if long else chance.choice(_TEXTS)
    if kind is Kind.UUID:
        return chance.choice(_UUIDS)
    if kind is Kind.UINT16:
        return chance.choice((0, 1, 9, 65_535))
    most = _MOST[kind]
    return chance.choice((0, 1, -1, most, -most - 1, most - 1, chance.randint(-most - 1, most)))


def _holds_bytes(field: Field) -> bool:
    """Whether the field holds bytes, which may be large already."""
    return field.kind is Kind.BYTES or any(map(_holds_bytes, field.fields))


def _recorded() -> list[WireRequest]:
    """The requests that a replica serves among the golden frames."""
    found = []
    for line in _GOLDEN.read_text().splitlines():
        each = json.loads(line)
        if each["side"] == "request":
            request = decode_request(bytes.fromhex(each["hex"]))
            if request.version in _ALL.get(request.api.key, ()):
                found.append(request)
    return found


def is_answered(request: WireRequest) -> bool:
    """Whether the request is answered. Only a Produce with acks=0 gets no answer."""
    return request.api is not PRODUCE or request.message.get("acks") != 0
