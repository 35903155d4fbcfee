"""Whether appends to one log are linearizable, judged by the final log.

A search for an order, as porcupine and knossos do it, is not needed: the log is the order. Appends
are linearizable in that order where each acknowledged append is in the log once, no refused append
is in it, none is in it twice, and none comes before another that had ended before it began (Herlihy
and Wing, 1990: the order of the log extends the order in time).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """What the client knows about its append."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    """The append is not in the log, and never will be."""
    UNKNOWN = "unknown"
    """The append may be in the log, now or later, or never: no answer came, or an answer that says
    no more."""


@dataclass(frozen=True)
class Append:
    """An append. value: no other append has the same. began, ended: seconds of one clock; ended
    counts where the append was acknowledged."""

    value: str
    began: float
    ended: float
    outcome: Outcome


def contradictions(history: Sequence[Append], log: Sequence[str]) -> list[str]:
    """A sentence for each append that contradicts the log; none where the appends are linearizable.
    log: the values in the order of the log."""
    return [*_in_the_log(history, log), *_in_order(history, log)]


def _in_the_log(history: Sequence[Append], log: Sequence[str]) -> Iterator[str]:
    counts = Counter(log)
    known = {append.value for append in history}
    for value, count in counts.items():
        if count > 1:
            yield f"{value} is in the log {count} times"
        if value not in known:
            yield f"{value} is in the log, and nobody appended it"
    for append in history:
        if append.outcome is Outcome.ACKNOWLEDGED and append.value not in counts:
            yield f"{append.value} was acknowledged, and is not in the log"
        if append.outcome is Outcome.REFUSED and append.value in counts:
            yield f"{append.value} was refused, and is in the log"


def _in_order(history: Sequence[Append], log: Sequence[str]) -> Iterator[str]:
    by_value = {append.value: append for append in history}
    latest: Append | None = None
    for value in log:
        append = by_value.get(value)
        if append is None:
            continue
        is_over = append.outcome is Outcome.ACKNOWLEDGED
        ended = append.ended if is_over else math.inf
        if latest is not None and latest.began > ended:
            yield f"{latest.value} is before {value}, and began after that had ended"
        if latest is None or append.began > latest.began:
            latest = append
