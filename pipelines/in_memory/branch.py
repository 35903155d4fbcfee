"""The batches and records of the agreed branch, and of the branches that lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pipelines.in_memory.control import batch_key
from pipelines.in_memory.rows import BranchBatch, HeldBatch, Row, nulls_first

Committed = Mapping[tuple[str, int], Row]
"""From committed_log: rows by cluster_id and offset."""

_CONTENT = ("timestamp", "is_control", "record_type", "record_version", "payload", "value")


def branch_batches(committed: Committed, batches: Iterable[Row]) -> list[BranchBatch]:
    """The batches of the branch, each once, whichever replicas hold them; batches: rows of
    bronze.log_batches, where every replica has a row of its own."""
    holders: dict[tuple[Any, ...], BranchBatch] = {}
    for row in batches:
        if row["crc_valid"] and _is_agreed(committed, row, row["base_offset"]):
            batch = BranchBatch(**{name: row[name] for name in BranchBatch._fields})
            entry = batch[:4]
            holders[entry] = min(holders.get(entry, batch), batch, key=nulls_first)
    return list(holders.values())


def _is_agreed(committed: Committed, row: Mapping[str, Any], offset: int) -> bool:
    agreed = committed.get((row["cluster_id"], offset))
    if agreed is None:
        return False
    return (agreed["leader_epoch"], agreed["crc"]) == (row["leader_epoch"], row["crc"])


def branch_records(committed: Committed, records: Iterable[Row]) -> list[Row]:
    """The records of the branch, each once: a row of silver.committed_log with the record as
    bronze.log_records has it."""
    found: dict[tuple[str, int], Row] = {}
    for row in records:
        place = row["cluster_id"], row["offset"]
        if place not in found and _is_agreed(committed, row, row["offset"]):
            found[place] = {**committed[place], **{name: row[name] for name in _CONTENT}}
    return list(found.values())


def lost_tails(
    held: Mapping[str, Iterable[HeldBatch]], committed: Committed, records: Iterable[Row]
) -> Iterator[Row]:
    """What replicas once held behind the agreed branch, record by record.

    Rows: position (the fork's offset, the first at which such a log holds another entry than the
    agreed one), tail_id (a capture that shows it), commitment (superseded where the agreed entry at
    the fork is proven, else unproven), and the columns of bronze.log_records. Two tails may begin
    with the same records, and then both tell them. held: from by_capture.
    """
    off_branch = {
        capture_id: [b for b in batches if not _is_agreed(committed, b._asdict(), b.base_offset)]
        for capture_id, batches in held.items()
    }
    batches: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for position, capture_id in _tails(off_branch, committed):
        for batch in off_branch[capture_id]:
            if batch.base_offset >= position:
                agreed = committed[batch.cluster_id, position]["commitment"]
                tail = {
                    "position": position,
                    "tail_id": capture_id,
                    "commitment": "superseded" if agreed == "proven" else "unproven",
                }
                batches[batch[1:7]].append(tail)
    for row in records:
        for tail in batches.get(batch_key(row), ()):
            yield {**row, **tail}


def _tails(
    off_branch: Mapping[str, Iterable[HeldBatch]], committed: Committed
) -> list[tuple[int, str]]:
    """The fork's offset and the capture_id of each tail, told apart by what is last in it: below
    that Raft's logs are the same."""
    tails: dict[tuple[Any, ...], str] = {}
    for capture_id, batches in off_branch.items():
        forked = [b for b in batches if (b.cluster_id, b.base_offset) in committed]
        if forked:
            position = min(batch.base_offset for batch in forked)
            last = max((b.base_offset, b.leader_epoch, b.crc) for b in forked)
            tail = forked[0].cluster_id, position, last
            tails[tail] = min(tails.get(tail, capture_id), capture_id)
    return [(position, capture_id) for (_, position, _), capture_id in tails.items()]
