"""What replicas lost, or would lose: truncations that captures show, and divergences still open."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from pipelines.report.partings import Parting, Replica
from pipelines.report.source import Row


class When(Enum):
    """GONE: captures show that the records vanished. PENDING: the replica's newest capture still
    holds them, and it truncates them when it follows the other branch. UNSEEN: it held them, and
    no capture shows what became of them."""

    GONE = "gone"
    PENDING = "pending"
    UNSEEN = "unseen"


@dataclass(frozen=True)
class Loss:
    """Records that replicas lost, or would lose: counts of records, and of each what is known of
    its commitment. first: the first offset; epochs: of the records, where the tables tell."""

    replicas: tuple[Replica, ...]
    when: When
    first: int
    records: int
    committed: int
    unproven: int
    superseded: int
    epochs: tuple[int, ...] = ()


def losses(
    truncations: Iterable[Row], partings: Iterable[Parting], newest: Mapping[Replica, str]
) -> tuple[Loss, ...]:
    """Each loss once, those that lose committed records first.

    truncations: rows of queries.truncations. newest: each replica's newest capture group.
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
                Loss(
                    (losing.replica,),
                    When.PENDING if pending else When.UNSEEN,
                    parting.offset,
                    *(losing.records, losing.committed, losing.unproven, losing.superseded),
                    epochs=_epochs(parting, losing.replica),
                )
            )
    return tuple(sorted(_together(found), key=_order))


def _gone(row: Row) -> Loss:
    return Loss(
        (Replica(row["node_id"], row["directory_id"]),),
        When.GONE,
        row["from_offset"],
        row["records"],
        row["committed_lost"],
        row["unproven_lost"],
        row["superseded_lost"],
        tuple(row["epochs"]),
    )


def _epochs(parting: Parting, replica: Replica) -> tuple[int, ...]:
    return tuple(branch.epoch for branch in parting.branches if replica in branch.replicas)


def _together(found: Iterable[Loss]) -> Iterable[Loss]:
    """Replicas that lost the same in one Loss."""
    alike: dict[Loss, list[Replica]] = defaultdict(list)
    for loss in found:
        alike[replace(loss, replicas=())] += loss.replicas
    for loss, replicas in alike.items():
        yield replace(loss, replicas=tuple(sorted(set(replicas))))


def _order(loss: Loss) -> tuple[int, int, int, int]:
    return -loss.committed, -loss.unproven, loss.first, list(When).index(loss.when)
