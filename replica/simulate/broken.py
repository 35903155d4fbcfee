"""The invariants by name, and the error that names the broken one."""

from __future__ import annotations

from typing import NoReturn

from replica.errors import KraftlakeError

INVARIANTS = {
    "one leader": "an epoch has at most one leader, whoever stores it",
    "votes": "nobody votes twice in an epoch, or forgets its vote or epoch",
    "epochs": "a stored epoch never falls, and is the one a replica acts in",
    "log matching": "logs that agree on an offset's epoch agree on all before it",
    "committed": "what was committed is never lost or changed, and a new leader has it",
    "high watermark": "never falls; a record of the leader's epoch and a majority reached it",
    "voter sets": "two in a row differ by one voter, and the first is committed",
    "snapshots": "hold what the committed log adds up to; the log starts at the oldest",
    "replay": "equal offsets give equal states, by log, by snapshot and by disk",
    "state machine": "a leader's machine is given no snapshot",
    "linearizable": "what was acknowledged is there once, in an order that fits real time",
    "legal messages": "no correct replica sends what no correct replica sends",
    "liveness": "without faults a leader is found, and everybody gets what it commits",
    "core": "no assertion of the engine fails, and nothing is raised that nobody expects",
}


class BrokenInvariantError(KraftlakeError):
    """name: one of INVARIANTS; the text says what broke it."""

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(name, detail)
        self.name = name
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}"


def broken(name: str, detail: str) -> NoReturn:
    """Raises BrokenInvariantError."""
    assert name in INVARIANTS, name
    raise BrokenInvariantError(name, detail)


def demand(holds: bool, name: str, detail: str) -> None:
    """Raises BrokenInvariantError unless the condition holds. Code that every event runs uses `if`
    and `broken` instead, so that `detail` is only made when it is needed."""
    if not holds:
        broken(name, detail)
