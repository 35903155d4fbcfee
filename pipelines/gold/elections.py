"""gold.elections: how often the quorum elected a leader, and how often an election failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from pipelines.cluster.aggregates import distinct, grouped, hour_of, smallest
from pipelines.cluster.rows import Row, ms_between


class _Epoch(NamedTuple):
    """An epoch, in the form in which the elections are counted."""

    at: datetime | None
    """The time when the epoch began; for an epoch that is in no log, the time of the first capture
    that shows it. None where unknown."""
    has_leader: bool
    leader_id: int | None
    leaderless: int
    """The number of epochs without a leader from the preceding known epoch (exclusive) to this
    epoch (inclusive)."""
    reign_ms: int | None
    """The epoch's length in ms; None where the epoch hasn't ended, and where a time is unknown."""


def elections(
    cluster_id: str, history: Sequence[Row], captures: Iterable[Row], state: Iterable[Row]
) -> list[Row]:
    """Rows of gold.elections. history: rows of gold.leader_epoch_history. captures, state: rows of
    bronze.captures and bronze.replica_state."""
    epochs = sorted(_known_and_seen(history, captures, state), key=itemgetter("epoch"))
    by_hour = grouped(_counted(epochs), lambda epoch: hour_of(epoch.at))
    return [
        {
            "cluster_id": cluster_id,
            "hour": hour,
            "elections": sum(epoch.has_leader for epoch in of_hour),
            "leaders": distinct(epoch.leader_id for epoch in of_hour),
            "leaderless_epochs": sum(epoch.leaderless for epoch in of_hour),
            "shortest_ms": smallest(epoch.reign_ms for epoch in of_hour),
        }
        for hour, of_hour in by_hour.items()
    ]


def _known_and_seen(
    history: Sequence[Row], captures: Iterable[Row], state: Iterable[Row]
) -> Iterator[Row]:
    """The history's rows with `at` and `has_leader`, and rows for the epochs that it lacks."""
    known = {row["epoch"] for row in history}
    for row in history:
        yield {**row, "at": row["started_at"], "has_leader": True}
    for epoch, at in _seen_epochs(captures, state).items():
        if epoch not in known:
            nothing = dict.fromkeys(("leader_id", "start_offset", "started_at", "ended_at"))
            yield {**nothing, "epoch": epoch, "at": at, "has_leader": False}


def _seen_epochs(captures: Iterable[Row], state: Iterable[Row]) -> dict[int, datetime]:
    """The epochs of quorum-states, each with the time of the first capture that shows it."""
    of_capture = grouped(captures, itemgetter("capture_id"))
    seen: dict[int, datetime] = {}
    for row in (row for row in state if (row["leader_epoch"] or 0) > 0):
        for capture in of_capture.get(row["capture_id"], ()):
            epoch, at = row["leader_epoch"], capture["captured_at"]
            seen[epoch] = min(at, seen.get(epoch, at))
    return seen


def _counted(rows: Iterable[Row]) -> Iterator[_Epoch]:
    """The epochs of the rows, each with the number of elections before it that failed. rows:
    ascending by epoch."""
    before: int | None = None
    for row in rows:
        if before is None:
            # A log that begins at offset 0 shows the first leader that the cluster ever had. Kafka
            # counts from epoch 1 on; a damaged file may say less.
            before = min(0, row["epoch"] - 1) if row["start_offset"] == 0 else row["epoch"] - 1
        leaderless = row["epoch"] - before - row["has_leader"]
        yield _Epoch(
            row["at"],
            row["has_leader"],
            row["leader_id"],
            leaderless=leaderless,
            reign_ms=ms_between(row["started_at"], row["ended_at"]),
        )
        before = row["epoch"]
