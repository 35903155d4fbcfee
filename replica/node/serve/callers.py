"""Who may send a request: a kind of callers for each row of the table of RPCs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from replica.model.keys import NO_NODE
from replica.node.authorizer import Role
from replica.node.translate import fetches
from replica.wire.apis.fetching import FETCH
from replica.wire.header import Request


@dataclass(frozen=True, slots=True)
class Callers:
    """roles: a principal with one of them may ask. Empty for what only voters ask.

    speaks_for: the node ids in whose name a request asks, None where requests name no sender. Where
    these nodes are voters, or `roles` is empty, the client must have shown to be each of them,
    whatever its role. instead: a principal with one of these roles need not.
    """

    roles: tuple[Role, ...] = ()
    speaks_for: Callable[[Request], Iterable[int]] | None = None
    instead: tuple[Role, ...] = ()


def voters(field: str) -> Callers:
    """Voters alone; `field` of the request's partitions names who asks."""

    def speaks_for(request: Request) -> Iterator[int]:
        for topic in request.message["topics"]:
            for partition in topic["partitions"]:
                yield partition[field]

    return Callers(speaks_for=speaks_for)


def is_reader_fetch(request: Request) -> bool:
    """Whether a Fetch is a reader's, which has no replica's id. Nor has an anonymous observer, but
    an observer names its cluster, as replicas do and consumers never do. The epoch of the last
    record tells nothing: some consumers name it too."""
    if request.api is not FETCH:
        return False
    return _replica_id(request) == NO_NODE and request.message.get("clusterId") is None


def _replica_id(request: Request) -> int:
    """NO_NODE for a negative one."""
    if request.api is FETCH:
        found = fetches.replica_id(request.message, request.version)
    else:
        found = request.message["replicaId"]
    return max(found, NO_NODE)


ANYBODY = Callers(tuple(Role))
ADMINISTRATORS = Callers((Role.ADMINISTRATOR,))
REPLICAS = Callers((Role.VOTER, Role.OBSERVER), lambda request: (_replica_id(request),))
"""Who fetches under a voter's id is counted as that voter: it moves the high watermark."""
UPDATED_VOTER = Callers(
    speaks_for=lambda request: (request.message["voterId"],), instead=(Role.ADMINISTRATOR,)
)
"""The voter that an UpdateRaftVoter is about."""
