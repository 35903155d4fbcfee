"""The answer of a preflight, and the reasons for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class ChangeSafety(StrEnum):
    """SAFE: nothing in the state speaks against the change. UNSAFE: Kafka refuses the change, or it
    takes away a partition's leader or guarantees, or the quorum's majority. UNKNOWN: the state
    lacks something, which the reason names."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    UNKNOWN = "unknown"


class Reason(NamedTuple):
    """answer: SAFE for a mere note. subject: a partition, a node or a feature. offset: of the
    record in the log that shows it, None where no record does."""

    answer: ChangeSafety
    subject: str
    detail: str
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Preflight:
    """action: the planned change in words. reasons: the gravest first. needs: what the change
    relies on while it runs, and the state can't show."""

    action: str
    reasons: tuple[Reason, ...]
    needs: tuple[str, ...] = ()

    @property
    def answer(self) -> ChangeSafety:
        found = {reason.answer for reason in self.reasons}
        return next((one for one in _GRAVEST_FIRST if one in found), ChangeSafety.SAFE)


_GRAVEST_FIRST = (ChangeSafety.UNSAFE, ChangeSafety.UNKNOWN, ChangeSafety.SAFE)


def preflight(action: str, reasons: list[Reason], needs: tuple[str, ...] = ()) -> Preflight:
    """A preflight whose reasons are in order, the gravest first."""
    ordered = sorted(reasons, key=lambda one: _GRAVEST_FIRST.index(one.answer))
    return Preflight(action, tuple(ordered), needs)


def unsafe(subject: str, detail: str, offset: int | None = None) -> Reason:
    return Reason(ChangeSafety.UNSAFE, subject, detail, offset)


def unknown(subject: str, detail: str, offset: int | None = None) -> Reason:
    return Reason(ChangeSafety.UNKNOWN, subject, detail, offset)


def note(subject: str, detail: str, offset: int | None = None) -> Reason:
    return Reason(ChangeSafety.SAFE, subject, detail, offset)
