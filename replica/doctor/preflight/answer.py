"""The answer of a preflight, and the reasons for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple

QUORUM = "quorum"
"""The subject of a reason that is about the quorum as a whole. The reason's detail continues the
sentence, such as `had no leader when the directories were copied`."""


class ChangeSafety(StrEnum):
    """The answer whether a planned change is safe, of a judgement or of a single reason."""

    SAFE = "safe"
    """The state shows no reason against the change."""
    UNSAFE = "unsafe"
    """Kafka refuses the change; or the change takes away a partition's leader or guarantees, or the
    quorum's majority."""
    UNKNOWN = "unknown"
    """The state lacks something that the judgement needs. The reason names it."""
    NOTHING_TO_DO = "nothing-to-do"
    """The cluster is as the change would make it."""


class Reason(NamedTuple):
    """A reason for an answer."""

    answer: ChangeSafety
    """The answer that this reason alone would give: SAFE for a note, which is no objection."""
    subject: str
    """The partition, the node or the feature that the reason is about."""
    detail: str
    offset: int | None = None
    """The offset of the record that shows the reason; None if no record shows it."""
    is_of_partition: bool = False
    """Whether the reason is about one partition, of which there may be thousands."""
    is_refusal: bool = False
    """Whether Kafka refuses the change, also once the quorum has a leader."""


unsafe = partial(Reason, ChangeSafety.UNSAFE)
refused = partial(Reason, ChangeSafety.UNSAFE, is_refusal=True)
unknown = partial(Reason, ChangeSafety.UNKNOWN)
note = partial(Reason, ChangeSafety.SAFE)
done = partial(Reason, ChangeSafety.NOTHING_TO_DO)


@dataclass(frozen=True, slots=True)
class Preflight:
    """The judgement of a planned change."""

    action: str
    """The change in words."""
    reasons: tuple[Reason, ...]
    """The reasons: first the reasons about no single partition, then the reasons about single
    partitions, the gravest first in both parts, and of these the refusals by Kafka."""
    needs: tuple[str, ...] = ()
    """Conditions on which the change relies while it runs, and which the state can't show."""
    first: tuple[str, ...] = ()
    """What to do before the change, in this order, so that it becomes safe; empty if nothing is
    known that helps."""
    order: tuple[int, ...] = ()
    """The ids of the nodes in the order of the change; empty for a change without an order."""
    asks_quorum: bool = True
    """Whether the change, or the return of a node that it stops, needs a leader of the quorum."""

    @property
    def answer(self) -> ChangeSafety:
        """The gravest answer of the reasons; NOTHING_TO_DO outranks notes."""
        answers = {reason.answer for reason in self.reasons}
        if ChangeSafety.NOTHING_TO_DO in answers:
            answers.discard(ChangeSafety.SAFE)
        return gravest(answers)

    @property
    def is_refused(self) -> bool:
        """Whether Kafka refuses the change, also once the quorum has a leader."""
        return any(reason.is_refusal for reason in self.reasons)

    @property
    def is_conditional(self) -> bool:
        """Whether the answer holds only under the conditions in `needs`."""
        return bool(self.needs) and self.answer in (ChangeSafety.SAFE, ChangeSafety.NOTHING_TO_DO)


_GRAVEST_FIRST = (
    ChangeSafety.UNSAFE, ChangeSafety.UNKNOWN, ChangeSafety.SAFE, ChangeSafety.NOTHING_TO_DO,
)  # fmt: skip


def gravest(answers: Iterable[ChangeSafety]) -> ChangeSafety:
    """The gravest of these answers; SAFE if there are none."""
    return min(answers, key=_GRAVEST_FIRST.index, default=ChangeSafety.SAFE)


def preflight(action: str, reasons: list[Reason], needs: tuple[str, ...] = ()) -> Preflight:
    """A Preflight with these reasons, which are sorted here."""

    def place(one: Reason) -> tuple[bool, int, bool]:
        return one.is_of_partition, _GRAVEST_FIRST.index(one.answer), not one.is_refusal

    return Preflight(action, tuple(sorted(reasons, key=place)), needs)
