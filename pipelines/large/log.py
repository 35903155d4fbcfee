"""The records of a large cluster, which any process reads from the lake, a piece of the agreed
branch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.delta.small import of_replica, text
from pipelines.in_memory.batches import Batches, Longs
from pipelines.in_memory.branch import (
    BranchRecords,
    LostTail,
    branch_records,
    content_records,
    tail_records,
    tails_of,
)
from pipelines.in_memory.committed import AgreedBranch
from pipelines.in_memory.derived import Silver
from pipelines.in_memory.plan import whole_snapshots
from pipelines.in_memory.replay import BranchRange, ReplayLog
from pipelines.quality.admitted import Admitted
from pipelines.replay.columns import with_json
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from replica.model.keys import ReplicaId

_OFFSETS_AT_ONCE = 500_000
"""The most offsets of a piece, so that a task holds some 100 MB of records."""


@dataclass(frozen=True)
class ClusterLog(ReplayLog):
    """A log whose records a task reads from the lake. Its methods raise what delta-rs raises: a
    plain Exception where a data file is gone."""

    admitted: Admitted

    @staticmethod
    def of(admitted: Admitted, silver: Silver, committed: AgreedBranch) -> ClusterLog:
        """The log of a cluster. committed: the agreed branch as the gate admits it."""
        is_whole = bronze.LOG_RECORDS.name not in admitted.queries
        pieces = pieces_of(committed, silver.bronze.batches if is_whole else None)
        tails = tails_of(silver.held, committed)
        snapshots = whole_snapshots(silver.bronze.snapshots)
        return ClusterLog(committed, (*pieces,), (*tails,), (*snapshots,), admitted)

    def branch(self, piece: BranchRange) -> BranchRecords:
        where = f'"offset" >= {piece.low} AND "offset" < {piece.high}'
        if piece.replicas is not None:
            replicas = " OR ".join(f"({of_replica(one)})" for one in piece.replicas)
            where = f"{where} AND ({replicas})"
        rows = self._records(bronze.LOG_RECORDS, "offset", where, ("leader_epoch", "crc"))
        return branch_records(self.committed, rows)

    def tail(self, tail: LostTail) -> pa.Table:
        bases = [base_offset for base_offset, _, _ in tail.batches]
        where = f"base_offset BETWEEN {min(bases)} AND {max(bases)}"
        where = f"{where} AND {of_replica(tail.replica)}"
        names = ("base_offset", "leader_epoch", "crc")
        return tail_records(tail, self._records(bronze.LOG_RECORDS, "offset", where, names))

    def content(self, content_sha256: str, epoch: int) -> pa.Table:
        where = f"content_sha256 = {text(content_sha256)}"
        return content_records(self._records(bronze.SNAPSHOT_RECORDS, "index", where), epoch)

    def _records(
        self, contract: Contract, place: str, where: str, others: Sequence[str] = ()
    ) -> pa.Table:
        """The records, with the columns of RECORDS except leader_epoch, and other columns. place:
        the column that becomes `offset`.

        A payload is read only where it is all that is left of a record: for most records it is
        larger than all other columns together.
        """
        where = f"cluster_id = {text(self.committed.cluster_id)} AND {where}"
        names = (place, *others, *_CONTENT)
        rows = self.admitted.columns_where(contract, names, where)
        payload = pa.nulls(rows.num_rows, pa.string())
        rows = rows.append_column("payload", payload)
        if rows["value"].null_count:
            bare = self.admitted.columns_where(
                contract, (*names, "payload"), f"{where} AND value IS NULL"
            )
            rows = pa.concat_tables([rows.filter(pc.is_valid(rows["value"])), with_json(bare)])
        named = ["offset" if name == place else name for name in rows.column_names]
        return rows.rename_columns(named)


_CONTENT = ("timestamp", "is_control", "record_type", "record_version", "value")


def pieces_of(committed: AgreedBranch, batches: Batches | None) -> Iterator[BranchRange]:
    """The agreed branch in pieces. batches: all batches of the cluster; None where a replica may
    lack records of its batches."""
    parts = (np.cumsum(committed.high - committed.low) - 1) // _OFFSETS_AT_ONCE
    cuts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(committed)]
    held = {} if batches is None else _held(committed, batches)
    for first, end in pairwise(cuts):
        if first < end:
            low, high = int(committed.low[first]), int(committed.high[end - 1])
            of_piece = {one: is_held[first:end] for one, is_held in held.items()}
            yield BranchRange(low, high, _enough(of_piece, end - first))


def _held(committed: AgreedBranch, batches: Batches) -> dict[ReplicaId, npt.NDArray[np.bool_]]:
    """For each replica which ranges of the branch it holds in an undamaged batch. A range that is
    not marked may be held, too."""
    wanted = _identity(committed.leader_epoch, committed.crc)
    found = {}
    for code, replica in enumerate(batches.replicas):
        mine = np.flatnonzero((batches.replica == code) & batches.is_sound)
        if not len(mine):
            continue
        keys = _identity(batches.leader_epoch[mine], batches.crc[mine])
        order = np.argsort(keys)
        places = order[np.minimum(np.searchsorted(keys[order], wanted), len(mine) - 1)]
        batch = mine[places]
        found[replica] = (
            (keys[places] == wanted)
            & (batches.base_offset[batch] <= committed.low)
            & (batches.entries_end[batch] >= committed.high)
        )
    return found


def _identity(leader_epochs: Longs, crcs: Longs) -> Longs:
    return np.asarray((leader_epochs << 32) | crcs, np.int64)


def _enough(
    held: dict[ReplicaId, npt.NDArray[np.bool_]], count: int
) -> tuple[ReplicaId, ...] | None:
    """Replicas that together hold `count` ranges; None where even all replicas together don't."""
    missing = np.ones(count, np.bool_)
    chosen: list[ReplicaId] = []
    while missing.any():
        best = max(held, key=lambda one: int((held[one] & missing).sum()), default=None)
        if best is None or not (held[best] & missing).any():
            return None
        chosen.append(best)
        missing &= ~held[best]
    return tuple(chosen)
