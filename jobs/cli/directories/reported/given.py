"""The directories of one cluster, round by round, in the form from which the report is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from pipelines.capture.grouping import captured_at, file_beside
from pipelines.report.divergences import Replica
from pipelines.report.source import Figure, Row
from replica.doctor.check.examined import Examined
from replica.doctor.check.known_quorum import ComparedLogs
from replica.doctor.quorum.log_ends import Behind
from replica.doctor.timeline.branch import Branch
from replica.doctor.verdict.evidence_of_directories import JudgedCluster
from replica.doctor.verdict.verdict import Verdict
from replica.format.capture import FILE_NAME
from replica.format.discovery import DirectoryPath
from replica.format.formatted import FormattedDirectory
from replica.history.log import ReplicaLog

GIVEN = "these directories"
"""The name of the only round, where its time is unknown."""


@dataclass(frozen=True, eq=False)
class Capture:
    """A directory of a round. at: the time of its capture or, where that is unknown, of this
    report."""

    examined: Examined
    log: ReplicaLog
    at: datetime

    @property
    def replica(self) -> Replica:
        return replica_of(self.examined)

    @property
    def row(self) -> dict[str, Any]:
        """The values of the columns that name the replica, by column name."""
        return asdict(self.replica)


@dataclass(frozen=True, eq=False)
class Round:
    """The directories of the cluster that were captured together. group: the name of the round in
    rows."""

    group: str
    name: str | None
    """The round's name in --order. Without --order: None where the time of the round is known, else
    GIVEN."""
    captures: tuple[Capture, ...]
    has_own_time: bool
    compared: ComparedLogs
    judged: JudgedCluster

    @property
    def at(self) -> datetime:
        return max(one.at for one in self.captures)

    def capture_of(self, examined: Examined) -> Capture | None:
        """The capture of a directory; None where the directory holds no metadata log."""
        return next((one for one in self.captures if one.examined is examined), None)


@dataclass(frozen=True, eq=False)
class GivenCluster:
    """One cluster, as the directories of all rounds show it. rounds: the oldest first. behind: how
    far each member of the newest round is behind the newest log."""

    cluster_id: str
    rounds: tuple[Round, ...]
    branch: Branch
    verdict: Verdict
    behind: Sequence[Behind | None]
    formatted: tuple[FormattedDirectory, ...]

    @property
    def newest(self) -> Round:
        return self.rounds[-1]

    @cached_property
    def replicas(self) -> dict[Replica, tuple[Round, Capture]]:
        """Each replica in the newest round that has it, sorted."""
        found = {one.replica: (each, one) for each in self.rounds for one in each.captures}
        return dict(sorted(found.items()))

    @property
    def captures(self) -> Iterator[tuple[Round, Capture]]:
        """All captures, those of the newest round first."""
        return ((each, one) for each in reversed(self.rounds) for one in each.captures)


def replica_of(examined: Examined) -> Replica:
    owner = examined.owner
    return Replica(owner.node_id, owner.directory_id)


def round_of(
    number: int, name: str | None, compared: ComparedLogs, judged: JudgedCluster, now: datetime
) -> Round:
    """The round with this number. now: the time of the report. A directory without a capture.json
    gets this time and `number` ms more, so that a later round has a later time."""
    captures, times = [], []
    for examined, log in compared.members:
        at = _time_of(examined)
        times.append(at)
        captures.append(Capture(examined, log, at or now + timedelta(milliseconds=number)))
    own = all(times)
    return Round(
        f"round {number}", name or (None if own else GIVEN), tuple(captures), own, compared, judged
    )


def _time_of(examined: Examined) -> datetime | None:
    if not isinstance(examined.location, DirectoryPath):
        return None
    at = captured_at(file_beside(examined.location, FILE_NAME) or "")
    return None if at == datetime.min.replace(tzinfo=UTC) else at


def figure(rows: Sequence[Row], most: int | None = None) -> Figure:
    """The rows as a figure of the report, without SQL. most: the most rows it shows; None: all."""
    return Figure("", tuple(rows[:most]), len(rows))


def time_of(ms: int | None) -> str | None:
    """A record's time (ms since 1970) as the queries of a lake give it; None where it is unknown,
    and where no calendar has it."""
    if ms is None:
        return None
    try:
        at = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return f"{at.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
