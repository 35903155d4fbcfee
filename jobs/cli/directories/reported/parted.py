"""Where logs diverge, which records a log lost between two rounds, and the effect of these
losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from jobs.cli.directories.reported.given import Capture, GivenCluster, Round, figure
from jobs.cli.directories.reported.records import decoded, types_of
from jobs.cli.directories.reported.walked import LostRecords, Walked
from pipelines.report.divergences import Parting, Replica, partings_of, replica_of
from pipelines.report.evidence import (
    MAX_PARTINGS_DECODED,
    MAX_TRUNCATIONS_DECODED,
    DecodedBranches,
    Lost,
)
from pipelines.report.losses import MAX_LOSSES_TOLD, LostRecordCount, losses
from pipelines.report.meaning import effect
from pipelines.report.queries import AFTER, BEFORE, MAX_PARTINGS, MAX_TRUNCATIONS
from pipelines.report.source import Figure, Row
from replica.doctor.check.lineage import settled_pairs
from replica.doctor.timeline.branch import Branch
from replica.history.commitment import acknowledged, divergence_columns
from replica.history.divergence import Relation, compare
from replica.history.log import OffsetRange, ReplicaLog, contiguous_runs
from replica.history.ranges import END_OF_OFFSETS, Ranges, difference, intersection, size_of, union
from replica.metadata.log_record import LogRecordReader

_PARTED = (Relation.DIVERGED.value, Relation.CONFLICT.value)


class Parted:
    """The differences between the logs of a cluster: between the replicas of a round, and between
    two rounds."""

    def __init__(self, given: GivenCluster, reader: LogRecordReader) -> None:
        self._given = given
        self._reader = reader
        pairs = [(one, [*_pairs(one)]) for one in reversed(given.rounds)]
        newest = pairs[0][1]
        relations = [row["relation"] for row in newest]
        self._gone = sorted(_truncations(given), key=lambda one: _worst_first(one[0]))
        rows = [row for row, _, _ in self._gone]
        self._partings = figure([*_newest_partings(given, pairs)], MAX_PARTINGS)
        self.figures = {
            "relations": figure(
                [{"relation": one, "pairs": relations.count(one)} for one in sorted({*relations})]
            ),
            "partings": self._partings,
            "truncations": figure(rows, MAX_TRUNCATIONS),
            "truncated_types": figure([*self._types()]),
        }

    def _types(self) -> Iterator[Row]:
        for row, capture, run in self._gone[:MAX_TRUNCATIONS]:
            for one in types_of([*decoded(capture, run, self._reader)]):
                yield {**one, "node_id": row["node_id"], "directory_id": row["directory_id"]}

    def decoded(self) -> Iterator[DecodedBranches]:
        """The branches of the first MAX_PARTINGS_DECODED divergences, with their decoded
        records."""
        for parting in partings_of(self._partings.rows)[:MAX_PARTINGS_DECODED]:
            each = next(one for one in self._given.rounds if one.group == parting.capture_group)
            heads = figure([*_heads(each, parting.offset)])
            parting = parting.with_heads(heads.rows)
            speakers = tuple(branch.replicas[0] for branch in parting.branches)
            yield DecodedBranches(parting, heads, self._around(each, parting, speakers), speakers)

    def _around(self, each: Round, parting: Parting, speakers: Sequence[Replica]) -> Figure:
        offset = parting.offset
        around = (OffsetRange(max(offset - BEFORE, 0), offset + AFTER),)
        return figure(
            [
                row
                for capture in each.captures
                if capture.replica in speakers
                for row in decoded(capture, around, self._reader)
            ]
        )

    def truncated(self) -> dict[int, Figure]:
        """The first records of the first truncations, by the index of the truncation's row. If
        several replicas lost the same records, only the first of them has an entry."""
        found: dict[int, Figure] = {}
        seen: set[tuple[Any, ...]] = set()
        for place, (row, capture, run) in enumerate(self._gone[:MAX_TRUNCATIONS]):
            same = (row["from_offset"], row["to_offset"], tuple(row["epochs"]))
            if same in seen or len(found) == MAX_TRUNCATIONS_DECODED:
                continue
            seen.add(same)
            first = run[0].start
            shown = intersection(run, (OffsetRange(first, first + AFTER),))
            found[place] = figure([*decoded(capture, shown, self._reader)])
        return found

    @cached_property
    def losses(self) -> tuple[LostRecordCount, ...]:
        """All losses of records, without what the lost records would have changed."""
        newest = {one: each.group for one, (each, _) in self._given.replicas.items()}
        partings = partings_of(self._partings.rows)
        return losses(self.figures["truncations"].rows, partings, newest)

    @cached_property
    def lost_records(self) -> tuple[LostRecords, ...]:
        """The records of the first losses: the page shows the effect of these."""
        return tuple(map(self._records_of, self.losses[:MAX_LOSSES_TOLD]))

    def _records_of(self, loss: LostRecordCount) -> LostRecords:
        capture, held = self._holder(loss)
        batches = [one for one in capture.log.batches if _holds(held, one.base_offset)]
        return LostRecords(capture, held, frozenset(one.epoch for one in batches))

    def lost(self, walked: Walked) -> tuple[Lost, ...]:
        """The first losses with their effect. walked: has the changes of lost_records."""
        found = zip(self.losses, self.lost_records, strict=False)
        return tuple(self._lost(loss, records, walked) for loss, records in found)

    def _lost(self, loss: LostRecordCount, records: LostRecords, walked: Walked) -> Lost:
        capture = records.capture
        rows = [*decoded(capture, records.held, self._reader)]
        times = [row["at_ms"] for row in rows if row["at_ms"] >= 0]
        written = {"first_ms": min(times, default=None), "last_ms": max(times, default=None)}
        types, changes = figure(types_of(rows)), walked.of_loss(records)
        ranges = walked.state_ranges().rows
        known = effect(loss.first, loss.records, [written], types.rows, changes.rows, ranges)
        kept = bool(loss.committed and self._is_kept(loss, capture))
        told = replace(loss, effect=known, is_kept=kept)
        return Lost(told, figure([written]), types, changes)

    def _holder(self, loss: LostRecordCount) -> tuple[Capture, Ranges]:
        """The capture that shows the lost records, and where they are in its log."""
        for row, capture, run in self._gone:
            is_run = (row["from_offset"], row["to_offset"]) == (loss.first, loss.end)
            if is_run and replica_of(row) in loss.replicas:
                return capture, run
        each = next(one for one in self._given.rounds if one.group == loss.capture_group)
        capture = next(one for one in each.captures if one.replica in loss.replicas)
        rest = (OffsetRange(loss.first, END_OF_OFFSETS),)
        return capture, intersection(contiguous_runs(capture.log.batches), rest)

    def _is_kept(self, loss: LostRecordCount, holder: Capture) -> bool:
        """Whether a node that lost nothing still has the last committed record of this loss. A
        loss begins with its committed records, so the node then has all of them."""
        last = loss.first + loss.committed - 1
        batch = holder.log.batch_at(last)
        losers = {one.node_id for one in loss.replicas}
        return self._given.branch.log.batch_at(last) == batch and any(
            capture.replica.node_id not in losers and capture.log.batch_at(last) == batch
            for _, capture in self._given.replicas.values()
        )


def _holds(ranges: Ranges, offset: int) -> bool:
    return any(one.start <= offset < one.end for one in ranges)


def _pairs(each: Round) -> Iterator[dict[str, Any]]:
    """A row for each pair of logs of a round, as gold.divergence_points has them."""
    for a, b, divergence, lost, _ in settled_pairs(each.compared):
        yield {
            "node_a": a.node_id,
            "directory_a": a.directory_id,
            "node_b": b.node_id,
            "directory_b": b.directory_id,
            **divergence_columns(divergence, lost),
        }


def _newest_partings(
    given: GivenCluster, pairs: Iterable[tuple[Round, Iterable[Row]]]
) -> Iterator[Row]:
    """The pairs whose logs differ, each offset once, from the newest round that shows it. pairs:
    for each round, the rows of its pairs; the newest round first."""
    seen: set[tuple[Any, ...]] = set()
    for each, rows in pairs:
        for row in sorted(rows, key=lambda row: row["divergence_offset"] or 0):
            names = ("node_a", "directory_a", "node_b", "directory_b", "divergence_offset")
            key = tuple(row[name] for name in names)
            if row["relation"] in _PARTED and key not in seen:
                seen.add(key)
                yield {
                    "capture_group": each.group,
                    "captured_at": each.at,
                    "is_latest": each is given.newest,
                    **row,
                }


def _heads(each: Round, offset: int) -> Iterator[Row]:
    """A row for each replica of a round whose log has the offset: the batch that holds it."""
    for capture in each.captures:
        found = capture.examined.batch_at(offset)
        if found is not None:
            header = found[1].header
            yield {
                **capture.row,
                "leader_epoch": header.leader_epoch,
                "crc": header.crc,
                "log_end_offset": capture.log.end_offset,
                "since_ms": None if header.base_timestamp < 0 else header.base_timestamp,
            }


_Gone = tuple[dict[str, Any], Capture, Ranges]
"""A row of gold.truncations, the capture that still held the records, and the records' offsets."""


def _truncations(given: GivenCluster) -> Iterator[_Gone]:
    """The records that a replica's log had in one round, and not in the next round that has the
    replica. See _missing for the exceptions."""
    by_replica: dict[Replica, list[Capture]] = {}
    for each in given.rounds:
        for capture in each.captures:
            by_replica.setdefault(capture.replica, []).append(capture)
    for held in by_replica.values():
        for before, after in pairwise(held):
            for run in _missing(given.branch, before.log, after.log):
                yield _truncation(given.branch, before, after, (run,))


def _missing(branch: Branch, before: ReplicaLog, after: ReplicaLog) -> Ranges:
    """The offsets of entries that the later log lacks: without entries that retention deleted, and
    without entries that were never synced."""
    held = acknowledged(before, contiguous_runs(before.batches))
    gone = difference(held, compare(before, after).ranges(same=True))
    above = (OffsetRange(after.log_start, END_OF_OFFSETS),)
    beside = compare(branch.log, before).ranges(same=False)
    return union(intersection(gone, above), intersection(gone, beside))


def _truncation(branch: Branch, before: Capture, after: Capture, run: Ranges) -> _Gone:
    log = before.log
    compared = compare(branch.log, log)
    proven = (OffsetRange(0, branch.proven_end),)
    committed = intersection(run, intersection(compared.ranges(same=True), proven))
    beside = difference(run, committed)
    batches = [one for one in log.batches if _holds(run, one.base_offset)]
    tail = next(
        (
            found
            for one in batches
            if (found := branch.tail_with(one.base_offset, one.epoch, one.digest))
        ),
        None,
    )
    superseded: Ranges = ()
    if tail is not None:
        committed = union(committed, intersection(run, tail.proven))
        beside = difference(run, committed)
        if not tail.is_contested:
            superseded = intersection(beside, intersection(compared.ranges(same=False), proven))
    row = {
        **before.row,
        "from_offset": run[0].start,
        "to_offset": run[-1].end,
        "epochs": sorted({one.epoch for one in batches}),
        "records": size_of(run),
        "committed_lost": size_of(committed),
        "unproven_lost": size_of(beside) - size_of(superseded),
        "superseded_lost": size_of(superseded),
        "last_seen": before.at,
        "seen_at": after.at,
    }
    return row, before, run


def _worst_first(row: Row) -> tuple[int, float, int, int]:
    return -row["committed_lost"], -row["seen_at"].timestamp(), row["from_offset"], row["node_id"]
