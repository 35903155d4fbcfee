"""What a preflight answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class ChangeSafety(StrEnum):
    """SAFE: nothing in the state speaks against the change. UNSAFE: Kafka refuses it, or it takes
    a leader, the guarantees of a partition or the quorum's majority away. UNKNOWN: the state does
    not tell; what is missing is named."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    UNKNOWN = "unknown"


class Reason(NamedTuple):
    """answer: SAFE for a note that speaks for nothing. subject: a partition, a node or a feature.
    offset: of the record in the log that says so, None where there is none."""

    answer: ChangeSafety
    subject: str
    detail: str
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Preflight:
    """action: the planned change in words. reasons: the gravest first. needs: what the state can't
    tell and the change relies on while it runs."""

    action: str
    reasons: tuple[Reason, ...]
    needs: tuple[str, ...] = ()

    @property
    def answer(self) -> ChangeSafety:
        found = {reason.answer for reason in self.reasons}
        return next((one for one in _GRAVEST_FIRST if one in found), ChangeSafety.SAFE)


_GRAVEST_FIRST = (ChangeSafety.UNSAFE, ChangeSafety.UNKNOWN, ChangeSafety.SAFE)


def preflight(action: str, reasons: list[Reason], needs: tuple[str, ...] = ()) -> Preflight:
    """With the reasons in order."""
    ordered = sorted(reasons, key=lambda one: _GRAVEST_FIRST.index(one.answer))
    return Preflight(action, tuple(ordered), needs)


def unsafe(subject: str, detail: str, offset: int | None = None) -> Reason:
    return Reason(ChangeSafety.UNSAFE, subject, detail, offset)


def unknown(subject: str, detail: str, offset: int | None = None) -> Reason:
    return Reason(ChangeSafety.UNKNOWN, subject, detail, offset)


def note(subject: str, detail: str, offset: int | None = None) -> Reason:
    return Reason(ChangeSafety.SAFE, subject, detail, offset)
