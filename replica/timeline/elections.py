"""Finds which node won which epoch, and what probably made the election necessary.

A log doesn't say why a leader was lost. It says when the leader last appended, who voted for the
next leader, which controllers registered again, and which records of the former leader no other
node has. A working leader appends at least every 500 ms (metadata.max.idle.interval.ms). Followers
wait 2 s for a leader that is silent (controller.quorum.fetch.timeout.ms). They don't wait for a
leader that resigns, because it tells them (EndQuorumEpoch). Times are those of the leaders' clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from replica.check.examined import Examined, leader_changes
from replica.timeline.branch import Branch, BranchTail

FETCH_TIMEOUT_MS = 2000
"""The default of controller.quorum.fetch.timeout.ms, in ms."""
_NEAR_MS = 60_000
"""A registration within this time (ms) after an election shows that the former leader's process had
restarted."""


class ElectionCause(Enum):
    """The probable cause of an election. Outputs show the value."""

    FIRST = "first"
    """No earlier leader is in these logs."""
    REMOVED = "leader-removed"
    """The former leader was no voter any more."""
    CUT_OFF = "leader-cut-off"
    """The former leader wrote more records, which no majority accepted."""
    RESTARTED = "leader-restarted"
    """The former leader's process was started again shortly after the election."""
    RESIGNED = "leader-resigned"
    """The next leader was elected sooner than after a silence, or with the vote of the former
    leader."""
    SILENT = "leader-silent"
    """The former leader appended nothing for so long that it must have stopped, frozen or been cut
    off."""
    UNKNOWN = "unknown"
    """The records before the election are not in these logs."""


@dataclass(frozen=True, slots=True)
class Won:
    """A LeaderChange record. at: the time of the record, in ms since 1970 (UTC). previous_at: the
    time of the batch before it; None where there is none. voters: the node ids of all voters.
    granting: the node ids of those that voted for the leader."""

    offset: int
    epoch: int
    at: int
    leader: int
    voters: tuple[int, ...]
    granting: tuple[int, ...]
    previous_at: int | None


@dataclass(frozen=True, slots=True)
class Election:
    """An election with a winner. former: the node id of the leader before; None where no log shows
    it. because: a sentence with the evidence for `cause`. without_winner: the number of epochs
    between the two leaders that nobody won. nodes: the ids of the nodes whose logs hold the record.
    on_branch: whether the record lies on the branch."""

    won: Won
    former: int | None
    cause: ElectionCause
    because: str
    without_winner: int
    nodes: tuple[int, ...]
    on_branch: bool


@dataclass(frozen=True, slots=True)
class LostWrites:
    """Records that a leader wrote in its epoch, and that the branch lacks. records: their number.
    last_at: the time of the last one, in ms since 1970 (UTC)."""

    records: int
    last_at: int


def elections_of(branch: Branch, registered: Sequence[tuple[int, int]]) -> tuple[Election, ...]:
    """The elections in the order of their epochs. registered: (time in ms since 1970 (UTC), node
    id) of each registration of a controller that was not its first."""
    holders: dict[tuple[int, int], set[int]] = {}
    records: dict[tuple[int, int], Won] = {}
    for examined in branch.members:
        for won in _won(examined):
            place = won.epoch, won.offset
            known = records.get(place)
            if known is None or known.previous_at is None:
                records[place] = won
            replica = examined.replica
            holders.setdefault(place, set()).update(() if replica is None else (replica.node_id,))
    lost = _lost_writes(branch.tails)
    ordered = [records[place] for place in sorted(records)]
    return tuple(
        Election(
            won,
            None if former is None else former.leader,
            *cause_of(former, won, lost, registered),
            0 if former is None else max(0, won.epoch - former.epoch - 1),
            tuple(sorted(holders[won.epoch, won.offset])),
            branch.holds(won.offset, won.epoch),
        )
        for former, won in pairwise((None, *ordered))
        if won is not None
    )


def _won(examined: Examined) -> Iterator[Won]:
    """The LeaderChange records of one log, each with the time of the batch before it."""
    end, previous_at = -1, 0
    changes = {(one.path, one.offset): one for one in leader_changes(examined)}
    for segment, batch in examined.batches:
        header = batch.header
        change = changes.get((segment.file.path, header.base_offset))
        if change is not None and header.is_control:
            yield Won(
                change.offset,
                change.epoch,
                change.timestamp,
                change.message.leader_id,
                tuple(sorted(one.voter_id for one in change.message.voters)),
                tuple(sorted(one.voter_id for one in change.message.granting_voters)),
                previous_at if end == header.base_offset else None,
            )
        end, previous_at = header.next_offset, header.max_timestamp


def _lost_writes(tails: Iterable[BranchTail]) -> dict[int, LostWrites]:
    """The lost writes of each epoch, in the tail that reaches furthest."""
    found: dict[int, LostWrites] = {}
    for tail in tails:
        ends: dict[int, tuple[int, int]] = {}
        for _, batch in tail.batches():
            header = batch.header
            count, last = ends.get(header.leader_epoch, (0, 0))
            held = header.next_offset - max(header.base_offset, tail.start)
            ends[header.leader_epoch] = count + held, max(last, header.max_timestamp)
        for epoch, (count, last) in ends.items():
            if epoch not in found or found[epoch].records < count:
                found[epoch] = LostWrites(count, last)
    return found


def cause_of(
    former: Won | None,
    won: Won,
    lost: Mapping[int, LostWrites],
    registered: Iterable[tuple[int, int]],
) -> tuple[ElectionCause, str]:
    """The probable cause of the election, and a sentence with the evidence. former: the record of
    the election before; None where no log has one. lost: the lost writes, by epoch. registered: see
    `elections_of`."""
    if former is None:
        return ElectionCause.FIRST, "these logs tell of no leader before"
    leader = f"leader {former.leader}"
    if won.voters and former.leader not in won.voters:
        return ElectionCause.REMOVED, f"{leader} was no voter any more"
    writes = lost.get(former.epoch)
    if writes is not None and former.leader != won.leader:
        later = writes.last_at - won.at
        until = f"until {_seconds(later)} after this election" if later > 0 else "before it"
        return ElectionCause.CUT_OFF, (
            f"{leader} had written {writes.records} more records {until}, which no majority has"
        )
    silence = None if won.previous_at is None else won.at - won.previous_at
    silent = "" if silence is None else f"nothing was appended for {_seconds(silence)} before"
    again = [at - won.at for at, node in registered if node == former.leader and at - won.at >= 0]
    if again and min(again) <= _NEAR_MS:
        said = f"{leader} registered anew {_seconds(min(again))} after: its process had ended"
        return ElectionCause.RESTARTED, f"{silent}; {said}" if silent else said
    if silence is None:
        return ElectionCause.UNKNOWN, "the records before it are not in these logs"
    if former.leader != won.leader and former.leader in won.granting:
        return ElectionCause.RESIGNED, f"{silent}; {leader} voted for the new one"
    if silence < FETCH_TIMEOUT_MS:
        return (
            ElectionCause.RESIGNED,
            f"{silent}, less than followers wait for a leader that is silent",
        )
    return ElectionCause.SILENT, f"{silent}: {leader} had stopped, frozen or was cut off"


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"
