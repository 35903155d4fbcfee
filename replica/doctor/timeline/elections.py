"""Finds which node won which epoch, and what probably made the election necessary.

A log doesn't say why a leader was lost. It says when the leader last appended, who voted for the
next leader, which controllers registered again, and which records of the former leader no other
node has. A working leader appends at least every 500 ms (metadata.max.idle.interval.ms). Followers
wait 2 s for a leader that is silent (controller.quorum.fetch.timeout.ms). They don't wait for a
leader that resigns, because it tells them (EndQuorumEpoch). Times are those of the leaders' clocks.

What lies before an election counts more than what comes after it: a process that voted in the
election, or won it, and registered long after may have ended at any time in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from replica.doctor.check.examined import Examined, leader_changes
from replica.doctor.quorum.reasons import older_disk
from replica.doctor.timeline.branch import Branch, BranchTail
from replica.history.commitment import EntryCommitment
from replica.history.log import OffsetRange
from replica.history.ranges import intersection, size_of
from replica.words import counted

FETCH_TIMEOUT_MS = 2000
"""The default of controller.quorum.fetch.timeout.ms, in ms."""
FETCH_WAIT_MS = 500
"""The longest that a fetch waits for records (Kafka: KafkaRaftClient.MAX_FETCH_WAIT_MS), in ms. So
a follower may have heard its leader last before the leader's last append."""
_SHORT_MS = FETCH_TIMEOUT_MS - FETCH_WAIT_MS
_RESTARTS_MS = 500
"""The least time (ms) in which a process ends, is started again and votes."""
_KNOWN_MS = 2000
"""Voters that have not heard of a new leader after this time (ms) have stood for election: twice
controller.quorum.election.timeout.ms. Before, they may still grant votes as if there were none."""
_NEAR_MS = 60_000
"""A new process that registers within this time (ms) after an election shows that the former
leader's process had ended before."""
_REGISTERS_MS = 10_000
"""The most time (ms) that a controller which takes part in elections needs to register."""


class ElectionCause(Enum):
    """The probable cause of an election. Outputs show the value."""

    FIRST = "first"
    """No earlier leader is in these logs."""
    REMOVED = "leader-removed"
    """The former leader was no voter any more."""
    CUT_OFF = "leader-cut-off"
    """The former leader wrote more records, which no majority accepted."""
    RESTARTED = "leader-restarted"
    """The former leader fell silent, and a new process of it registered shortly after the
    election."""
    RESIGNED = "leader-resigned"
    """Another leader was elected sooner than after a silence, although all voters knew the former
    one, and its process can't have ended meanwhile. A leader resigns when it shuts down, or when no
    majority fetches from it."""
    SILENT = "leader-silent"
    """The former leader appended nothing for so long that it must have stopped, frozen or been cut
    off."""
    WENT_BACK = "disk-went-back"
    """The voters elected a leader without records that had been committed, so one of them no longer
    had what it had acknowledged: its disk was restored from an older copy, or lost records."""
    UNKNOWN = "unknown"
    """The records before the election are not in these logs, or they allow several causes."""


class Registration(NamedTuple):
    """A registration of a controller that had registered before."""

    at: int
    """The time of the record, in ms since 1970 (UTC)."""
    node_id: int
    is_new_process: bool
    """Whether the incarnation id differs from that of the registration before."""
    tail: BranchTail | None = None
    """The tail that holds the record; None for a record of the branch."""


@dataclass(frozen=True, slots=True)
class Won:
    """A LeaderChange record."""

    offset: int
    epoch: int
    at: int
    """The time of the record, in ms since 1970 (UTC)."""
    leader: int
    voters: tuple[int, ...]
    """The node ids of all voters."""
    granting: tuple[int, ...]
    """The node ids of the voters that voted for the leader."""
    previous_at: int | None
    """The time of the batch before the record; None where there is no such batch."""
    digest: tuple[int, int] | None = None
    """CRC and size (bytes) of its batch, which tell records of two quorums apart."""

    def is_same(self, other: Won) -> bool:
        """Whether both are one record, which two logs hold."""
        return (self.epoch, self.offset, self.digest) == (other.epoch, other.offset, other.digest)


@dataclass(frozen=True, slots=True)
class Election:
    """An election with a winner."""

    won: Won
    former: int | None
    """The node id of the leader before; None where no log shows it."""
    cause: ElectionCause
    because: str
    """A sentence with the evidence for `cause`."""
    without_winner: int
    """The number of epochs between the two leaders that nobody won."""
    nodes: tuple[int, ...]
    """The ids of the nodes whose logs hold the record."""
    on_branch: bool
    """Whether the record lies on the branch."""


@dataclass(frozen=True, slots=True)
class LostWrites:
    """Records that a leader wrote in its epoch, and that the branch lacks."""

    records: int
    """The number of the lost records."""
    last_at: int
    """The time of the last lost record, in ms since 1970 (UTC)."""
    committed: int = 0
    """The number of the lost records that are proven to have been committed."""
    unproven: int = 0
    """The number of the lost records of which it isn't known whether they were committed."""


def elections_of(branch: Branch, registered: Sequence[Registration]) -> tuple[Election, ...]:
    """The elections in the order of their epochs. registered: the registrations in the log."""
    newest = branch.pieces[-1].examined
    found: list[Election] = []
    members = sorted(branch.members, key=lambda one: one is not newest)
    for logs in _quorums([(one, tuple(_won(one))) for one in members]):
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


def _quorums(logs: Iterable[Elected]) -> list[list[Elected]]:
    """The logs by quorum. An epoch has one leader, which writes one such record: logs with two are
    of two quorums, though they have one cluster id. A log with few such records may agree with
    both: it comes after those that tell the quorums apart."""
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
    """The elections of one quorum. tails, registered: those of its logs."""
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
    """The lost writes of each epoch, in the tail that reaches furthest. A tail that holds the
    election's own record lost nothing by it."""
    found: dict[int, LostWrites] = {}
    for tail, by_epoch in lost:
        if tail.holds(won.offset, won.epoch, won.digest):
            continue
        for epoch, writes in by_epoch.items():
            if epoch not in found or found[epoch].records < writes.records:
                found[epoch] = writes
    return found


def cause_of(
    former: Won | None,
    won: Won,
    lost: Mapping[int, LostWrites],
    registered: Sequence[Registration],
) -> tuple[ElectionCause, str]:
    """The probable cause of the election, and a sentence with the evidence. former: the record of
    the election before; None where no log has one. lost: the lost writes, by epoch. registered: see
    `elections_of`."""
    if former is None:
        return ElectionCause.FIRST, "these logs tell of no leader before"
    leader = f"leader {former.leader}"
    if won.voters and former.leader not in won.voters:
        return ElectionCause.REMOVED, f"{leader} was no voter any more"
    restarted_ms = _restarted_after(former, won, registered)
    again = (
        ""
        if restarted_ms is None
        else f"a new process of it registered {_seconds(restarted_ms)} after"
    )
    writes = lost.get(former.epoch)
    if writes is not None and writes.committed:
        return ElectionCause.WENT_BACK, _without_committed(leader, writes, won)
    if writes is not None and former.leader != won.leader:
        return _after_lost_writes(leader, writes, won, again)
    if won.previous_at is not None:
        return _after_silence(former, won, won.at - won.previous_at, again, registered)
    if again:
        return ElectionCause.RESTARTED, f"{leader} is not seen before; {again}"
    return ElectionCause.UNKNOWN, "the records before it are not in these logs"


def _after_silence(
    former: Won, won: Won, silence: int, again: str, registered: Sequence[Registration]
) -> tuple[ElectionCause, str]:
    """The cause of an election before which nothing was appended for `silence` ms. again: the text
    about the former leader's new process; "" where none registered."""
    leader = f"leader {former.leader}"
    silent = _silent(silence)
    if silence < _SHORT_MS and former.leader != won.leader:
        return _after_short_silence(former, won, silence, again, registered)
    if again:
        return ElectionCause.RESTARTED, f"{silent}; {again}: its process had ended"
    if silence < _SHORT_MS:
        told = f"{silent}, and {leader} won again: it had resigned, or its process had ended"
        return ElectionCause.UNKNOWN, told
    stopped = "" if _ran_on(former, won, registered) else "had stopped, "
    told = f"{silent}: {leader} {stopped}was frozen or cut off"
    if former.leader == won.leader:
        return ElectionCause.SILENT, f"{told}, and won again"
    if former.leader in won.granting:
        return ElectionCause.SILENT, f"{told}, and was back to vote for the new one"
    return ElectionCause.SILENT, told


def _after_short_silence(
    former: Won, won: Won, silence: int, again: str, registered: Sequence[Registration]
) -> tuple[ElectionCause, str]:
    """The cause of an election of another leader, sooner than followers stand for election after a
    silence (ms). A majority must have known of no leader, so a part of those that followed the
    former one: by its word, or because that part is the former leader itself, which a start makes
    forget that it led. It gives its word when it resigns, but also when it is started in the epoch
    that it led (Kafka: QuorumState.initialize begins as resigned), and needs no vote for that."""
    leader = f"leader {former.leader}"
    silent, reign = _silent(silence), won.at - silence - former.at
    if reign < _KNOWN_MS:
        told = f"{silent}, and {leader} had led for {_seconds(max(0, reign))} only"
        return ElectionCause.UNKNOWN, f"{told}: voters may not have heard of it"
    if silence >= _RESTARTS_MS and not _ran_on(former, won, registered):
        voted = ", and voted for the new one" if former.leader in won.granting else ""
        told = f"{silent}: {leader} had resigned, or its process had ended and started again"
        return ElectionCause.UNKNOWN, f"{told}{voted}"
    short = f"{silent}, less than followers wait for a leader that is silent"
    return ElectionCause.RESIGNED, f"{short}; {again}" if again else short


def _without_committed(leader: str, writes: LostWrites, won: Won) -> str:
    """The evidence that voters elected a leader without committed records. A majority had held them
    and a majority voted for the leader, so one voter is in both (Raft, section 5.4.3)."""
    disk = older_disk([*map(str, won.granting)])
    were = "was" if writes.committed == 1 else "were"
    return (
        f"{_wrote(leader, writes, won)}, of which {writes.committed} {were} committed; the new "
        f"leader has none of these: {disk}"
    )


def _wrote(leader: str, writes: LostWrites, won: Won) -> str:
    later = writes.last_at - won.at
    until = f"until {_seconds(later)} after this election" if later > 0 else "before it"
    return f"{leader} had written {counted(writes.records, 'more record')} {until}"


def _after_lost_writes(
    leader: str, writes: LostWrites, won: Won, again: str
) -> tuple[ElectionCause, str]:
    """The cause of an election after which the former leader's last records were given up, of which
    none is proven to be committed. again: the text about its new process; "" where none
    registered."""
    who = "the agreed branch lacks" if writes.unproven else "no majority has"
    told = f"{_wrote(leader, writes, won)}, which {who}"
    if again and writes.last_at <= won.at:
        return ElectionCause.RESTARTED, f"{told}; {again}: its process had ended"
    return ElectionCause.CUT_OFF, told


def _restarted_after(former: Won, won: Won, registered: Sequence[Registration]) -> int | None:
    """How long (ms) after the election a new process of the former leader registered, which must
    have been started because an older one had ended before the election. None where none did: a
    process that took part in the election registers soon after it, or ended after it."""
    took_part = former.leader in (won.leader, *won.granting)
    most = _REGISTERS_MS if took_part else _NEAR_MS
    after = min((one.at - won.at for one in _of_former(former, won, registered)), default=None)
    new = [one.at - won.at for one in _of_former(former, won, registered) if one.is_new_process]
    return after if new and after == min(new) and after <= most else None


def _ran_on(former: Won, won: Won, registered: Sequence[Registration]) -> bool:
    """Whether the former leader's process registered again after the election, so that it hadn't
    ended."""
    after = sorted(_of_former(former, won, registered))
    return bool(after) and not after[0].is_new_process


def _of_former(former: Won, won: Won, registered: Sequence[Registration]) -> Iterator[Registration]:
    return (one for one in registered if one.node_id == former.leader and one.at >= won.at)


def _silent(silence: int) -> str:
    return f"nothing was appended for {_seconds(silence)} before"


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"
