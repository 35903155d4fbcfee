"""Which batches the log of each capture held, and its whole log as replica.history compares it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipelines.in_memory.control import (
    BatchKey,
    ControlRecords,
    SnapshotKey,
    batch_key,
    snapshot_key,
)
from pipelines.in_memory.rows import BronzeRows, HeldBatch, Row
from pipelines.tables.keys import BATCH_KEYS
from replica.history.log import LogBatch, ReplicaLog
from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch
from replica.model.keys import ZERO_UUID, ReplicaId, ReplicaKey
from replica.model.voters import VoterKeys, VotersAt


def replica_of(row: Mapping[str, Any]) -> ReplicaId:
    """Of any row that has REPLICA_KEYS."""
    return ReplicaId(row["cluster_id"], row["node_id"], row["directory_id"])


_FACTS = (*BATCH_KEYS, "last_offset", "record_count", "size_bytes", "max_timestamp")


def one_row_per_capture(captures: Iterable[Row]) -> list[Row]:
    """capture_id, REPLICA_KEYS, captured_at, log_start_offset, log_end_offset, source.

    captures: rows of bronze.captures, where an unchanged replica has the same capture_id in several
    groups. All of them saw the same files, so the first time, and the first place, stand for all.
    """
    looks: dict[str, list[Row]] = defaultdict(list)
    for row in captures:
        looks[row["capture_id"]].append(row)
    order = ("captured_at", "log_start_offset", "log_end_offset")
    return [
        {
            **min(rows, key=lambda row: tuple(row[name] for name in order)),
            "source": min(rows, key=lambda row: (row["ingest_seq"], row["source"]))["source"],
        }
        for rows in looks.values()
    ]


def held_batches(bronze: BronzeRows, control: Mapping[BatchKey, ControlRecords]) -> list[HeldBatch]:
    """The batches of each capture; control: from control_records."""
    moments: dict[ReplicaId, list[Row]] = defaultdict(list)
    for look in one_row_per_capture(bronze.captures):
        moments[replica_of(look)].append(look)
    return [
        _held(look["capture_id"], row, control.get(batch_key(row)))
        for row in bronze.batches
        for look in moments[replica_of(row)]
        if any(covers(span, look["captured_at"]) for span in row["in_log"])
    ]


def covers(span: Row, moment: Any) -> bool:
    """Whether `moment` is in the span, whose end is open while the newest capture holds it."""
    return bool(span["from"] <= moment and (span["to"] is None or moment <= span["to"]))


def _held(capture_id: str, row: Row, control: ControlRecords | None) -> HeldBatch:
    facts = {name: row[name] for name in _FACTS}
    change = None if control is None else control.leader_change
    sets = None if control is None else control.voter_sets
    return HeldBatch(capture_id, **facts, leader_change=change, voter_sets=sets)


def by_capture(held: Iterable[HeldBatch]) -> dict[str, list[HeldBatch]]:
    """The batches of each capture_id."""
    found: dict[str, list[HeldBatch]] = defaultdict(list)
    for batch in held:
        found[batch.capture_id].append(batch)
    return found


def entries_end(batch: HeldBatch | Mapping[str, Any]) -> int:
    """The offset behind the last record of a batch, exclusive.

    As many offsets as records, each of which takes a byte at least: a header may claim more.
    """
    row = batch._asdict() if isinstance(batch, HeldBatch) else batch
    records = min(row["record_count"], row["size_bytes"])
    return int(min(row["last_offset"] + 1, row["base_offset"] + records))


def replica_logs(
    bronze: BronzeRows,
    held: Mapping[str, Sequence[HeldBatch]],
    snapshot_sets: Mapping[SnapshotKey, Sequence[Row]],
) -> dict[str, ReplicaLog]:
    """The log of each capture_id; held: from by_capture; snapshot_sets: from
    snapshot_voter_sets."""
    snapshots = defaultdict(list)
    for row in bronze.snapshots:
        if row["is_whole"]:
            for capture_id in row["captures"]:
                snapshots[capture_id].append(row)
    epochs = {row["capture_id"]: row["leader_epoch"] for row in bronze.state}
    interned: dict[LogBatch, LogBatch] = {}
    return {
        look["capture_id"]: _log(
            look,
            held.get(look["capture_id"], ()),
            [
                (row, snapshot_sets.get(snapshot_key(row), ()))
                for row in snapshots[look["capture_id"]]
            ],
            epochs.get(look["capture_id"]),
            interned,
        )
        for look in one_row_per_capture(bronze.captures)
    }


def _log(
    look: Row,
    held: Sequence[HeldBatch],
    snapshots: Sequence[tuple[Row, Sequence[Row]]],
    quorum_epoch: int | None,
    interned: dict[LogBatch, LogBatch],
) -> ReplicaLog:
    changes = (batch.leader_change for batch in held if batch.leader_change is not None)
    in_log = (_voters_at(found) for batch in held for found in batch.voter_sets or ())
    in_snapshots = (
        VotersAt(row["end_offset"] - 1, found["epoch"], _keys(found["voters"]))
        for row, sets in snapshots
        for found in sets
    )
    batches = sorted(
        (_log_batch(batch, interned) for batch in held),
        key=lambda one: (one.base_offset, one.last_offset, one.epoch, one.digest),
    )
    ids = {OffsetAndEpoch(row["end_offset"], row["epoch"]) for row, _ in snapshots}
    return ReplicaLog(
        key=ReplicaKey(look["node_id"], look["directory_id"]),
        log_start=look["log_start_offset"],
        batches=tuple(_in_order(batches)),
        snapshots=tuple(sorted(ids)),
        quorum_epoch=UNDEFINED_EPOCH if quorum_epoch is None else quorum_epoch,
        voter_sets=tuple(sorted({*in_log, *in_snapshots}, key=_place)),
        leader_changes=tuple(sorted({_voters_at(found) for found in changes}, key=_place)),
    )


def _log_batch(held: HeldBatch, interned: dict[LogBatch, LogBatch]) -> LogBatch:
    """The replicas of a quorum hold the same batches: each is one object for all of them."""
    digest = held.crc << 31 | held.size_bytes
    batch = LogBatch(held.base_offset, held.last_offset, held.leader_epoch, digest)
    return interned.setdefault(batch, batch)


def _voters_at(found: Row) -> VotersAt:
    return VotersAt(found["offset"], found["epoch"], _keys(found["voters"]))


def _keys(voters: Sequence[Row] | None) -> VoterKeys:
    """Empty for a record that could not be decoded: then no majority proves anything."""
    return frozenset(
        ReplicaKey(voter["voter_id"], voter["directory_id"] or ZERO_UUID) for voter in voters or ()
    )


def _place(found: VotersAt) -> tuple[Any, ...]:
    return found.offset, found.epoch, sorted(found.voters)


def _in_order(batches: Iterable[LogBatch]) -> Iterator[LogBatch]:
    """Without those that begin inside one before: no Kafka leaves that, a copy may."""
    end = -1
    for batch in batches:
        if batch.base_offset > end and batch.last_offset >= batch.base_offset:
            end = batch.last_offset
            yield batch
