"""Decides whether a request in a voter's name comes from that voter.

If kraftlake.principals.voter names principals, the client's principal shows whether the client is
the voter. Otherwise voters are processes of this replica's own user on this machine: the process
that listens at the voter's address must also hold the client's connection. A process of another
user can't do both. While a voter isn't running, any process of the same user could take its
address, so every process of the user is admitted in this voter's name. This rule also admits
Kafka's controllers, which send requests before they listen.

Reading all processes takes tens of milliseconds. The next reading answers all questions that came
during the current one. So a voter waits for at most two readings, even if many strangers send
requests in a voter's name.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from weakref import WeakKeyDictionary

from replica.node.authorizer import Authorizer
from replica.node.listeners import addresses_on
from replica.node.local_processes import (
    Address,
    Socket,
    addresses_of,
    holders,
    is_within,
    sockets,
)
from replica.node.serve.partition import ServedPartition
from replica.wire.server import Client


class VoterClaim(Enum):
    """The outcome for a client that sends a request in a voter's name: admitted, or why not."""

    ADMITTED = auto()
    REFUSED = auto()
    """The client is on another machine, or its principal isn't the voter's."""
    NOT_YET = auto()
    """The client is on this machine, but isn't proven to be the voter. A later check may prove
    this, for example when the voter begins to listen."""
    UNKNOWN = auto()
    """The system doesn't show the client's process; the connection may be closed already."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    verdict: VoterClaim
    is_lasting: bool = False


@dataclass(slots=True, eq=False)
class _Question:
    """A client that waits for an outcome."""

    client: Client
    nodes: Mapping[int, tuple[Address, ...]]
    """The node ids in whose names the client sends requests, each with the addresses at which the
    node with this id may listen."""
    outcome: _Outcome | None = None
    """The outcome; None while the outcome is unknown."""


class Voters:
    """Decides whether clients are the voters in whose names they send requests. Use this object
    from one event loop.

    bootstrap_servers: the processes that listen at these addresses may send requests in the names
        of voters that the log doesn't name yet.
    """

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
        self._waiting: list[_Question] = []
        self._one_at_a_time = asyncio.Lock()

    def has_shown(self, client: Client, node_ids: frozenset[int]) -> bool:
        """Whether an earlier check has shown that the client may send requests in the names of all
        these nodes."""
        if self.authorizer.names_voters:
            may = all(self.authorizer.speaks_for(client.principal, each) for each in node_ids)
            return may and bool(node_ids)
        return bool(node_ids) and node_ids <= self._admitted.get(client, set())

    async def verdict(self, client: Client, node_ids: Iterable[int]) -> VoterClaim:
        """The outcome for a client that sends a request in the names of all these nodes."""
        asked = frozenset(node_ids)
        if self.has_shown(client, asked):
            return VoterClaim.ADMITTED
        if self.authorizer.names_voters or not is_within(client.own, client.peer):
            return VoterClaim.REFUSED
        found = await self._judged(_Question(client, self._addresses(asked)))
        if found.is_lasting:
            self._admitted.setdefault(client, set()).update(asked)
        return found.verdict

    async def _judged(self, question: _Question) -> _Outcome:
        """The outcome for this question. If no other task has answered it meanwhile, this task
        reads the system's processes for all waiting questions."""
        self._waiting.append(question)
        async with self._one_at_a_time:
            while question.outcome is None:
                together, self._waiting = self._waiting, []
                try:
                    found = await asyncio.to_thread(_judge, together, os.geteuid())
                # the task of this question was cancelled; the other questions wait for the next
                # reading
                except BaseException:
                    self._waiting = [one for one in together if one is not question]
                    raise
                for one, verdict in zip(together, found, strict=True):
                    one.outcome = verdict
        return question.outcome

    def _addresses(self, node_ids: frozenset[int]) -> Mapping[int, tuple[Address, ...]]:
        raft = self._partition.raft
        listener = self._partition.driver.config.default_listener
        found = {}
        for node_id in node_ids:
            voter = raft.log.voters.voter(node_id)
            found[node_id] = self._bootstrap_servers
            if voter is not None:
                found[node_id] = addresses_on(listener, voter.endpoints)
        return found


def _judge(questions: Sequence[_Question], uid: int) -> list[_Outcome]:
    """The outcomes for all questions, by reading /proc once. uid: the user of this process."""
    asking = {one.client.peer[1] for one in questions}
    listening = {
        port for one in questions for addresses in one.nodes.values() for _, port in addresses
    }
    table = sockets(*asking, *listening)
    ends = [table.end_of(one.client.peer, one.client.own) for one in questions]
    held = holders(frozenset(end.inode for end in ends if end and end.uid == uid), uid)

    @cache
    def listeners(addresses: tuple[Address, ...]) -> tuple[Socket, ...] | None:
        """The sockets that listen at these addresses. None if addresses are known, but no socket
        listens at any of them."""
        resolved = [found for address in addresses for found in addresses_of(*address)]
        found = tuple(each for address in resolved for each in table.listening(*address))
        return None if resolved and not found else found

    return [
        _found(end, one.nodes, held, listeners, uid)
        for one, end in zip(questions, ends, strict=True)
    ]


def _found(
    end: Socket | None,
    nodes: Mapping[int, tuple[Address, ...]],
    held_with: Mapping[int, frozenset[int]],
    listeners: Callable[[tuple[Address, ...]], tuple[Socket, ...] | None],
    uid: int,
) -> _Outcome:
    """The outcome for one client.

    end: the client's own socket.
    nodes: the node ids in whose names the client sends requests, each with the addresses at which
        the node may listen.
    held_with: for each inode, the inodes of all sockets that the same processes hold.
    listeners: a function that gives the sockets that listen at some addresses; None if addresses
        are known, but no socket listens at any of them.
    uid: the user of this process.
    """
    if end is None or not end.inode:
        return _Outcome(VoterClaim.UNKNOWN)
    if end.uid != uid or not nodes:
        return _Outcome(VoterClaim.NOT_YET)
    held = held_with[end.inode]
    if not held:
        return _Outcome(VoterClaim.UNKNOWN)
    found = [_is_held(listeners(addresses), held, uid) for addresses in nodes.values()]
    if not all(each is not False for each in found):
        return _Outcome(VoterClaim.NOT_YET)
    return _Outcome(VoterClaim.ADMITTED, is_lasting=all(found))


def _is_held(listening: tuple[Socket, ...] | None, held: frozenset[int], uid: int) -> bool | None:
    """Whether one of the listening sockets is among `held`, the inodes that the client's process
    holds. None if `listening` is None."""
    if listening is None:
        return None
    return any(each.inode in held and each.uid == uid for each in listening)
