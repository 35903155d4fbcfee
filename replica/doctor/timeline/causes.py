"""Finds what probably made an election necessary.

A log doesn't say why a leader was lost. It says when the leader last appended, who voted for the
next leader, which controllers registered again, and which records of the former leader no other
node has. A working leader appends at least every 500 ms (metadata.max.idle.interval.ms). Followers
wait 2 s for a leader that is silent (controller.quorum.fetch.timeout.ms). They don't wait for a
leader that resigns, because it sends them EndQuorumEpoch. All times come from the leaders' clocks.

Evidence from before an election counts more than evidence from after it: a process that voted in
the election, or won it, may have ended at any time before a registration long after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from replica.doctor.quorum.reasons import older_disk
from replica.doctor.timeline.branch import BranchTail
from replica.words import counted

FETCH_TIMEOUT_MS = 2000
"""The default of controller.quorum.fetch.timeout.ms, in ms."""
FETCH_WAIT_MS = 500
"""The longest that a fetch waits for records (Kafka: KafkaRaftClient.MAX_FETCH_WAIT_MS), in ms. So
the leader's last answer to a follower may be this much older than the leader's last append."""
_SHORT_MS = FETCH_TIMEOUT_MS - FETCH_WAIT_MS
_RESTARTS_MS = 500
"""The least time (ms) in which a process ends, is started again and votes."""
_KNOWN_MS = 2000
"""Voters that have not heard of a new leader after this time (ms) have stood for election: twice
controller.quorum.election.timeout.ms. Before that, they may still grant votes as if there were no
leader."""
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
    """The former leader was not a voter any more."""
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
    """The time of the batch before the record, in ms since 1970 (UTC); None if the log has no batch
    directly before it."""
    digest: tuple[int, int] | None = None
    """CRC and size (bytes) of the record's batch, which differ between the records of two quorums;
    None if unknown."""

    def is_same(self, other: Won) -> bool:
        """Whether both values are the same record in two logs."""
        return (self.epoch, self.offset, self.digest) == (other.epoch, other.offset, other.digest)


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


def cause_of(
    former: Won | None,
    won: Won,
    lost: Mapping[int, LostWrites],
    registered: Sequence[Registration],
) -> tuple[ElectionCause, str]:
    """The probable cause of the election, and a sentence with the evidence. former: the record of
    the previous election; None if no log has it. lost: the lost writes, by epoch. registered: see
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
        else f"a new process of node {former.leader} registered {_seconds(restarted_ms)} after"
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
    about the former leader's new process; "" if no new process registered."""
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
    """The cause of an election that another node won after a short silence. silence: its length in
    ms. Followers don't stand for election so soon, and a majority must have known no leader. So
    some voters gave up the former leader early, for one of two reasons. The former leader sent
    EndQuorumEpoch, when it resigned or was started again in the epoch that it led (Kafka:
    QuorumState.initialize begins as resigned). Or a restart made the former leader itself forget
    that it led."""
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
    """The evidence that voters elected a leader without committed records. A majority held the
    records and a majority voted for the leader, so one voter is in both (Raft, section 5.4.3)."""
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
    """The cause of an election after which the former leader's last records were lost. No lost
    record is proven to be committed. again: the text about the leader's new process; "" if no new
    process registered."""
    who = "the agreed branch lacks" if writes.unproven else "no majority has"
    told = f"{_wrote(leader, writes, won)}, which {who}"
    if again and writes.last_at <= won.at:
        return ElectionCause.RESTARTED, f"{told}; {again}: its process had ended"
    return ElectionCause.CUT_OFF, told


def _restarted_after(former: Won, won: Won, registered: Sequence[Registration]) -> int | None:
    """The time (ms) from the election to the registration of a new process of the former leader, if
    an older process must have ended before the election; else None. A late registration of a node
    that took part in the election doesn't count: the older process may have ended afterwards."""
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
