"""What a whole trace shows about all epochs: which nodes led them, and what their leaders wrote."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from replica.model.batch import Batch
from replica.model.control import KRaftVoters, LeaderChange
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import VoterSet
from replica.raft.log_state import LogState
from replica.raft.messages import (
    BeginQuorumEpochRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from tests.interop.conformance.exchanges import Exchange, Trace

_QUEUED_US = 2_000_000
"""The most microseconds that a request waits in its sender for a connection
(controller.quorum.request.timeout.ms). It is sent even if the sender no longer leads."""


@dataclass(frozen=True, slots=True)
class World:
    """The facts about all epochs.

    leaders: by epoch.
    starts: by epoch, the offset of its LeaderChange record.
    voter_sets: the sets that leaders appended, as (epoch, offset, set, time of the first fetch), in
        the order of the offsets.
    led_until: by epoch, the newest time at which its leader has shown that it leads, in
        microseconds.
    stood: (node id, epoch) of each node that asked for votes, which it does some time after it has
        voted for itself.
    votes: by (node id, epoch), the candidate that got the node's vote, and the time of the request.
    batches: all batches that were fetched, by offset and epoch.
    """

    leaders: dict[int, int] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    voter_sets: list[tuple[int, int, VoterSet, int]] = field(default_factory=list)
    led_until: dict[int, int] = field(default_factory=dict)
    stood: set[tuple[int, int]] = field(default_factory=set)
    votes: dict[tuple[int, int], tuple[ReplicaKey, int]] = field(default_factory=dict)
    batches: dict[tuple[int, int], Batch] = field(default_factory=dict)

    def vote(self, node_id: int, epoch: int, until: int) -> ReplicaKey | None:
        """The candidate that may have got a node's vote in an epoch before `until`;
        None for none."""
        candidate, asked = self.votes.get((node_id, epoch), (None, until))
        return candidate if asked < until else None

    def extended(self, log: LogState, end: int, epoch: int) -> LogState:
        """A log to which its owner has appended up to `end` (exclusive) while it led `epoch`, as
        far as a node fetched that."""
        while log.log_end < end and (batch := self.batches.get((log.log_end, epoch))) is not None:
            log = log.appended((batch,))
        return log

    def next_voters(self, epoch: int, log_end: int) -> tuple[VoterSet, int] | None:
        """The next set that the leader of `epoch` appends at or above `log_end`, and the time of
        its first fetch; None for none."""
        for of, offset, voters, at in self.voter_sets:
            if of == epoch and offset >= log_end:
                return voters, at
        return None


def world_of(trace: Trace) -> World:
    world = World()
    seen: dict[tuple[int, int], tuple[Batch, int]] = {}
    for exchange in trace.exchanges:
        for epoch, leader_id in _named(exchange):
            world.leaders.setdefault(epoch, leader_id)
        _note_leading(world, exchange)
        request = exchange.request
        if exchange.client is not None and isinstance(request, VoteRequest):
            world.stood.update([] if request.pre_vote else [(exchange.client, request.epoch)])
        _note_vote(world, exchange)
        if isinstance(exchange.reply, FetchResponse):
            _read(exchange.reply.batches, exchange.answered, seen)
    for (offset, epoch), (batch, at) in sorted(seen.items()):
        world.batches[offset, epoch] = batch
        for index, record in enumerate(batch.control):
            if isinstance(record, LeaderChange):
                world.leaders.setdefault(epoch, record.leader_id)
                world.starts.setdefault(epoch, offset)
            elif isinstance(record, KRaftVoters):
                world.voter_sets.append((epoch, offset + index, record.voters, at))
    return world


def _note_vote(world: World, exchange: Exchange) -> None:
    request, reply = exchange.request, exchange.reply
    is_vote = isinstance(request, VoteRequest) and not request.pre_vote
    if is_vote and isinstance(reply, VoteResponse) and reply.granted:
        vote = request.candidate, exchange.asked
        world.votes.setdefault((exchange.node, request.epoch), vote)


def _note_leading(world: World, exchange: Exchange) -> None:
    """Notes that a node leads. A leader that has resigned doesn't lead its epoch again."""
    request, reply, at = exchange.request, exchange.reply, 0
    if exchange.client is not None and isinstance(request, BeginQuorumEpochRequest):
        epoch, at = request.epoch, exchange.sent - _QUEUED_US
    elif isinstance(reply, FetchResponse) and reply.error is ErrorCode.NONE:
        epoch, at = reply.epoch, exchange.asked
    if at:
        world.led_until[epoch] = max(world.led_until.get(epoch, 0), at)


def _read(
    batches: Iterable[Batch], at: int, seen: dict[tuple[int, int], tuple[Batch, int]]
) -> None:
    for batch in batches:
        place = (batch.base_offset, batch.epoch)
        known = seen.get(place, (batch, at))
        seen[place] = (batch, min(known[1], at))


def _named(exchange: Exchange) -> list[tuple[int, int]]:
    """(epoch, leader id) in what the nodes themselves say, without the claims of probes."""
    found = []
    request, reply = exchange.request, exchange.reply
    if exchange.client is not None and isinstance(request, BeginQuorumEpochRequest):
        found.append((request.epoch, request.leader_id))
    if reply is not None and reply.leader_id != NO_NODE and reply.epoch >= 0:
        found.append((reply.epoch, reply.leader_id))
    return found
