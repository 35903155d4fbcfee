"""Finds which node won which epoch. `causes` says what probably made the election necessary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from replica.doctor.check.examined import Examined
from replica.doctor.timeline.branch import Branch, BranchTail
from replica.doctor.timeline.causes import (
    ElectionCause,
    LostWrites,
    Registration,
    Won,
    cause_of,
)
from replica.history.commitment import EntryCommitment
from replica.history.log import OffsetRange
from replica.history.ranges import intersection, size_of


@dataclass(frozen=True, slots=True)
class Election:
    """An election with a winner."""

    won: Won
    former: int | None
    """The node id of the previous leader; None if no log shows it."""
    cause: ElectionCause
    because: str
    """A sentence with the evidence for `cause`."""
    without_winner: int
    """The number of epochs between the two leaders that nobody won."""
    nodes: tuple[int, ...]
    """The ids of the nodes whose logs hold the LeaderChange record."""
    on_branch: bool
    """Whether the LeaderChange record lies on the branch."""


def elections_of(branch: Branch, registered: Sequence[Registration]) -> tuple[Election, ...]:
    """The elections in the order of their epochs. registered: the registrations in the log."""
    newest = branch.pieces[-1].examined
    found: list[Election] = []
    members = sorted(branch.members, key=lambda one: one is not newest)
    quorums = _quorums([(one, tuple(_won(one))) for one in members])
    for logs in (one for one in quorums if not _is_a_mix(one, quorums)):
        held = {id(one) for one, _ in logs}
        tails = [one for one in branch.tails if id(one.examined) in held]
        own = [
            one
            for one in registered
            if id(newest if one.tail is None else one.tail.examined) in held
        ]
        found += _of_quorum(branch, logs, tails, own)
    return tuple(sorted(found, key=lambda one: (one.won.epoch, one.won.offset, one.won.at)))


Elected = tuple[Examined, Sequence[Won]]
"""A directory, and the LeaderChange records of its log."""


def _is_a_mix(logs: Sequence[Elected], quorums: Iterable[Sequence[Elected]]) -> bool:
    """Whether logs hold only elections that other quorums hold, too: these logs mix two histories,
    and a cause that is found in them may be that of neither history."""
    others = [won for one in quorums if one is not logs for _, each in one for won in each]
    return all(any(won.is_same(one) for one in others) for _, each in logs for won in each)


def _quorums(logs: Iterable[Elected]) -> list[list[Elected]]:
    """The logs by quorum. An epoch has one leader, which writes one LeaderChange record. Logs with
    different records of an epoch belong to two quorums, although they have the same cluster id. A
    log with few records may agree with both quorums, so it comes after the logs with more records.
    """
    quorums: list[tuple[dict[int, Won], list[Elected]]] = []
    for log in sorted(logs, key=lambda one: -len(one[1])):
        own = {won.epoch: won for won in log[1]}
        agreeing = [
            one
            for one in quorums
            if all(one[0].get(epoch, won).is_same(won) for epoch, won in own.items())
        ]
        if not agreeing:
            agreeing = [({}, [])]
            quorums += agreeing
        known, members = max(agreeing, key=lambda one: len(one[0].keys() & own.keys()))
        known.update(own)
        members.append(log)
    return [members for _, members in quorums]


def _of_quorum(
    branch: Branch,
    logs: Sequence[Elected],
    tails: Sequence[BranchTail],
    registered: Sequence[Registration],
) -> Iterator[Election]:
    """The elections of one quorum. tails: the tails of its logs. registered: the registrations in
    its logs."""
    holders: dict[int, set[int]] = {}
    records: dict[int, Won] = {}
    for examined, elected in logs:
        for won in elected:
            known = records.get(won.epoch)
            if known is None or known.previous_at is None:
                records[won.epoch] = won
            replica = examined.replica
            nodes = holders.setdefault(won.epoch, set())
            nodes.update(() if replica is None else (replica.node_id,))
    lost = [(tail, _lost_writes(branch, tail)) for tail in tails]
    ordered = [records[epoch] for epoch in sorted(records)]
    return (
        Election(
            won,
            None if former is None else former.leader,
            *cause_of(former, won, _lost_beside(won, lost), registered),
            0 if former is None else max(0, won.epoch - former.epoch - 1),
            tuple(sorted(holders[won.epoch])),
            branch.holds(won.offset, won.epoch, won.digest),
        )
        for former, won in pairwise((None, *ordered))
        if won is not None
    )


def _won(examined: Examined) -> Iterator[Won]:
    """The LeaderChange records of one log, each with the time of the batch before it."""
    end, previous_at = -1, 0
    changes = {(one.path, one.offset): one for one in examined.leader_changes}
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
                (header.crc, header.size_bytes),
            )
        end, previous_at = header.next_offset, header.max_timestamp


def _lost_writes(branch: Branch, tail: BranchTail) -> dict[int, LostWrites]:
    """The writes of each epoch in one tail."""
    found: dict[int, LostWrites] = {}
    for _, batch in tail.batches():
        header = batch.header
        start = max(header.base_offset, tail.start)
        held = (OffsetRange(start, header.next_offset),)
        is_unproven = branch.commitment(start, tail) == EntryCommitment.UNPROVEN.value
        before = found.get(header.leader_epoch, LostWrites(0, 0))
        found[header.leader_epoch] = LostWrites(
            before.records + size_of(held),
            max(before.last_at, header.max_timestamp),
            before.committed + size_of(intersection(held, tail.proven)),
            before.unproven + size_of(held) * is_unproven,
        )
    return found


def _lost_beside(
    won: Won, lost: Iterable[tuple[BranchTail, Mapping[int, LostWrites]]]
) -> dict[int, LostWrites]:
    """The lost writes of each epoch, by the tail that lost most of this epoch's records. A tail
    that holds the election's own record is left out, because its records weren't lost by this
    election."""
    found: dict[int, LostWrites] = {}
    for tail, by_epoch in lost:
        if tail.holds(won.offset, won.epoch, won.digest):
            continue
        for epoch, writes in by_epoch.items():
            if epoch not in found or found[epoch].records < writes.records:
                found[epoch] = writes
    return found
