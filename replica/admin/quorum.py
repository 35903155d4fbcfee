"""A quorum as its leader describes it (KIP-595, KIP-836, KIP-853), and what that means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from replica.model.voters import majority
from replica.severity import Severity
from replica.wire.quorum import DescribedReplica

CAUGHT_UP_WITHIN_MS = 2_000
"""The default of controller.quorum.fetch.timeout.ms."""


@dataclass(frozen=True, slots=True)
class Quorum:
    """A quorum. cluster_id: None where the node that was asked can't tell it. high_watermark:
    exclusive; -1 while it is unknown. features: the finalized level of each feature, by name."""

    cluster_id: str | None
    leader_id: int
    epoch: int
    high_watermark: int
    voters: tuple[DescribedReplica, ...]
    observers: tuple[DescribedReplica, ...]
    features: Mapping[str, int]

    @property
    def leader(self) -> DescribedReplica | None:
        """The leader's own entry. If the leader has been removed from the voters, its entry is
        among the observers until the removal is committed."""
        found = (each for each in self.replicas if each.key.node_id == self.leader_id)
        return next(found, None)

    @property
    def replicas(self) -> tuple[DescribedReplica, ...]:
        return (*self.voters, *self.observers)

    @property
    def kraft_version(self) -> int:
        """The finalized level of kraft.version; 0 where there is none."""
        return self.features.get("kraft.version", 0)

    def lag(self, replica: DescribedReplica) -> int | None:
        """The number of records that the leader has and the replica hasn't. None where the log end
        of one of the two is unknown."""
        leader = self.leader
        if leader is None or replica.log_end < 0:
            return None
        return max(0, leader.log_end - replica.log_end)

    def ago(self, time_ms: int | None) -> int | None:
        """The ms from a time by the leader's clock to the leader's answer. None where one of the
        two times is unknown."""
        leader = self.leader
        if time_ms is None or time_ms < 0 or leader is None or leader.last_caught_up is None:
            return None
        return max(0, leader.last_caught_up - time_ms)

    def is_caught_up(self, replica: DescribedReplica, within_ms: int) -> bool:
        """Whether the replica was at the leader's log end within the last `within_ms`. If the
        leader tells no times: whether the replica is at the leader's log end now."""
        if replica.key.node_id == self.leader_id:
            return True
        if replica.last_caught_up is None:
            return self.lag(replica) == 0
        ago = self.ago(replica.last_caught_up)
        return ago is not None and ago <= within_ms


@dataclass(frozen=True, slots=True)
class QuorumNotice:
    """A fact that an administrator should know. text: one line."""

    severity: Severity
    text: str


def verdicts(quorum: Quorum, within_ms: int = CAUGHT_UP_WITHIN_MS) -> tuple[QuorumNotice, ...]:
    """The facts that an administrator should know; the most important one comes first. within_ms:
    see is_caught_up."""
    return (
        _majority(quorum, within_ms),
        *_behind(quorum, "voter", quorum.voters, within_ms),
        *_behind(quorum, "observer", quorum.observers, within_ms),
        *_notes(quorum),
    )


def _majority(quorum: Quorum, within_ms: int) -> QuorumNotice:
    caught_up = sum(quorum.is_caught_up(voter, within_ms) for voter in quorum.voters)
    size = len(quorum.voters)
    needed = majority(size)
    counted = f"{caught_up} of {size} voters caught up"
    if caught_up < needed:
        return QuorumNotice(
            Severity.ERROR, f"{counted}, a majority is {needed}: nothing new is committed"
        )
    spare = caught_up - needed
    if caught_up < size:
        left = f"{spare} more may fail" if spare else "no other may fail"
        return QuorumNotice(
            Severity.WARNING, f"{counted}: {left}, or nothing is committed any more"
        )
    return QuorumNotice(
        Severity.INFO, f"{counted}: {spare} may fail and records are still committed"
    )


def _behind(
    quorum: Quorum, what: str, replicas: tuple[DescribedReplica, ...], within_ms: int
) -> Iterator[QuorumNotice]:
    for replica in replicas:
        if quorum.is_caught_up(replica, within_ms):
            continue
        fetched, lag = quorum.ago(replica.last_fetch), quorum.lag(replica)
        if lag is None or (replica.last_fetch == -1 and replica.log_end <= 0):
            why = "was never heard of in this epoch"
        elif fetched is not None and fetched > within_ms:
            why = f"has not fetched for {fetched} ms, {lag} records behind"
        else:
            why = f"is {lag} records behind"
        yield QuorumNotice(Severity.WARNING, f"{what} {replica.key.node_id} {why}")


def _notes(quorum: Quorum) -> Iterator[QuorumNotice]:
    if quorum.high_watermark < 0:
        yield QuorumNotice(Severity.WARNING, "nothing is committed in this epoch yet")
    voter_ids = [voter.key.node_id for voter in quorum.voters]
    if quorum.leader_id not in voter_ids:
        text = f"leader {quorum.leader_id} is no voter: it goes once its removal is committed"
        yield QuorumNotice(Severity.WARNING, text)
    if len(set(voter_ids)) < len(voter_ids):
        yield QuorumNotice(Severity.ERROR, "two voters have one node id")
    if len(voter_ids) % 2 == 0:
        spare = len(voter_ids) - majority(len(voter_ids))
        text = f"{len(voter_ids)} voters survive {spare} failures, as {len(voter_ids) - 1} do"
        yield QuorumNotice(Severity.INFO, text)
    if quorum.kraft_version == 0:
        text = "the voters are static: adding and removing them needs kraft.version 1"
        yield QuorumNotice(Severity.INFO, text)
