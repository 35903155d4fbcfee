"""The batches and records of the agreed branch, and of the branches that lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pipelines.in_memory.batches import Batches, Places, first_of_each
from pipelines.in_memory.committed import COMMITMENTS, AgreedBranch
from pipelines.in_memory.control import batch_key
from pipelines.in_memory.held import HeldBatches
from pipelines.in_memory.rows import Row

_CONTENT = ("timestamp", "is_control", "record_type", "record_version", "payload", "value")


def branch_batches(committed: AgreedBranch, batches: Batches) -> Batches:
    """The batches of the branch, each once, as the first of the replicas that held it undamaged has
    it. batches: all of the cluster, in which each replica has its own."""
    is_agreed = batches.is_sound & _is_agreed(committed, batches)
    sound = batches.at(np.flatnonzero(is_agreed))
    return sound.at(first_of_each([sound.base_offset, sound.leader_epoch, sound.crc]))


def _is_agreed(committed: AgreedBranch, batches: Batches) -> Any:
    return committed.has(batches.base_offset, batches.leader_epoch, batches.crc)


def branch_records(committed: AgreedBranch, records: Iterable[Row]) -> list[Row]:
    """The records of the branch, each once: a row of silver.committed_log with the record as
    bronze.log_records has it."""
    rows = [*records]
    names = ("offset", "leader_epoch", "crc")
    offsets, epochs, crcs = (np.array([row[name] for row in rows], np.int64) for name in names)
    indexes = np.flatnonzero(committed.has(offsets, epochs, crcs))
    is_proven = committed.is_proven[committed.places(offsets[indexes])].tolist()
    found: dict[int, Row] = {}
    for index, proven in zip(indexes.tolist(), is_proven, strict=True):
        row = rows[index]
        entry = {"cluster_id": row["cluster_id"], **{name: row[name] for name in names}}
        content = {name: row[name] for name in _CONTENT}
        found.setdefault(row["offset"], {**entry, "commitment": COMMITMENTS[proven], **content})
    return list(found.values())


class LostBatches(NamedTuple):
    """Batches that replicas once held behind the agreed branch. position: the offset of the fork,
    the first offset at which such a log holds another entry than the branch. tail_id: a capture
    that shows it. commitment: superseded where the agreed entry at the fork is proven, else
    unproven. places: the indexes of its batches from the fork on."""

    position: int
    tail_id: str
    commitment: str
    places: Places


def tails_of(held: HeldBatches, committed: AgreedBranch) -> list[LostBatches]:
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
    found = []
    for (position, _), capture_id in tails.items():
        (fork,) = committed.places(np.array([position])).tolist()
        commitment = "superseded" if committed.is_proven[fork] else COMMITMENTS[False]
        places = held.places(capture_id)
        mine = places[is_off[places] & (batches.base_offset[places] >= position)]
        found.append(LostBatches(position, capture_id, commitment, mine))
    return found


def lost_tails(held: HeldBatches, committed: AgreedBranch, records: Iterable[Row]) -> Iterator[Row]:
    """The records that replicas once held behind the agreed branch.

    A row has position, tail_id and commitment of a Tail, and the columns of bronze.log_records.
    """
    of_batch: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for tail in tails_of(held, committed):
        told = {name: getattr(tail, name) for name in ("position", "tail_id", "commitment")}
        for key in held.batches.keys(tail.places):
            of_batch[key].append(told)
    for row in records if of_batch else ():
        for told in of_batch.get(batch_key(row), ()):
            yield {**row, **told}


def holders_of(branch: Batches) -> pa.Table:
    """Which replica has which batches of the branch: cluster_id, node_id, directory_id, and the
    base offsets from `from` to `to`, both inclusive, which don't overlap.

    branch: from branch_batches.
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
