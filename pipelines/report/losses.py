"""What replicas lost, or would lose: truncations that captures show, and divergences that are still
open."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from pipelines.report.divergences import Parting, Replica, replica_of
from pipelines.report.meaning import Effect
from pipelines.report.source import Row

MAX_LOSSES_TOLD = 3
"""The most losses that the verdict names, and whose effect is queried."""


class When(Enum):
    """What captures show about a loss of records."""

    GONE = "gone"
    """Captures show that the replica no longer has the records."""
    PENDING = "pending"
    """The replica's newest capture still has the records. The replica truncates them when it
    follows the other branch."""
    UNSEEN = "unseen"
    """The replica had the records, and no later capture shows whether it still has them."""


@dataclass(frozen=True)
class LostRecordCount:
    """Records that replicas lost, or would lose: how many, and how many of them are proven
    committed, superseded or unproven."""

    replicas: tuple[Replica, ...]
    when: When
    first: int
    """The first offset of the lost records (inclusive)."""
    records: int
    committed: int
    unproven: int
    superseded: int
    epochs: tuple[int, ...] = ()
    """The epochs of the lost records; empty where no table has them."""
    end: int | None = None
    """The end of a run that is gone, exclusive; None for other records."""
    capture_group: str = ""
    """The group whose captures show that the records are pending or unseen."""
    between: tuple[datetime | None, datetime] | None = None
    """captured_at of the last capture with the records that are gone (None where no table has it),
    and of the first capture without them."""
    effect: Effect | None = None
    """The effect of the loss; None where no query asked for it."""
    is_kept: bool = False
    """Whether another replica never lost the committed records among the lost ones, so that only
    the copies of `replicas` are lost; False where no query asked for it."""

    @property
    def drawn_to(self) -> int:
        """The offset up to which the records are drawn, exclusive."""
        return self.first + self.records if self.end is None else self.end


def losses(
    truncations: Iterable[Row], partings: Iterable[Parting], newest: Mapping[Replica, str]
) -> tuple[LostRecordCount, ...]:
    """The losses, each once; first the losses of committed records.

    truncations: rows of queries.truncations.
    partings: the divergences that the captures show.
    newest: each replica's newest capture group.
    """
    gone = [_gone(row) for row in truncations]
    told = {(loss.replicas[0], loss.first) for loss in gone}
    found = list(gone)
    for parting in partings:
        for losing in parting.losing:
            pending = newest.get(losing.replica) == parting.capture_group
            if not pending and (losing.replica, parting.offset) in told:
                continue
            found.append(
                LostRecordCount(
                    (losing.replica,),
                    When.PENDING if pending else When.UNSEEN,
                    parting.offset,
                    losing.records,
                    losing.committed,
                    losing.unproven,
                    losing.superseded,
                    epochs=tuple(
                        branch.epoch
                        for branch in parting.branches
                        if losing.replica in branch.replicas
                    ),
                    capture_group=parting.capture_group,
                )
            )
    return tuple(sorted(_together(found), key=_order))


def _gone(row: Row) -> LostRecordCount:
    return LostRecordCount(
        (replica_of(row),),
        When.GONE,
        row["from_offset"],
        row["records"],
        row["committed_lost"],
        row["unproven_lost"],
        row["superseded_lost"],
        tuple(row["epochs"]),
        end=row["to_offset"],
        between=(row["last_seen"], row["seen_at"]),
    )


def _together(found: Iterable[LostRecordCount]) -> Iterable[LostRecordCount]:
    """The losses, with one loss for all replicas that lost the same records, also where different
    captures show it."""
    alike: dict[LostRecordCount, list[LostRecordCount]] = defaultdict(list)
    for loss in found:
        alike[replace(loss, replicas=(), capture_group="", between=None)].append(loss)
    for same in alike.values():
        replicas = sorted({replica for loss in same for replica in loss.replicas})
        first = min(same, key=lambda loss: loss.replicas)
        yield replace(first, replicas=tuple(replicas), between=_between(same))


def _between(same: Iterable[LostRecordCount]) -> tuple[datetime | None, datetime] | None:
    """`between` of losses of the same records: from the earliest start to the latest end. None
    where no loss has it."""
    told = [loss.between for loss in same if loss.between is not None]
    if not told:
        return None
    starts = [start for start, _ in told if start is not None]
    return min(starts, default=None), max(end for _, end in told)


def _order(loss: LostRecordCount) -> tuple[int, int, int, int]:
    return -loss.committed, -loss.unproven, loss.first, list(When).index(loss.when)
