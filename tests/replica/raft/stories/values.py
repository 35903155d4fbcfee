"""The arguments of commands as values of the core, in the form of `transcript`."""

from __future__ import annotations

import re
from dataclasses import fields

from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoint
from replica.raft import messages
from replica.raft.messages import RESPONSE_OF, PeerRequest, PeerResponse
from tests.replica.raft.host import batch, key, voter


def request(name: str, said: dict[str, str]) -> PeerRequest:
    """A request of the core, by its name without `Request`, and its fields as text."""
    kind = getattr(messages, f"{name}Request", None)
    if kind is None:
        raise ValueError(f"there is no request {name}")
    return _made(kind, said)


def response(asked: PeerRequest, said: dict[str, str]) -> PeerResponse:
    """A response to a request, by its fields as text."""
    return _made(RESPONSE_OF[type(asked)], said)


def numbers(written: str) -> tuple[int, ...]:
    """The numbers in a text such as `1,2,3`."""
    return tuple(int(number) for number in written.split(",") if number)


def pairs(written: str) -> dict[int, int]:
    """The pairs in a text such as `1:500,2:0`."""
    split = (pair.split(":") for pair in written.split(",") if pair)
    return {int(left): int(right) for left, right in split}


def span(written: str) -> tuple[int, int, int]:
    """First and last offset (inclusive) and epoch of a batch: `3-5:2`."""
    return _numbers_of(r"(\d+)-(\d+):(\d+)", written)


def _made(kind, said):
    types = {field.name: field.type for field in fields(kind)}
    return kind(**{field: _PARSERS[types[field]](value) for field, value in said.items()})


def _numbers_of(pattern, written):
    found = re.fullmatch(pattern, written)
    if found is None:
        raise ValueError(f"{written!r} is not {pattern}")
    return tuple(map(int, found.groups()))


def _batches(written):
    """Batches of data by their offsets and epoch, in a text such as `1-2:1,3-3:2`."""
    return tuple(batch(*span(each)) for each in written.split(","))


def _flag(written):
    return {"yes": True, "no": False}[written]


def _key(written):
    """A replica's key in a text such as `2a`, or `2` for a replica without a directory."""
    found = re.fullmatch(r"(-?\d+)([a-z]?)", written)
    if found is None:
        raise ValueError(f"{written!r} is no replica: write 2a, or 2 without a directory")
    node_id, directory = int(found[1]), found[2]
    return key(node_id, directory) if directory else ReplicaKey(node_id)


def _voter(written):
    """A replica and the port of its listener in a text such as `2a@9001`."""
    replica, _, port = written.partition("@")
    parsed = _key(replica)
    return voter(parsed.node_id, replica[-1], int(port or 9000))


def _endpoints(written):
    host, port = written.split(":")
    return (Endpoint("CONTROLLER", host, int(port)),)


def _offset_and_epoch(written):
    return OffsetAndEpoch(*_numbers_of(r"(\d+)-(-?\d+)", written))


_PARSERS = {
    "int": int,
    "int | None": int,
    "bool": _flag,
    "str | None": str,
    "ReplicaKey": _key,
    "ReplicaKey | None": _key,
    "tuple[Batch, ...]": _batches,
    "ErrorCode": lambda written: ErrorCode[written],
    "bytes": str.encode,
    "OffsetAndEpoch | None": _offset_and_epoch,
    "OffsetAndEpoch": _offset_and_epoch,
    "Endpoints": _endpoints,
    "Voter": _voter,
    "tuple[ReplicaKey, ...]": lambda written: tuple(map(_key, written.split(","))),
}
