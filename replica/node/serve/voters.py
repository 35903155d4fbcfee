"""Whether a request in a voter's name comes from that voter.

By its principal, where kraftlake.principals.voter names some. Else the voters are processes of this
replica's own user on this machine: the connection has to be held by the process that listens at the
voter's address. Other users can't be that process. A process of the same user could have taken the
address of a voter that doesn't run, so for such a voter any process of the user will do; that lets
Kafka's controllers in, too, which ask before they listen.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from weakref import WeakKeyDictionary

from replica.node.authorizer import Authorizer
from replica.node.local_processes import (
    Address,
    Sockets,
    addresses_of,
    holders,
    is_within,
    sockets,
)
from replica.node.serve.partition import ServedPartition
from replica.wire.server import Client


class Verdict(Enum):
    """About a client that asks in the name of a voter."""

    ADMITTED = auto()
    FAR = auto()
    """It is on another machine, or proves nothing by its principal."""
    LOCAL = auto()
    """It is on this machine, and isn't that voter; a later try may find that it is."""
    UNTOLD = auto()
    """The system doesn't tell: the connection may be gone by now. A later try may find out."""


@dataclass(frozen=True, slots=True)
class _Found:
    verdict: Verdict
    is_lasting: bool = False


class Voters:
    """bootstrap_servers: addresses whose processes may speak for voters that the log doesn't name
    yet. Use from one event loop."""

    def __init__(
        self,
        partition: ServedPartition,
        authorizer: Authorizer,
        bootstrap_servers: tuple[Address, ...] = (),
    ) -> None:
        self.authorizer = authorizer
        self._partition = partition
        self._bootstrap_servers = bootstrap_servers
        self._admitted: WeakKeyDictionary[Client, set[int]] = WeakKeyDictionary()
        self._one_at_a_time = asyncio.Lock()

    def has_shown(self, client: Client, node_ids: frozenset[int]) -> bool:
        """Whether it is known already that the client may speak for all these nodes."""
        if self.authorizer.names_voters:
            may = all(self.authorizer.speaks_for(client.principal, each) for each in node_ids)
            return may and bool(node_ids)
        return bool(node_ids) and node_ids <= self._admitted.get(client, set())

    async def verdict(self, client: Client, node_ids: Iterable[int]) -> Verdict:
        """On a request in the name of all these nodes."""
        asked = frozenset(node_ids)
        if self.has_shown(client, asked):
            return Verdict.ADMITTED
        if self.authorizer.names_voters:
            return Verdict.FAR
        async with self._one_at_a_time:
            addresses = self._addresses(asked)
            found = await asyncio.to_thread(_judge, client, addresses, os.geteuid())
        if found.is_lasting:
            self._admitted.setdefault(client, set()).update(asked)
        return found.verdict

    def _addresses(self, node_ids: frozenset[int]) -> Mapping[int, tuple[Address, ...]]:
        raft = self._partition.driver.host.raft
        listener = self._partition.driver.host.config.default_listener
        found = {}
        for node_id in node_ids:
            voter = raft.log.voters.voter(node_id)
            found[node_id] = self._bootstrap_servers
            if voter is not None:
                named = (each for each in voter.endpoints if each.name == listener)
                found[node_id] = tuple((each.host, each.port) for each in named)
        return found


def _judge(client: Client, nodes: Mapping[int, tuple[Address, ...]], uid: int) -> _Found:
    """nodes: where each of them may listen. Reads /proc."""
    if not is_within(client.own, client.peer):
        return _Found(Verdict.FAR)
    ports = {port for addresses in nodes.values() for _, port in addresses}
    table = sockets(client.peer[1], *ports)
    end = table.end_of(client.peer, client.own)
    if end is None or not end.inode:
        return _Found(Verdict.UNTOLD)
    if end.uid != uid or not nodes:
        return _Found(Verdict.LOCAL)
    held = frozenset[int]().union(*holders(end.inode, uid))
    found = [_is_held(table, addresses, held, uid) for addresses in nodes.values()]
    if not held:
        return _Found(Verdict.UNTOLD)
    if not all(each is not False for each in found):
        return _Found(Verdict.LOCAL)
    return _Found(Verdict.ADMITTED, is_lasting=all(found))


def _is_held(
    table: Sockets, addresses: tuple[Address, ...], held: frozenset[int], uid: int
) -> bool | None:
    """Whether one of the addresses is listened on by the holder of these sockets; None where nobody
    listens at any."""
    resolved = [found for address in addresses for found in addresses_of(*address)]
    listening = [each for address in resolved for each in table.listening(*address)]
    if resolved and not listening:
        return None
    return any(each.inode in held and each.uid == uid for each in listening)
