"""The batches and records of the agreed branch, and of the branches that lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.in_memory.batches import Batches, Longs, first_of_each, longs
from pipelines.in_memory.committed import AgreedBranch, Batch
from pipelines.in_memory.held import HeldBatches
from pipelines.replay.columns import RECORDS
from replica.model.keys import ReplicaId


def branch_batches(committed: AgreedBranch, batches: Batches) -> Batches:
    """The batches of the branch, each once, as the first of the replicas that held it undamaged has
    it. batches: all of the cluster, in which each replica has its own."""
    is_agreed = batches.is_sound & _is_agreed(committed, batches)
    sound = batches.at(np.flatnonzero(is_agreed))
    return sound.at(first_of_each([sound.base_offset, sound.leader_epoch, sound.crc]))


def _is_agreed(committed: AgreedBranch, batches: Batches) -> Any:
    return committed.has(batches.base_offset, batches.leader_epoch, batches.crc)


class BranchRecords(NamedTuple):
    """Records of the agreed branch, ascending by offset, each once. rows: the records, with the
    columns of RECORDS. commitments: the commitment of each record, as in silver.committed_log."""

    rows: pa.Table
    commitments: pa.Array


def branch_records(committed: AgreedBranch, rows: pa.Table) -> BranchRecords:
    """Those of the given records that are of the agreed branch. rows: records of any replicas, with
    the column crc besides those of RECORDS."""
    offsets, epochs, crcs = (longs(rows[name]) for name in ("offset", "leader_epoch", "crc"))
    kept = _in_order(offsets, committed.has(offsets, epochs, crcs))
    commitments = committed.commitments(committed.places(offsets[kept]))
    return BranchRecords(_taken(rows, kept), commitments)


class LostTail(NamedTuple):
    """A branch that lost.

    position: the offset of the fork: the first offset at which the log of the branch holds another
    entry than the agreed branch. tail_id: a capture that shows the branch. commitment: "superseded"
    where the agreed entry at the fork is proven, otherwise "unproven". replica: the replica of that
    log. batches: the log's batches from the fork on. last_offset: the last offset of these batches,
    inclusive.
    """

    position: int
    tail_id: str
    commitment: str
    replica: ReplicaId
    batches: frozenset[Batch]
    last_offset: int


def tails_of(held: HeldBatches, committed: AgreedBranch) -> Iterator[LostTail]:
    """Each branch that lost. Its last entry identifies it, because below equal entries Raft's logs
    are equal. Two such branches may begin with the same batches."""
    batches = held.batches
    is_off = ~_is_agreed(committed, batches)
    is_forked = is_off & (committed.places(batches.base_offset) >= 0)
    tails: dict[tuple[Any, ...], str] = {}
    for capture_id in held.looks:
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
        yield LostTail(
            position,
            capture_id,
            "superseded" if committed.is_proven[fork] else "unproven",
            batches.replicas[int(batches.replica[mine[0]])],
            frozenset(map(batches.identity, mine.tolist())),
            int(batches.last_offset[mine].max()),
        )


def tail_records(tail: LostTail, rows: pa.Table) -> pa.Table:
    """The records of the tail with the columns of RECORDS, ascending by offset. rows: records of
    the tail's replica, with the columns base_offset and crc besides those of RECORDS."""
    keys = (rows[name].to_pylist() for name in ("base_offset", "leader_epoch", "crc"))
    is_held = np.array([key in tail.batches for key in zip(*keys, strict=True)], np.bool_)
    return _taken(rows, _in_order(longs(rows["offset"]), is_held))


def content_records(rows: pa.Table, epoch: int) -> pa.Table:
    """The records of a snapshot with the columns of RECORDS, each once. Their `offset` is the
    record's index in the snapshot. rows: the records, as any replicas have them. epoch: the
    snapshot's epoch."""
    epochs = pa.repeat(pa.scalar(epoch, pa.int32()), rows.num_rows)
    indexes = longs(rows["offset"])
    kept = _in_order(indexes, np.ones(len(indexes), np.bool_))
    return _taken(rows.append_column("leader_epoch", epochs), kept)


def _in_order(offsets: Longs, is_wanted: npt.NDArray[np.bool_]) -> Longs:
    """The places of the wanted records, ascending by offset. Of several records with the same
    offset only the first counts."""
    wanted = np.flatnonzero(is_wanted)
    ascending = wanted[np.argsort(offsets[wanted], kind="stable")]
    found = offsets[ascending]
    is_first = np.append(True, found[1:] != found[:-1])[: len(found)]
    return np.asarray(ascending[is_first], np.int64)


def _taken(rows: pa.Table, places: Longs) -> pa.Table:
    """The rows at these places, with the columns of RECORDS."""
    rows = rows.select(RECORDS.names)
    if len(places) == rows.num_rows and bool((np.diff(places) > 0).all()):
        return rows
    return rows.take(pa.array(places))


def holders_of(branch: Batches) -> pa.Table:
    """Which replica has which batches of the branch: cluster_id, node_id, directory_id, and the
    base offsets from `from` to `to`, both inclusive, which don't overlap.

    branch: the result of branch_batches.
    """
    is_new = branch.replica[1:] != branch.replica[:-1]
    starts = np.append(0, np.flatnonzero(is_new) + 1)[: len(branch)]
    ends = np.append(np.flatnonzero(is_new), len(branch) - 1)[: len(branch)]
    replicas = [branch.replicas[code] for code in branch.replica[starts].tolist()]
    return pa.table(
        {
            "cluster_id": pa.array([one.cluster_id for one in replicas], pa.string()),
            "node_id": pa.array([one.node_id for one in replicas], pa.int32()),
            "directory_id": pa.array([one.directory_id for one in replicas], pa.string()),
            "from": pa.array(branch.base_offset[starts], pa.int64()),
            "to": pa.array(branch.base_offset[ends], pa.int64()),
        }
    )
