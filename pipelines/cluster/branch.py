"""The batches and records of the agreed branch, piece by piece, and of the superseded branches.

The branch is given as ranges of runs (pipelines.silver.log_runs). Each range names a replica that
held the run, and the time of a capture that shows it. So any process can read the batches and
records of a piece without reading the other pieces.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.cluster.batches import Batches, Longs, first_of_each, longs
from pipelines.cluster.cluster_tables import ClusterTables
from pipelines.cluster.replica_logs import HeldBatches
from pipelines.replay.columns import RECORDS
from pipelines.silver.committed_log import AgreedBranch, Batch
from replica.model.keys import ReplicaId

_OFFSETS_AT_ONCE = 500_000
"""The most offsets of a piece, so that a task holds some 100 MB of records."""


class BranchRange(NamedTuple):
    """Batches of a run that the agreed branch has."""

    low: int
    """The first offset at which the branch has the run, inclusive."""
    high: int
    """The end of the offsets at which the branch has the run, exclusive."""
    first: int
    """The lowest base offset of the batches, inclusive."""
    end: int
    """The end of the base offsets of the batches, exclusive."""
    leader_epoch: int
    """The leader epoch of the batches."""
    crc: int | None
    """The CRC of the batch; None where the run has several batches."""
    is_proven: bool
    """Whether the run is proven to be committed."""
    replica: ReplicaId
    """A replica whose log held the run."""
    at: datetime
    """The time of a capture that shows the run in this replica's log."""


BranchPiece = tuple[BranchRange, ...]
"""Neighbouring ranges of the branch, which are read together."""


def pieces_of(committed: AgreedBranch, batches: Batches) -> list[BranchPiece]:
    """The agreed branch in pieces. committed: its ranges. batches: the cluster's runs."""
    pieces: list[BranchPiece] = []
    piece: list[BranchRange] = []
    size = 0
    for one in _ranges(committed, batches):
        piece.append(one)
        size += min(one.end, one.high) - max(one.first, one.low)
        if size >= _OFFSETS_AT_ONCE:
            pieces.append(tuple(piece))
            piece, size = [], 0
    return [*pieces, tuple(piece)] if piece else pieces


def _ranges(committed: AgreedBranch, batches: Batches) -> Iterator[BranchRange]:
    """The ranges of the branch, each with batches that begin at _OFFSETS_AT_ONCE offsets at the
    most."""
    known: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    ids = batches.base_offset, batches.leader_epoch, batches.crc
    for place in batches.held[first_of_each([one[batches.held] for one in ids])].tolist():
        known[int(batches.leader_epoch[place]), int(batches.crc[place])].append(place)
    columns = (committed.low, committed.high, committed.leader_epoch, committed.crc)
    rows = zip(*(one.tolist() for one in columns), committed.is_proven.tolist(), strict=True)
    for low, high, epoch, crc, is_proven in rows:
        place = next(
            one
            for one in known[epoch, crc]
            if batches.base_offset[one] <= low <= batches.last_offset[one]
        )
        is_one = batches.is_one(place)
        first = int(batches.base_offset[place])
        about = is_proven, batches.replicas[int(batches.replica[place])], batches.first_held(place)
        cut = low + _OFFSETS_AT_ONCE
        while not is_one and cut < high:
            yield BranchRange(low, high, first, cut, epoch, None, *about)
            first, cut = cut, cut + _OFFSETS_AT_ONCE
        end = int(batches.last_offset[place]) + 1
        yield BranchRange(low, high, first, end, epoch, crc if is_one else None, *about)


class BranchBatches(NamedTuple):
    """The batches of a piece of the branch."""

    batches: Batches
    """All batches that were read."""
    places: Longs
    """The indexes in `batches` of the batches that the branch has."""
    branch: AgreedBranch
    """The offsets at which the branch has each batch of `places`."""


def batches_of(tables: ClusterTables, piece: BranchPiece) -> BranchBatches:
    """The batches of a piece. Raises what delta-rs raises."""
    batches = Batches.of(
        tables.log_batches(min(one.first for one in piece), max(one.end for one in piece))
    )
    held: dict[tuple[ReplicaId, datetime], Longs] = {}
    found: list[tuple[Longs, Longs, Longs, npt.NDArray[np.bool_]]] = []
    for one in piece:
        if (one.replica, one.at) not in held:
            held[one.replica, one.at] = batches.held_at(one.replica, one.at)
        places = held[one.replica, one.at]
        base = batches.base_offset[places]
        places = places[slice(*np.searchsorted(base, [one.first, one.end]))]
        places = places[batches.leader_epoch[places] == one.leader_epoch]
        if one.crc is not None:
            places = places[batches.crc[places] == one.crc]
        low = np.maximum(batches.base_offset[places], one.low)
        high = np.minimum(batches.entries_end[places], one.high)
        is_there = low < high
        proven = np.full(int(is_there.sum()), one.is_proven)
        found.append((places[is_there], low[is_there], high[is_there], proven))
    places, low, high, proven = map(np.concatenate, zip(*found, strict=True))
    order = np.argsort(low, kind="stable")
    places = places[order]
    columns = batches.leader_epoch[places], batches.crc[places], proven[order]
    branch = AgreedBranch(low[order], high[order], *columns, tables.cluster_id)
    return BranchBatches(batches, places, branch)


class BranchRecords(NamedTuple):
    """Records of the agreed branch, ascending by offset, each once."""

    rows: pa.Table
    """The records, with the columns of RECORDS."""
    commitments: pa.Array
    """The commitment of each record, as in silver.committed_log."""


def read_records(tables: ClusterTables, piece: BranchPiece, *, is_whole: bool = True) -> pa.Table:
    """The records of the piece's batches, and perhaps of other batches at its offsets.

    is_whole: whether each replica has all records of its batches, so that no other replica is asked
    for them. Raises what delta-rs raises.
    """
    replicas = {one.replica for one in piece} if is_whole else None
    return tables.log_records(
        min(one.first for one in piece), max(one.end for one in piece), replicas
    )


def branch_records(branch: AgreedBranch, rows: pa.Table) -> BranchRecords:
    """The records among these that the agreed branch has. branch: the batches of a piece. rows:
    records of any replicas, with the columns RECORDS and crc."""
    offsets, epochs, crcs = (longs(rows[name]) for name in ("offset", "leader_epoch", "crc"))
    kept = _in_order(offsets, branch.has(offsets, epochs, crcs))
    commitments = branch.commitments(branch.places(offsets[kept]))
    return BranchRecords(_taken(rows, kept), commitments)


class LostTail(NamedTuple):
    """A superseded branch: batches that replicas held beside the agreed branch, and that the
    cluster did not keep."""

    position: int
    """The offset of the fork: the first offset at which the log of the branch holds another entry
    than the agreed branch."""
    tail_id: str
    """The capture_id of a capture that shows the branch."""
    commitment: str
    """"superseded" where the agreed entry at the fork is proven, otherwise "unproven"."""
    replica: ReplicaId
    """The replica whose log holds the branch."""
    at: datetime
    """The time of the capture `tail_id`."""
    ranges: tuple[tuple[int, int, int], ...]
    """The first offset (inclusive), the last offset (inclusive) and the epoch of each run from the
    fork on that this log has and the agreed branch lacks."""
    last_offset: int
    """The last offset of the runs in `ranges`, inclusive."""


def tails_of(held: HeldBatches, committed: AgreedBranch) -> Iterator[LostTail]:
    """Each superseded branch. Its last entry identifies it, because below equal entries Raft's logs
    are equal. Two such branches may begin with the same batches."""
    batches = held.batches
    is_off = ~committed.has(batches.base_offset, batches.leader_epoch, batches.crc)
    is_forked = is_off & (committed.places(batches.base_offset) >= 0)
    tails: dict[tuple[Any, ...], str] = {}
    for capture_id in held.captures:
        places = held.places(capture_id)
        forked = places[is_forked[places]]
        if len(forked):
            position = int(batches.base_offset[forked].min())
            tail = position, max(map(batches.identity, forked.tolist()))
            tails[tail] = min(tails.get(tail, capture_id), capture_id)
    for (position, _), capture_id in tails.items():
        (fork,) = committed.places(np.array([position])).tolist()
        places = held.places(capture_id)
        mine = places[is_off[places] & (batches.base_offset[places] >= position)]
        columns = batches.base_offset[mine], batches.last_offset[mine], batches.leader_epoch[mine]
        yield LostTail(
            position,
            capture_id,
            "superseded" if committed.is_proven[fork] else "unproven",
            batches.replicas[int(batches.replica[mine[0]])],
            held.captures[capture_id]["captured_at"],
            tuple(zip(*(one.tolist() for one in columns), strict=True)),
            int(batches.last_offset[mine].max()),
        )


def tail_records(tables: ClusterTables, tail: LostTail) -> pa.Table:
    """The records of the tail with the columns of RECORDS, ascending by offset. Raises what
    delta-rs raises."""
    low, high = tail.ranges[0][0], max(last for _, last, _ in tail.ranges) + 1
    batches = Batches.of(tables.log_batches(low, high))
    places = batches.held_at(tail.replica, tail.at)
    is_off = np.zeros(len(places), np.bool_)
    for first, last, epoch in tail.ranges:
        base = batches.base_offset[places]
        is_off |= (base >= first) & (base <= last) & (batches.leader_epoch[places] == epoch)
    wanted: set[Batch] = set(map(batches.identity, places[is_off].tolist()))
    rows = tables.log_records(low, high, [tail.replica])
    keys = (rows[name].to_pylist() for name in ("base_offset", "leader_epoch", "crc"))
    is_held = np.array([key in wanted for key in zip(*keys, strict=True)], np.bool_)
    return _taken(rows, _in_order(longs(rows["offset"]), is_held))


def content_records(rows: pa.Table, epoch: int) -> pa.Table:
    """The records of a snapshot with the columns of RECORDS, each once. Their `offset` is the
    record's index in the snapshot. rows: the snapshot's records from one or more replicas, so a
    record may occur several times. epoch: the snapshot's epoch."""
    epochs = pa.repeat(pa.scalar(epoch, pa.int32()), rows.num_rows)
    indexes = longs(rows["offset"])
    kept = _in_order(indexes, np.ones(len(indexes), np.bool_))
    return _taken(rows.append_column("leader_epoch", epochs), kept)


def _in_order(offsets: Longs, is_wanted: npt.NDArray[np.bool_]) -> Longs:
    """The indexes of the wanted records, ascending by offset. Of several records with the same
    offset only the first counts."""
    wanted = np.flatnonzero(is_wanted)
    ascending = wanted[np.argsort(offsets[wanted], kind="stable")]
    found = offsets[ascending]
    is_first = np.append(True, found[1:] != found[:-1])[: len(found)]
    return np.asarray(ascending[is_first], np.int64)


def _taken(rows: pa.Table, places: Longs) -> pa.Table:
    """The rows with the indexes `places`, with the columns of RECORDS."""
    rows = rows.select(RECORDS.names)
    if len(places) == rows.num_rows and bool((np.diff(places) > 0).all()):
        return rows
    return rows.take(pa.array(places))
