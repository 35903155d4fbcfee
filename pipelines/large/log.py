"""The records of a large cluster, as any process reads them: a piece of the agreed branch at a
time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.delta.small import text
from pipelines.in_memory.batches import Batches, Longs
from pipelines.in_memory.branch import tails_of
from pipelines.in_memory.committed import AgreedBranch
from pipelines.in_memory.derived import Silver
from pipelines.in_memory.rows import Row, microseconds
from pipelines.quality.admitted import Admitted
from pipelines.replay.columns import RECORDS
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from replica.metadata.variant_reader import variant_json
from replica.model.keys import ReplicaId

_OFFSETS_AT_ONCE = 500_000
"""Of the branch, so that a task holds some 100 MB of records."""
_Key = tuple[int, int, int]


class BranchRange(NamedTuple):
    """Offsets of the agreed branch from low (inclusive) to high (exclusive). replicas: some that
    hold all entries of these; None where each replica may be needed."""

    low: int
    high: int
    replicas: tuple[ReplicaId, ...] | None


class LostTail(NamedTuple):
    """A branch that lost; the first three as of LostBatches. replica: whose log it is. batches:
    (base_offset, leader_epoch, crc) of each of its batches. last_offset: inclusive."""

    position: int
    tail_id: str
    commitment: str
    replica: ReplicaId
    batches: frozenset[_Key]
    last_offset: int


class WholeSnapshot(NamedTuple):
    """The content of a whole snapshot under one id. timestamp_us: the time of the last record that
    it contains, None where nobody knows."""

    end_offset: int
    epoch: int
    content_sha256: str
    timestamp_us: int | None


class BranchRecords(NamedTuple):
    """Records of the agreed branch, ascending by offset, each once. rows: RECORDS. commitments: of
    each, as in silver.committed_log."""

    rows: pa.Table
    commitments: pa.Array


@dataclass(frozen=True)
class ClusterLog:
    """What a task needs to know of a cluster to read its records. committed: the agreed branch;
    pieces: of it, ascending, which together are all of it."""

    admitted: Admitted
    committed: AgreedBranch
    pieces: tuple[BranchRange, ...]
    tails: tuple[LostTail, ...]
    snapshots: tuple[WholeSnapshot, ...]

    @staticmethod
    def of(admitted: Admitted, silver: Silver, committed: AgreedBranch) -> ClusterLog:
        """committed: the agreed branch as the gate admits it."""
        is_whole = bronze.LOG_RECORDS.name not in admitted.queries
        pieces = pieces_of(committed, silver.bronze.batches if is_whole else None)
        return ClusterLog(
            admitted,
            committed,
            tuple(pieces),
            tuple(_lost_tails(silver, committed)),
            tuple(_whole(silver.bronze.snapshots)),
        )

    @property
    def cluster_id(self) -> str:
        return self.committed.cluster_id

    def branch(self, piece: BranchRange) -> BranchRecords:
        """The records of a piece. Raises what delta-rs raises: just Exception where a data file is
        gone."""
        where = f'"offset" >= {piece.low} AND "offset" < {piece.high}'
        if piece.replicas is not None:
            where = f"{where} AND ({_of_replicas(piece.replicas)})"
        rows = self._records(bronze.LOG_RECORDS, "offset", where, ("leader_epoch", "crc"))
        offsets, epochs, crcs = (_longs(rows[name]) for name in ("offset", "leader_epoch", "crc"))
        kept = _in_order(offsets, self.committed.has(offsets, epochs, crcs))
        commitments = self.committed.commitments(self.committed.places(offsets[kept]))
        return BranchRecords(_taken(rows.select(RECORDS.names), kept), commitments)

    def tail(self, tail: LostTail) -> pa.Table:
        """RECORDS of a branch that lost, ascending by offset. Raises as `branch`."""
        bases = [base_offset for base_offset, _, _ in tail.batches]
        where = f"base_offset BETWEEN {min(bases)} AND {max(bases)}"
        where = f"{where} AND {_of_replicas([tail.replica])}"
        names = ("base_offset", "leader_epoch", "crc")
        rows = self._records(bronze.LOG_RECORDS, "offset", where, names)
        keys = zip(*(rows[name].to_pylist() for name in names), strict=True)
        is_held = np.array([key in tail.batches for key in keys], np.bool_)
        kept = _in_order(_longs(rows["offset"]), is_held)
        return _taken(rows.select(RECORDS.names), kept)

    def content(self, snapshot: WholeSnapshot) -> pa.Table:
        """RECORDS of a snapshot, each once, whichever replicas have it; `offset` is the record's
        index. Raises as `branch`."""
        where = f"content_sha256 = {text(snapshot.content_sha256)}"
        rows = self._records(bronze.SNAPSHOT_RECORDS, "index", where)
        epoch = pa.repeat(pa.scalar(snapshot.epoch, pa.int32()), rows.num_rows)
        rows = rows.append_column("leader_epoch", epoch)
        indexes = _longs(rows["offset"])
        kept = _in_order(indexes, np.ones(len(indexes), np.bool_))
        return _taken(rows.select(RECORDS.names), kept)

    def _records(
        self, contract: Contract, place: str, where: str, others: Sequence[str] = ()
    ) -> pa.Table:
        """RECORDS without leader_epoch, and other columns. place: the column that is `offset`.

        A payload is read only where it is all that is left of a record: for most records it is
        more than all other columns.
        """
        where = f"cluster_id = {text(self.cluster_id)} AND {where}"
        names = (place, *others, *_CONTENT)
        rows = self.admitted.columns_where(contract, names, where)
        payload = pa.nulls(rows.num_rows, pa.string())
        if rows["value"].null_count:
            rows = rows.filter(pc.is_valid(rows["value"]))
            payload = pa.nulls(rows.num_rows, pa.string())
            bare = self.admitted.columns_where(
                contract, (*names, "payload"), f"{where} AND value IS NULL"
            )
            texts = [_json(one) for one in bare["payload"].to_pylist()]
            rows = pa.concat_tables([rows, bare.select([*names])])
            payload = pa.concat_arrays([payload, pa.array(texts, pa.string())])
        named = ["offset" if name == place else name for name in names]
        return rows.rename_columns(named).append_column("payload", payload)


_CONTENT = ("timestamp", "is_control", "record_type", "record_version", "value")


def _json(payload: dict[str, bytes] | None) -> str | None:
    return None if payload is None else variant_json(payload["value"], payload["metadata"])


def _of_replicas(replicas: Collection[ReplicaId]) -> str:
    return " OR ".join(
        f"(node_id = {one.node_id} AND directory_id = {text(one.directory_id)})" for one in replicas
    )


def _in_order(offsets: Longs, is_wanted: npt.NDArray[np.bool_]) -> Longs:
    """The places of the wanted ones, ascending by offset, of each offset one."""
    wanted = np.flatnonzero(is_wanted)
    ascending = wanted[np.argsort(offsets[wanted], kind="stable")]
    found = offsets[ascending]
    is_first = np.append(True, found[1:] != found[:-1])[: len(found)]
    return np.asarray(ascending[is_first], np.int64)


def _taken(rows: pa.Table, places: Longs) -> pa.Table:
    if len(places) == rows.num_rows and bool((np.diff(places) > 0).all()):
        return rows
    return rows.take(pa.array(places))


def _longs(column: pa.ChunkedArray) -> Longs:
    return np.asarray(column.to_numpy(), np.int64)


def pieces_of(committed: AgreedBranch, batches: Batches | None) -> Iterator[BranchRange]:
    """The agreed branch in pieces. batches: all of the cluster; None where a replica may lack
    records of batches that it has."""
    parts = (np.cumsum(committed.high - committed.low) - 1) // _OFFSETS_AT_ONCE
    cuts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(committed)]
    held = {} if batches is None else _held(committed, batches)
    for first, end in pairwise(cuts):
        if first < end:
            low, high = int(committed.low[first]), int(committed.high[end - 1])
            of_piece = {one: is_held[first:end] for one, is_held in held.items()}
            yield BranchRange(low, high, _enough(of_piece, end - first))


def _held(committed: AgreedBranch, batches: Batches) -> dict[ReplicaId, npt.NDArray[np.bool_]]:
    """Which ranges of the branch each replica holds in an undamaged batch. It may hold others."""
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
    """Replicas that together hold all of so many ranges; None where not even all of them do."""
    missing = np.ones(count, np.bool_)
    chosen: list[ReplicaId] = []
    while missing.any():
        best = max(held, key=lambda one: int((held[one] & missing).sum()), default=None)
        if best is None or not (held[best] & missing).any():
            return None
        chosen.append(best)
        missing &= ~held[best]
    return tuple(chosen)


def _lost_tails(silver: Silver, committed: AgreedBranch) -> Iterator[LostTail]:
    batches = silver.bronze.batches
    for tail in tails_of(silver.held, committed):
        replica = batches.replicas[int(batches.replica[tail.places[0]])]
        keys = frozenset(map(batches.identity, tail.places.tolist()))
        last_offset = int(batches.last_offset[tail.places].max())
        yield LostTail(*tail[:3], replica, keys, last_offset)


def _whole(snapshots: Sequence[Row]) -> Iterator[WholeSnapshot]:
    """Each id and content once, with the latest time."""
    latest: dict[tuple[int, int, str], int | None] = {}
    for row in snapshots:
        if row["is_whole"]:
            ids = row["end_offset"], row["epoch"], row["content_sha256"]
            at = microseconds(row["last_contained_log_timestamp"])
            seen = (one for one in (latest.get(ids), at) if one is not None)
            latest[ids] = max(seen, default=None)
    for ids, timestamp_us in latest.items():
        yield WholeSnapshot(*ids, timestamp_us)
