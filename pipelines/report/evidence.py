"""The rows that the page of one cluster is made from. `gathering` asks a lake for them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.report.divergences import Parting, Replica
from pipelines.report.losses import LostRecordCount
from pipelines.report.source import Figure, Row
from pipelines.report.words import round_seconds
from replica.doctor.health.refusals import Refusal
from replica.doctor.verdict.verdict import Fact, Verdict

MAX_BUCKETS = 60
MAX_PARTINGS_DECODED = 6
"""The most divergences whose branches are decoded. Other divergences are only in the table."""
MAX_TRUNCATIONS_DECODED = 3
MAX_EXPOSURES = 20


@dataclass(frozen=True)
class Activity:
    """The number of changes in each bucket of time."""

    figure: Figure
    start: int
    """The time at which bucket 0 begins, in seconds since 1970."""
    width: int
    """The width of a bucket in seconds."""
    typed: bool
    """Whether the changes are rows of gold.metadata_changes; otherwise they are records, counted by
    their types."""


@dataclass(frozen=True)
class DecodedBranches:
    """The branches of one divergence."""

    parting: Parting
    heads: Figure
    """The batches at the divergence, with the replicas that held them."""
    records: Figure
    """The records of `speakers` from the divergence on."""
    speakers: tuple[Replica, ...]
    """The replica of each branch whose records are shown."""


@dataclass(frozen=True)
class Lost:
    """A loss of records, and the rows that show its effect."""

    loss: LostRecordCount
    written: Figure
    """The times of the lost records."""
    types: Figure
    """The types of the lost records."""
    changes: Figure | None
    """The changes that the lost records would have made, by type; None where the lake has no typed
    changes."""


class Outage(NamedTuple):
    """A time during which partitions had no leader."""

    most: int
    """The largest number of partitions without leader at one moment."""
    of: int
    """The number of all partitions at that moment."""
    since_ms: int | None
    """When the outage began, in ms since 1970; None where that time is unknown."""
    most_ms: int | None
    """The moment of `most`, in ms since 1970; None where that time is unknown."""
    until_ms: int | None
    """When the outage ended, in ms since 1970; None where some partitions have no leader in the
    newest state, or where no time is known."""
    is_over: bool
    began_before: bool = False
    """Whether the outage began when a broker was fenced that had not asked for its shutdown: the
    broker had stopped some time before."""

    @property
    def seconds(self) -> float | None:
        """The length of the outage in seconds; None where a time is unknown."""
        if self.since_ms is None or self.until_ms is None:
            return None
        return (self.until_ms - self.since_ms) / 1000


class KnownOutages(NamedTuple):
    """The outages of a cluster, as far as its history shows them."""

    outages: tuple[Outage, ...]
    """The outages, the oldest first."""
    is_sampled: bool
    """Whether only some of the changes were read."""
    has_partitions: bool
    """Whether there was any partition."""
    refusals: tuple[Refusal, ...] = ()
    """The times during which partitions with a leader refused writes, the oldest first; none where
    only some of the changes were read."""


@dataclass(frozen=True)
class Evidence:
    """What is known of one cluster, from a lake's tables or from its directories. newest_changes,
    state_ranges, exposure, voter_sets: None where the lake lacks the table."""

    cluster_id: str
    summary: Row
    rounds: Figure
    replicas: Figure
    never_started: Figure
    captures: Figure
    unbuilt: Figure
    epochs: Figure
    leaders: Figure
    relations: Figure
    partings: Figure
    truncations: Figure
    truncated_types: Figure
    snapshot_counts: Figure
    snapshots: Figure
    findings: Figure
    health: Figure
    damage: Figure
    activity: Activity
    decoded: tuple[DecodedBranches, ...] = ()
    truncated: dict[int, Figure] = field(default_factory=dict)
    """The decoded records of some truncations, by the index of the truncation's row in
    `truncations`."""
    losses: tuple[LostRecordCount, ...] = ()
    """All losses; `lost` has the losses whose effect is known."""
    lost: tuple[Lost, ...] = ()
    newest_changes: Figure | None = None
    state_ranges: Figure | None = None
    exposure: Figure | None = None
    voter_sets: Figure | None = None
    judged: Verdict | None = None
    """The verdict of check on the newest captures; None where the lake has none."""
    outages: KnownOutages | None = None
    """The outages that directories show; None for a lake, whose outages come from its history."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of check's verdict, the worst first."""
        return () if self.judged is None else self.judged.facts

    @property
    def known_ranges(self) -> tuple[Row, ...]:
        """The rows of state_ranges; none where the lake lacks the table."""
        return () if self.state_ranges is None else self.state_ranges.rows

    def voters(self, before: int | None = None) -> frozenset[int]:
        """The node ids of the voters in the newest voters record. In a static quorum, which has no
        such record: the voters of the newest epoch whose voters are known. before: an offset; only
        records and epochs that begin below it count, or all where it is None."""
        named = () if self.voter_sets is None else self.voter_sets.rows
        for row in reversed(named):
            if before is None or row["valid_from_offset"] < before:
                return frozenset(one["voterId"] for one in json.loads(row["value"])["voters"])
        for row in reversed(self.leaders.rows):
            start = row["start_offset"]
            is_before = before is None or (start is not None and start < before)
            if row["voters"] and is_before:
                return frozenset(voter["voter_id"] for voter in row["voters"])
        return frozenset()


def bucketing(first: float | None, last: float | None) -> tuple[int, int]:
    """(start of bucket 0, width of a bucket), both in seconds, of at most MAX_BUCKETS + 1 buckets
    from first to last. (0, 1) where first or last is None."""
    if first is None or last is None:
        return 0, 1
    width = round_seconds((last - first) / MAX_BUCKETS)
    return math.floor(first / width) * width, width
