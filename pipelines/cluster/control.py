"""Decodes Raft's own records, LEADER_CHANGE and KRAFT_VOTERS, from their bytes; and puts the voters
of any source into the form of silver.voter_sets' column `voters`.

A voter is a dict of voter_id, directory_id, endpoints, min_supported_version and
max_supported_version, in this order. A value that the source doesn't give is None.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from pipelines.cluster.rows import Row, nulls_first
from pipelines.tables.keys import batch_key, snapshot_key
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
from replica.model.keys import ZERO_UUID
from replica.model.voters import Voter


def known_directory(directory: str | None) -> str | None:
    """The directory id; None for the zero UUID, which stands for any directory
    (VoterSet.isVoter)."""
    return None if directory == ZERO_UUID else directory


def node_ids_as_voters(ids: Iterable[int]) -> list[Row]:
    """Voters of a source that gives only node ids, sorted."""
    return _in_order(voter(node) for node in ids)


def configured_voters_as_voters(voters: Iterable[Row]) -> list[Row]:
    """Voters of controller.quorum.voters, sorted. voters: dicts of voter_id, host and port."""
    return _in_order(
        voter(one["voter_id"], endpoints=[{"name": None, "host": one["host"], "port": one["port"]}])
        for one in voters
    )


def leader_voters_as_voters(voters: Sequence[Row] | None) -> list[Row] | None:
    """Voters of a LEADER_CHANGE, in their order; None where `voters` is None. voters: dicts of
    voter_id and directory_id."""
    if voters is None:
        return None
    return [voter(one["voter_id"], one["directory_id"]) for one in voters]


def voter(
    node: int | None,
    directory: str | None = None,
    endpoints: list[Row] | None = None,
    versions: tuple[int | None, int | None] = (None, None),
) -> Row:
    """An element of the columns of voters. directory: the directory id. versions: the lowest and
    the highest kraft.version that the voter supports. None stands for a value that the source
    lacks."""
    return {
        "voter_id": node,
        "directory_id": directory,
        "endpoints": endpoints,
        "min_supported_version": versions[0],
        "max_supported_version": versions[1],
    }


def _in_order(voters: Iterable[Row]) -> list[Row]:
    return sorted(voters, key=nulls_first)


BatchKey = tuple[Any, ...]
"""The values of BATCH_KEYS."""
SnapshotKey = tuple[Any, ...]
"""The values of SNAPSHOT_KEYS."""


@dataclass(frozen=True)
class ControlRecords:
    """The control records of one batch."""

    leader_change: Row | None
    """The batch's LEADER_CHANGE record; None where it has no such record."""
    voter_sets: list[Row]
    """A voter set for each KRAFT_VOTERS record."""


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
    """The voter sets of each snapshot that has any. The offset of such a voter set is the
    snapshot's end offset.

    snapshot_records: rows of bronze.snapshot_records.
    """
    sets: dict[SnapshotKey, list[Row]] = defaultdict(list)
    for row in _control(snapshot_records):
        if row["record_type"] == ControlType.KRAFT_VOTERS.name:
            sets[snapshot_key(row)].append(_voter_set(row, row["end_offset"], row["epoch"]))
    return dict(sets)


def _control(records: pa.Table) -> list[Row]:
    """The control records, without the columns that only other records use."""
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
    return _in_order({"voter_id": one.voter_id, "directory_id": one.directory_id} for one in voters)


def _voter_set(row: Row, offset: int, epoch: int) -> Row:
    message = _decoded(row)
    voters = None
    if isinstance(message, KRaftVoters):
        voters = _in_order(map(_voter, message.voters))
    return {"offset": offset, "epoch": epoch, "voters": voters}


def _voter(named: Voter) -> Row:
    endpoints = [{"name": e.name, "host": e.host, "port": e.port} for e in named.endpoints]
    versions = named.min_kraft_version, named.max_kraft_version
    return voter(named.key.node_id, named.key.directory_id, endpoints, versions)


def _decoded(row: Row) -> ControlMessage | None:
    """The message of a control record; None where ingest could not decode the record."""
    if row["value"] is None:
        return None
    try:
        return decode_control(control_key(ControlType[row["record_type"]]), row["value"])
    except DataError:
        return None
