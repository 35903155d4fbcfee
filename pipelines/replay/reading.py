"""The replay of a cluster's agreed branch: its records a piece at a time, and the rows of one part
of a replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from pipelines.cluster.branch import (
    BranchBatches,
    BranchPiece,
    BranchRecords,
    LostTail,
    batches_of,
    branch_records,
    content_records,
    read_records,
    tail_records,
)
from pipelines.cluster.branch_facts import BranchFacts, BranchQuestions, facts_of
from pipelines.cluster.cluster_tables import ClusterTables
from pipelines.cluster.rows import Row
from pipelines.replay.columns import RecordPlace, counts_passed_over, is_unknown, spread
from pipelines.replay.compared import REPLAYED, Comparing
from pipelines.replay.compared_before import ComparedBefore, without_equal
from pipelines.replay.entries import Entries
from pipelines.replay.history import History
from pipelines.replay.parts import OF_LOG, OF_TAIL, SOURCE_OF_SNAPSHOT, Part
from pipelines.replay.parts import batches_of as rows_in
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan, Surveyed, planned, surveyed
from pipelines.replay.written import WRITTEN
from pipelines.silver.committed_log import AgreedBranch


@dataclass(frozen=True)
class BranchLog:
    """The agreed branch as it is replayed: pieces, in ascending order, which together are the whole
    branch; the superseded branches; and the whole snapshots."""

    pieces: tuple[BranchPiece, ...]
    tails: tuple[LostTail, ...]
    snapshots: tuple[PlannedSnapshot, ...]
    is_whole: bool = True
    """Whether each replica has all records of its batches, so that no other replica is asked for
    them (pipelines.cluster.branch.read_records)."""


@dataclass(frozen=True)
class BranchReader:
    """Reads a branch from a cluster's tables. It keeps the piece that it read last."""

    tables: ClusterTables
    is_whole: bool = True
    _last: dict[BranchPiece, tuple[BranchBatches, pa.Table]] = field(default_factory=dict)

    def read(self, piece: BranchPiece) -> tuple[BranchBatches, pa.Table]:
        """The batches of a piece, and the records that were read for it."""
        if piece not in self._last:
            self._last.clear()
            records = read_records(self.tables, piece, is_whole=self.is_whole)
            self._last[piece] = batches_of(self.tables, piece), records
        return self._last[piece]

    def records(self, piece: BranchPiece) -> BranchRecords:
        """The records of a piece."""
        found, rows = self.read(piece)
        return branch_records(found.branch, rows)

    def content(self, content_sha256: str, epoch: int) -> pa.Table:
        """The records of a snapshot with the columns of RECORDS, each once."""
        return content_records(self.tables.snapshot_records(content_sha256), epoch)


@dataclass(frozen=True)
class SurveyedPiece:
    """The results of one pass over a piece of the branch."""

    committed: pa.Table
    """The piece's rows of silver.committed_log."""
    surveyed: Surveyed
    """The facts that a plan of the replay needs."""
    facts: BranchFacts
    """The facts that other tables are made from."""


def survey(reader: BranchReader, piece: BranchPiece, asked: BranchQuestions) -> SurveyedPiece:
    """The result of one pass over a piece, which answers `asked`. Raises what delta-rs raises."""
    found, rows = reader.read(piece)
    records = branch_records(found.branch, rows)
    passed_over = reader.tables.passed_over
    facts = facts_of(found, rows, asked)._replace(
        passed_over=counts_passed_over(records.rows, passed_over)
    )
    return SurveyedPiece(found.branch.table(), surveyed(records.rows, passed_over), facts)


def has_unknown(reader: BranchReader, snapshot: PlannedSnapshot) -> bool:
    """Whether a snapshot has a record that this release doesn't know."""
    content = reader.content(snapshot.content_sha256, snapshot.epoch)
    return bool(is_unknown(content, reader.tables.passed_over).any())


@dataclass(frozen=True)
class Replayed:
    """The results of a replay of the agreed branch."""

    written: pa.Table
    """Rows of WRITTEN: the changes by each record of the agreed branch and of superseded
    branches."""
    compared: list[Row]
    """Rows of REPLAYED: the comparisons of snapshots with the log, and the records of the log that
    can't be applied."""


def replayed(reader: BranchReader, log: BranchLog, plan: ReplayPlan) -> Replayed:
    """Replays a cluster in one part."""
    rows = rows_of(reader, log, plan, 0, 1)
    batches = [*walk(Part(reader.tables.cluster_id, 0, 1, plan, rows))]
    written, compared = (
        pa.Table.from_batches([one for one in batches if one.schema.equals(kind)], kind)
        for kind in (WRITTEN, REPLAYED)
    )
    return Replayed(written, compared.to_pylist())


def replayed_whole(
    reader: BranchReader,
    log: BranchLog,
    agreed: AgreedBranch,
    asked: BranchQuestions,
    before: ComparedBefore,
) -> tuple[list[SurveyedPiece], Replayed]:
    """Surveys and replays a cluster whose records one process holds. agreed: the branch as ranges
    of runs. before: the snapshots that an earlier build has compared. Raises what delta-rs raises.
    """
    pieces = [survey(reader, piece, asked) for piece in log.pieces]
    equal = before.still_equal([one.committed for one in pieces], log.snapshots)
    contents = {one.content_sha256: one for one in log.snapshots if one[:3] not in equal}.values()
    partial_contents = [one.content_sha256 for one in contents if has_unknown(reader, one)]
    plan = planned(agreed, [one.surveyed for one in pieces], log.snapshots, partial_contents)
    plan, known = without_equal(plan, equal, agreed.cluster_id)
    found = replayed(reader, log, plan)
    return pieces, Replayed(found.written, [*known, *found.compared])


_Due: TypeAlias = tuple[int, str, PlannedSnapshot | LostTail]


def rows_of(
    reader: BranchReader, log: BranchLog, plan: ReplayPlan, bucket: int, buckets: int
) -> Iterator[pa.RecordBatch]:
    """The rows of one part of a cluster's replay, as Part takes them: the part of bucket number
    `bucket` (from 0) of `buckets`. Raises what delta-rs raises."""
    due = _due(plan.snapshots, log.tails)
    beside = partial(_beside, reader, bucket=bucket, buckets=buckets)
    for piece in log.pieces:
        of_log = spread_piece(reader, piece, plan, bucket, buckets)
        low, positions = 0, of_log["position"].to_numpy()
        # a batch may reach into the offsets of the next piece
        high = max([piece[-1].end, *(positions[-1:] + 1).tolist()])
        while due and due[-1][0] < high:
            end = int(np.searchsorted(positions, due[-1][0]))
            yield from of_log.slice(low, end - low).to_batches()
            yield from beside(due.pop())
            low = end
        yield from of_log.slice(low).to_batches()
    while due:
        yield from beside(due.pop())


def spread_piece(
    reader: BranchReader, piece: BranchPiece, plan: ReplayPlan, bucket: int, buckets: int
) -> pa.Table:
    """The rows of SPREAD of a piece that one part needs."""
    rows, commitments = reader.records(piece)
    offsets = rows["offset"].combine_chunks()
    is_hidden = np.isin(offsets.to_numpy(), np.array(sorted(plan.unknown), np.int64))
    place = RecordPlace(offsets, OF_LOG, commitments)
    if is_hidden.any():
        known = pa.array(~is_hidden)
        rows = rows.filter(known)
        place = RecordPlace(offsets.filter(known), OF_LOG, commitments.filter(known))
    nothing = np.zeros(rows.num_rows, np.bool_)
    return spread(rows, nothing, reader.tables.cluster_id, place, bucket, buckets)


def rows_of_one(
    reader: BranchReader,
    of: BranchPiece | PlannedSnapshot | LostTail,
    plan: ReplayPlan,
    bucket: int,
    buckets: int,
) -> Iterator[pa.RecordBatch]:
    """The rows that one part needs of a piece of the branch, of a snapshot, or of a superseded
    branch."""
    if isinstance(of, LostTail):
        due: _Due = (of.position, OF_TAIL + of.tail_id, of)
    elif isinstance(of, PlannedSnapshot):
        due = (of.end_offset, SOURCE_OF_SNAPSHOT % (of.epoch, of.content_sha256), of)
    else:
        yield from spread_piece(reader, of, plan, bucket, buckets).to_batches()
        return
    yield from _beside(reader, due, bucket=bucket, buckets=buckets)


def _due(snapshots: Sequence[PlannedSnapshot], tails: Sequence[LostTail]) -> list[_Due]:
    """Snapshots and tails with their positions and sources, in descending order."""
    due: list[_Due] = [
        (one.end_offset, SOURCE_OF_SNAPSHOT % (one.epoch, one.content_sha256), one)
        for one in snapshots
    ]
    due += [(one.position, OF_TAIL + one.tail_id, one) for one in tails]
    return sorted(due, key=lambda one: one[:2], reverse=True)


def _beside(
    reader: BranchReader, due: _Due, *, bucket: int, buckets: int
) -> Iterator[pa.RecordBatch]:
    """The rows of a snapshot, or of a superseded branch."""
    position, source, one = due
    if isinstance(one, LostTail):
        rows, commitment = tail_records(reader.tables, one), one.commitment
    else:
        rows, commitment = reader.content(one.content_sha256, one.epoch), None
    place = RecordPlace(position, source, commitment)
    cluster_id = reader.tables.cluster_id
    unknown = is_unknown(rows, reader.tables.passed_over)
    yield from spread(rows, unknown, cluster_id, place, bucket, buckets).to_batches()


def walk(part: Part) -> Iterator[pa.RecordBatch]:
    """The batches of WRITTEN and of REPLAYED of one part."""
    history, comparing = History(part), Comparing(part)
    for step in part.steps():
        if isinstance(step, Entries):
            for record, refusal in history.read(step):
                comparing.refuse(record, refusal)
            comparing.refuse_more(history.refused())
        else:
            history.take(step)
            yield from rows_in(comparing.take(step, history.image), REPLAYED)
        if history.is_full:
            yield from history.taken()
    yield from rows_in(comparing.rest(), REPLAYED)
    yield from history.taken()
