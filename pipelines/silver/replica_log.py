"""Rows of silver.replica_logs, as a worker gets them in Arrow, become values of replica.history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from replica.history.log import LogBatch, ReplicaLog
from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.model.voters import VoterKeys, VotersAt

_BATCH_FIELDS = ("base_offset", "last_offset", "epoch", "digest")
_Interned = dict[tuple[int, ...], LogBatch]


def replica_logs_of(rows: pa.Table) -> list[tuple[str, ReplicaLog]]:
    """(capture_id, log) of each replica of a capture group, by node id and directory id.

    Of a replica that occurs twice the newest capture counts.
    """
    newest: dict[ReplicaKey, dict[str, Any]] = {}
    scalars = rows.drop_columns(["batches"]).to_pylist()
    order = sorted(range(len(scalars)), key=lambda i: (scalars[i]["captured_at"], i))
    for index in order:
        row = scalars[index] | {"index": index}
        newest[ReplicaKey(row["node_id"], row["directory_id"])] = row
    # The replicas of a quorum hold the same batches: each is one object for all of them.
    interned: _Interned = {}
    return [
        (row["capture_id"], _log(key, row, rows["batches"][row["index"]], interned))
        for key, row in sorted(newest.items())
    ]


def _log(
    key: ReplicaKey, row: Mapping[str, Any], batches: pa.ListScalar, interned: _Interned
) -> ReplicaLog:
    quorum_epoch = row["quorum_epoch"]
    return ReplicaLog(
        key=key,
        log_start=row["log_start_offset"],
        batches=tuple(_in_order(_batches(batches, interned))),
        snapshots=tuple(OffsetAndEpoch(s["end_offset"], s["epoch"]) for s in row["snapshots"]),
        quorum_epoch=UNDEFINED_EPOCH if quorum_epoch is None else quorum_epoch,
        voter_sets=tuple(
            VotersAt(found["offset"], found["epoch"], _keys(found["voters"]))
            for found in row["voter_sets"]
        ),
        leader_changes=tuple(
            VotersAt(found["offset"], found["epoch"], _keys(found["voters"]))
            for found in row["leader_changes"]
        ),
    )


def _batches(packed: pa.ListScalar, interned: _Interned) -> Iterator[LogBatch]:
    # flatten(), unlike field(), respects where the list starts; columns are far faster than dicts.
    columns = dict(zip((f.name for f in packed.values.type), packed.values.flatten(), strict=True))
    for values in zip(*(columns[name].to_pylist() for name in _BATCH_FIELDS), strict=True):
        batch = interned.get(values)
        if batch is None:
            batch = interned[values] = LogBatch(*values)
        yield batch


def _in_order(batches: Iterator[LogBatch]) -> Iterator[LogBatch]:
    """The batches without those that begin inside the one before. Kafka never leaves such batches;
    a copy may."""
    end = -1
    for batch in batches:
        if batch.base_offset > end and batch.last_offset >= batch.base_offset:
            end = batch.last_offset
            yield batch


def _keys(voters: list[dict[str, Any]] | None) -> VoterKeys:
    """The voters' keys. Empty for a record that could not be decoded; then no majority proves
    anything."""
    return frozenset(
        ReplicaKey(voter["voter_id"], voter["directory_id"] or ZERO_UUID) for voter in voters or ()
    )
