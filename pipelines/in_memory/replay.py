"""The replay of a cluster's agreed branch, and the rows of one part of a replay.

The replay of a small cluster has one part, and this process holds its records. pipelines.large
replays the other clusters in tasks, which read the records a piece at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.in_memory.branch import (
    BranchRecords,
    LostTail,
    branch_records,
    content_records,
    tail_records,
)
from pipelines.in_memory.committed import AgreedBranch
from pipelines.in_memory.plan import planned, surveyed, whole_snapshots
from pipelines.in_memory.rows import Row
from pipelines.replay.columns import RecordPlace, is_unknown, spread, with_json
from pipelines.replay.compared import REPLAYED, Comparing
from pipelines.replay.entries import Entries
from pipelines.replay.history import History
from pipelines.replay.parts import OF_LOG, OF_TAIL, SOURCE_OF_SNAPSHOT, Part, batches_of
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan
from pipelines.replay.written import WRITTEN
from replica.model.keys import ReplicaId


class BranchRange(NamedTuple):
    """Offsets of the agreed branch from low (inclusive) to high (exclusive). replicas: some
    replicas that together hold all entries at these offsets; None where the records of every
    replica may be needed."""

    low: int
    high: int
    replicas: tuple[ReplicaId, ...] | None = None


@dataclass(frozen=True)
class ReplayLog(ABC):
    """The records of a cluster. committed: the agreed branch. pieces: ranges of the branch,
    ascending, which together are the whole branch. tails: the branches that lost. snapshots: from
    whole_snapshots."""

    committed: AgreedBranch
    pieces: Sequence[BranchRange]
    tails: Sequence[LostTail]
    snapshots: Sequence[PlannedSnapshot]

    @abstractmethod
    def branch(self, piece: BranchRange) -> BranchRecords:
        """The records of a piece."""

    @abstractmethod
    def tail(self, tail: LostTail) -> pa.Table:
        """The records of a branch that lost, with the columns of RECORDS, ascending by offset."""

    @abstractmethod
    def content(self, content_sha256: str, epoch: int) -> pa.Table:
        """The records of a snapshot with the columns of RECORDS, each once, whichever replicas have
        them. Their `offset` is the record's index in the snapshot."""


@dataclass(frozen=True)
class HeldLog(ReplayLog):
    """A log of one piece, whose records this process holds. records, snapshot_records: the
    cluster's rows of bronze's tables."""

    records: pa.Table
    snapshot_records: pa.Table

    @staticmethod
    def of(
        committed: AgreedBranch,
        records: tuple[pa.Table, pa.Table],
        snapshots: Iterable[Row],
        tails: Iterable[LostTail],
    ) -> HeldLog:
        """The log. records: the cluster's rows of bronze.log_records and of
        bronze.snapshot_records. snapshots: its rows of bronze.snapshots."""
        high = committed.high
        pieces = (BranchRange(0, int(high[-1])),) if len(high) else ()
        return HeldLog(committed, pieces, (*tails,), (*whole_snapshots(snapshots),), *records)

    def branch(self, piece: BranchRange) -> BranchRecords:
        return self._branch

    def tail(self, tail: LostTail) -> pa.Table:
        rows = self.records
        is_it = pc.and_(
            pc.equal(rows["node_id"], tail.replica.node_id),
            pc.equal(rows["directory_id"], tail.replica.directory_id),
        )
        return tail_records(tail, with_json(rows.filter(is_it)))

    def content(self, content_sha256: str, epoch: int) -> pa.Table:
        rows = self.snapshot_records
        rows = rows.filter(pc.equal(rows["content_sha256"], content_sha256))
        names = ["offset" if name == "index" else name for name in rows.column_names]
        return content_records(with_json(rows.rename_columns(names)), epoch)

    @cached_property
    def _branch(self) -> BranchRecords:
        return branch_records(self.committed, with_json(self.records))


@dataclass(frozen=True)
class Replayed:
    """The results of a replay of the agreed branch. written: rows of WRITTEN: what each record
    changes, of the agreed branch and of the branches that lost. compared: rows of REPLAYED: the
    comparisons of snapshots with the log, and the records of the log that can't be applied."""

    written: pa.Table
    compared: list[Row]


def replayed(log: ReplayLog) -> Replayed:
    """Replays a cluster in one part."""
    pieces = [surveyed(log.branch(piece).rows) for piece in log.pieces]
    contents = {one.content_sha256: one.epoch for one in log.snapshots}
    partial_contents = [
        one for one in contents if is_unknown(log.content(one, contents[one])).any()
    ]
    plan = planned(log.committed, pieces, log.snapshots, partial_contents)
    part = Part(log.committed.cluster_id, 0, 1, plan, rows_of(log, plan, 0, 1))
    batches = [*walk(part)]
    written, compared = (
        pa.Table.from_batches([one for one in batches if one.schema.equals(kind)], kind)
        for kind in (WRITTEN, REPLAYED)
    )
    return Replayed(written, compared.to_pylist())


_Due: TypeAlias = tuple[int, str, PlannedSnapshot | LostTail]


def rows_of(
    log: ReplayLog, plan: ReplayPlan, bucket: int, buckets: int
) -> Iterator[pa.RecordBatch]:
    """The rows of one part of a cluster's replay, as Part takes them. Raises the errors of the
    log."""
    due: list[_Due] = [
        (one.end_offset, SOURCE_OF_SNAPSHOT % (one.epoch, one.content_sha256), one)
        for one in plan.snapshots
    ]
    due += [(one.position, OF_TAIL + one.tail_id, one) for one in log.tails]
    due.sort(key=lambda one: one[:2], reverse=True)
    cluster_id = log.committed.cluster_id
    beside = partial(_beside, log, bucket=bucket, buckets=buckets)
    unknown = np.array(sorted(plan.unknown), np.int64)
    for piece in log.pieces:
        rows, commitments = log.branch(piece)
        offsets = rows["offset"].combine_chunks()
        is_hidden = np.isin(offsets.to_numpy(), unknown)
        place = RecordPlace(offsets, OF_LOG, commitments)
        if is_hidden.any():
            known = pa.array(~is_hidden)
            rows = rows.filter(known)
            place = RecordPlace(offsets.filter(known), OF_LOG, commitments.filter(known))
        nothing = np.zeros(rows.num_rows, np.bool_)
        of_log = spread(rows, nothing, cluster_id, place, bucket, buckets)
        low, positions = 0, of_log["position"].to_numpy()
        while due and due[-1][0] < piece.high:
            high = int(np.searchsorted(positions, due[-1][0]))
            yield from of_log.slice(low, high - low).to_batches()
            yield from beside(due.pop())
            low = high
        yield from of_log.slice(low).to_batches()
    while due:
        yield from beside(due.pop())


def _beside(log: ReplayLog, due: _Due, *, bucket: int, buckets: int) -> Iterator[pa.RecordBatch]:
    """The rows of a snapshot, or of a branch that lost."""
    position, source, one = due
    if isinstance(one, LostTail):
        rows, commitment = log.tail(one), one.commitment
    else:
        rows, commitment = log.content(one.content_sha256, one.epoch), None
    place = RecordPlace(position, source, commitment)
    cluster_id = log.committed.cluster_id
    yield from spread(rows, is_unknown(rows), cluster_id, place, bucket, buckets).to_batches()


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
            yield from batches_of(comparing.take(step, history.image), REPLAYED)
        if history.is_full:
            yield from history.taken()
    yield from batches_of(comparing.rest(), REPLAYED)
    yield from history.taken()
