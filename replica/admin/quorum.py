"""What a leader's description of its quorum means for an administrator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replica.model.voters import majority
from replica.severity import Severity
from replica.wire.describe_quorum import DescribedQuorum, DescribedReplica

CAUGHT_UP_WITHIN_MS = 2_000
"""The default of controller.quorum.fetch.timeout.ms."""


@dataclass(frozen=True, slots=True)
class QuorumNotice:
    """A fact that an administrator should know."""

    severity: Severity
    text: str
    """The notice in one line for people."""


def verdicts(
    quorum: DescribedQuorum, within_ms: int = CAUGHT_UP_WITHIN_MS
) -> tuple[QuorumNotice, ...]:
    """The facts that an administrator should know, the most important fact first. within_ms: as in
    DescribedQuorum.is_caught_up."""
    return (
        _majority(quorum, within_ms),
        *_behind(quorum, "voter", quorum.voters, within_ms),
        *_behind(quorum, "observer", quorum.observers, within_ms),
        *_notes(quorum),
    )


def _majority(quorum: DescribedQuorum, within_ms: int) -> QuorumNotice:
    caught_up = sum(quorum.is_caught_up(voter, within_ms) for voter in quorum.voters)
    size = len(quorum.voters)
    needed = majority(size)
    counted = f"{caught_up} of {size} voters caught up"
    if caught_up < needed:
        text = f"{counted}, a majority is {needed}: nothing new is committed"
        return QuorumNotice(Severity.ERROR, text)
    spare = caught_up - needed
    if caught_up < size:
        left = f"{spare} more may fail" if spare else "no other may fail"
        text = f"{counted}: {left}, or nothing is committed any more"
        return QuorumNotice(Severity.WARNING, text)
    text = f"{counted}: {spare} may fail and records are still committed"
    return QuorumNotice(Severity.INFO, text)


def _behind(
    quorum: DescribedQuorum, what: str, replicas: tuple[DescribedReplica, ...], within_ms: int
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


def _notes(quorum: DescribedQuorum) -> Iterator[QuorumNotice]:
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
    if quorum.features.get("kraft.version", 0) == 0:
        text = "the voters are static: adding and removing them needs kraft.version 1"
        yield QuorumNotice(Severity.INFO, text)
