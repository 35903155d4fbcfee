"""gold.elections: how often the quorum changed its leader, and how often it failed to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from pipelines.in_memory.aggregates import distinct, grouped, hour_of, smallest
from pipelines.in_memory.rows import Row, milliseconds


class _Epoch(NamedTuple):
    """An epoch. at: when it began; for an epoch that is in no log, when the first capture shows it.

    leaderless: how many epochs up to this one, since the one before in the table, had no leader.
    reign_ms: None while it hasn't ended, or where a time is unknown.
    """

    cluster_id: str
    at: datetime | None
    has_leader: bool
    leader_id: int | None
    leaderless: int
    reign_ms: int | None


def elections(history: Sequence[Row], captures: Iterable[Row], state: Iterable[Row]) -> list[Row]:
    """The table's rows. history: rows of gold.leader_epoch_history. captures, state: bronze's
    rows."""
    epochs = (
        epoch
        for rows in grouped(_known_and_seen(history, captures, state), _cluster).values()
        for epoch in _counted(sorted(rows, key=lambda row: int(row["epoch"])))
    )
    by_hour = grouped(epochs, lambda epoch: (epoch.cluster_id, hour_of(epoch.at)))
    return [
        {
            "cluster_id": cluster,
            "hour": hour,
            "elections": sum(epoch.has_leader for epoch in of_hour),
            "leaders": distinct(epoch.leader_id for epoch in of_hour),
            "leaderless_epochs": sum(epoch.leaderless for epoch in of_hour),
            "shortest_ms": smallest(epoch.reign_ms for epoch in of_hour),
        }
        for (cluster, hour), of_hour in by_hour.items()
    ]


def _known_and_seen(
    history: Sequence[Row], captures: Iterable[Row], state: Iterable[Row]
) -> Iterator[Row]:
    """The history's rows with `at` and `has_leader`, and rows for the epochs that it lacks."""
    known = {(row["cluster_id"], row["epoch"]) for row in history}
    for row in history:
        yield {**row, "at": row["started_at"], "has_leader": True}
    for (cluster, epoch), at in _seen_epochs(captures, state).items():
        if (cluster, epoch) not in known:
            nothing = dict.fromkeys(("leader_id", "start_offset", "started_at", "ended_at"))
            yield {**nothing, "cluster_id": cluster, "epoch": epoch, "at": at, "has_leader": False}


def _seen_epochs(
    captures: Iterable[Row], state: Iterable[Row]
) -> dict[tuple[str, int], datetime | None]:
    """(cluster_id, epoch) of quorum-states, and when the first capture shows each."""
    looks = grouped(captures, lambda row: row["capture_id"])
    entered = (row for row in state if (row["leader_epoch"] or 0) > 0)
    by_epoch = grouped(entered, lambda row: (row["cluster_id"], row["leader_epoch"]))
    seen = {
        key: smallest(
            look["captured_at"] for row in rows for look in looks.get(row["capture_id"], ())
        )
        for key, rows in by_epoch.items()
    }
    return {key: at for key, at in seen.items() if at is not None}


def _counted(rows: Sequence[Row]) -> Iterator[_Epoch]:
    """The rows with their counts. rows: of one cluster, ascending by epoch."""
    before: int | None = None
    for row in rows:
        if before is None:
            # A log that begins at offset 0 shows the first leader that the cluster ever had.
            before = 0 if row["start_offset"] == 0 else row["epoch"] - 1
        leaderless = row["epoch"] - before - row["has_leader"]
        yield _Epoch(
            row["cluster_id"],
            row["at"],
            row["has_leader"],
            row["leader_id"],
            leaderless=leaderless,
            reign_ms=_between(row["started_at"], row["ended_at"]),
        )
        before = row["epoch"]


def _between(start: datetime | None, end: datetime | None) -> int | None:
    return None if start is None or end is None else milliseconds(end) - milliseconds(start)


def _cluster(row: Row) -> str:
    return str(row["cluster_id"])
