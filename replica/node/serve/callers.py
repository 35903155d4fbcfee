"""The kinds of clients that may send a request. Each row of the table of RPCs (replica.node.rpcs)
names one kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from replica.model.keys import NO_NODE
from replica.node.authorizer import PrincipalRole
from replica.node.translate import fetches
from replica.wire.apis.fetching import FETCH
from replica.wire.header import WireRequest


@dataclass(frozen=True, slots=True)
class Callers:
    """The clients that may send a request."""

    roles: tuple[PrincipalRole, ...] = ()
    """Principals with one of these roles may send the request. If empty, only voters may send the
    request."""
    speaks_for: Callable[[WireRequest], Iterable[int]] | None = None
    """A function that gives the node ids in whose names a request is sent; None if requests name no
    sender. If one of these nodes is a voter, or `roles` is empty, the client must be proven to be
    each of these nodes, whatever its role."""
    instead: tuple[PrincipalRole, ...] = ()
    """Principals with one of these roles may send the request even in a voter's name."""


def voters(field: str) -> Callers:
    """Callers that may only be voters. The field `field` of the request's partitions names the
    sender."""

    def speaks_for(request: WireRequest) -> Iterator[int]:
        for topic in request.message["topics"]:
            for partition in topic["partitions"]:
                yield partition[field]

    return Callers(speaks_for=speaks_for)


def is_reader_fetch(request: WireRequest) -> bool:
    """Whether the sender of a Fetch is a reader, not a replica. A reader has no replica id. An
    anonymous observer has no replica id either, but it names its cluster, as replicas do and
    consumers never do. The epoch of the last record doesn't show who the sender is, because some
    consumers name that epoch too."""
    if request.api is not FETCH:
        return False
    return _replica_id(request) == NO_NODE and request.message.get("clusterId") is None


def _replica_id(request: WireRequest) -> int:
    """The replica id in a request; NO_NODE for a negative replica id."""
    if request.api is FETCH:
        found = fetches.replica_id(request.message, request.version)
    else:
        found = request.message["replicaId"]
    return max(found, NO_NODE)


ANYBODY = Callers(tuple(PrincipalRole))
ADMINISTRATORS = Callers((PrincipalRole.ADMINISTRATOR,))
REPLICAS = Callers(
    (PrincipalRole.VOTER, PrincipalRole.OBSERVER), lambda request: (_replica_id(request),)
)
"""Callers of fetches. A leader counts a fetch with a voter's id for that voter, and moves the high
watermark by that fetch. So only that voter may send this fetch."""
UPDATED_VOTER = Callers(
    speaks_for=lambda request: (request.message["voterId"],), instead=(PrincipalRole.ADMINISTRATOR,)
)
"""Callers of UpdateRaftVoter: the voter whose entry the request changes, or an administrator."""
