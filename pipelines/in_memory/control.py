"""Decodes Raft's own records, LEADER_CHANGE and KRAFT_VOTERS, from the bytes of records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from pipelines.in_memory.rows import Row, nulls_first
from pipelines.in_memory.voters import voter
from pipelines.tables.keys import BATCH_KEYS, SNAPSHOT_KEYS
from replica.errors import DataError
from replica.format.control import (
    ControlMessage,
    ControlType,
    KRaftVoters,
    LeaderChange,
    LeaderVoter,
    control_key,
    decode_control,
)
from replica.model.voters import Voter

BatchKey = tuple[Any, ...]
"""The values of BATCH_KEYS."""
SnapshotKey = tuple[Any, ...]
"""The values of SNAPSHOT_KEYS."""


@dataclass(frozen=True)
class ControlRecords:
    """The control records of one batch. leader_change: None where it has none. voter_sets: one for
    each KRAFT_VOTERS record."""

    leader_change: Row | None
    voter_sets: list[Row]


def batch_key(row: Mapping[str, Any]) -> BatchKey:
    """The key of the batch that a row of bronze.log_batches or bronze.log_records is about."""
    return tuple(row[name] for name in BATCH_KEYS)


def snapshot_key(row: Mapping[str, Any]) -> SnapshotKey:
    """The key of the snapshot that a row of bronze.snapshots or bronze.snapshot_records is
    about."""
    return tuple(row[name] for name in SNAPSHOT_KEYS)


def control_records(records: pa.Table) -> dict[BatchKey, ControlRecords]:
    """The control records of each batch that has any. records: rows of bronze.log_records."""
    changes: dict[BatchKey, list[Row]] = defaultdict(list)
    sets: dict[BatchKey, list[Row]] = defaultdict(list)
    for row in _control(records):
        if row["record_type"] == ControlType.LEADER_CHANGE.name:
            changes[batch_key(row)].append(_leader_change(row))
        elif row["record_type"] == ControlType.KRAFT_VOTERS.name:
            sets[batch_key(row)].append(_voter_set(row, row["offset"], row["leader_epoch"]))
    return {
        key: ControlRecords(min(changes.get(key, ()), key=nulls_first, default=None), sets[key])
        for key in dict.fromkeys(chain(changes, list(sets)))
    }


def snapshot_voter_sets(snapshot_records: pa.Table) -> dict[SnapshotKey, list[Row]]:
    """The voter sets of each snapshot that has any. Their offset is the snapshot's end offset.

    snapshot_records: rows of bronze.snapshot_records.
    """
    sets: dict[SnapshotKey, list[Row]] = defaultdict(list)
    for row in _control(snapshot_records):
        if row["record_type"] == ControlType.KRAFT_VOTERS.name:
            sets[snapshot_key(row)].append(_voter_set(row, row["end_offset"], row["epoch"]))
    return dict(sets)


def _control(records: pa.Table) -> list[Row]:
    """The control records, without what only other records need."""
    names = [name for name in records.column_names if name not in ("payload", "record_version")]
    rows: list[Row] = records.select(names).filter(records["is_control"]).to_pylist()
    return rows


def _leader_change(row: Row) -> Row:
    message = _decoded(row)
    known = message if isinstance(message, LeaderChange) else None
    return {
        "offset": row["offset"],
        "epoch": row["leader_epoch"],
        "leader_id": known and known.leader_id,
        "voters": known and _leader_voters(known.voters),
        "granting_voters": known and _leader_voters(known.granting_voters),
        "started_at": row["timestamp"],
    }


def _leader_voters(voters: Iterable[LeaderVoter]) -> list[Row]:
    rows = [{"voter_id": one.voter_id, "directory_id": one.directory_id} for one in voters]
    return sorted(rows, key=nulls_first)


def _voter_set(row: Row, offset: int, epoch: int) -> Row:
    message = _decoded(row)
    voters = None
    if isinstance(message, KRaftVoters):
        voters = sorted((_voter(one) for one in message.voters), key=nulls_first)
    return {"offset": offset, "epoch": epoch, "voters": voters}


def _voter(named: Voter) -> Row:
    endpoints = [{"name": e.name, "host": e.host, "port": e.port} for e in named.endpoints]
    versions = named.min_kraft_version, named.max_kraft_version
    return voter(named.key.node_id, named.key.directory_id, endpoints, versions)


def _decoded(row: Row) -> ControlMessage | None:
    """None for a record that ingest could not decode."""
    if row["value"] is None:
        return None
    try:
        return decode_control(control_key(ControlType[row["record_type"]]), row["value"])
    except DataError:
        return None
