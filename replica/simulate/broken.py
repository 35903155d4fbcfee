"""The invariants by name, and the error for a broken invariant."""

from __future__ import annotations

from typing import NoReturn

from replica.errors import KraftlakeError

INVARIANTS = {
    "one leader": "an epoch has at most one leader, in every replica's quorum-state",
    "votes": "no replica votes twice in an epoch, for an older log, or forgets its vote or epoch",
    "epochs": "a replica's stored epoch never falls, and is the epoch in which it acts",
    "log matching": "logs with the same epoch at an offset are equal up to there",
    "committed": "committed records are never lost or changed, and a new leader has them",
    "high watermark": "it never falls; a record of the leader's epoch and a majority reach it",
    "voter sets": "the newest is in force; the one before is committed, and differs by one voter",
    "snapshots": "they equal the replay of the committed log; the log starts at the oldest one",
    "replay": "at the same offset all replicas have the same state, by log, snapshot and disk",
    "state machine": "it hears that it leads after all older records, and then loads no snapshot",
    "check quorum": "a leader to which no majority has fetched for long, or was removed, resigns",
    "linearizable": "acknowledged batches are in the log once, in an order that fits real time",
    "legal messages": "no replica gets a message that no correct replica sends",
    "liveness": "without faults a leader is found, and all replicas get what it commits",
    "core": "no assertion of the engine fails, and it raises no unexpected error",
}


class BrokenInvariantError(KraftlakeError):
    """An invariant is broken. The text names the invariant, and says what broke it."""


def broken(name: str, detail: str) -> NoReturn:
    """Raises BrokenInvariantError. name: one of INVARIANTS. detail: what broke the invariant."""
    assert name in INVARIANTS, name
    raise BrokenInvariantError(f"{name}: {detail}")


def demand(holds: bool, name: str, detail: str) -> None:
    """Raises BrokenInvariantError unless `holds`. Code that runs at every event uses `if` and
    `broken` instead, so that `detail` is made only when an invariant is broken."""
    if not holds:
        broken(name, detail)
