"""Rows of a small lake, and the values that several tables are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

Row = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class BronzeRows:
    """All rows of the tables of bronze.DERIVED_FROM, in its order and in the tables' columns."""

    captures: Sequence[Row]
    batches: Sequence[Row]
    records: Sequence[Row]
    snapshots: Sequence[Row]
    snapshot_records: Sequence[Row]
    state: Sequence[Row]
    found: Sequence[Row]


class HeldBatch(NamedTuple):
    """A batch that a capture's .log files held undamaged.

    max_timestamp: largest time of its records, None where Kafka has none. leader_change: None, or a
    dict of offset, epoch, leader_id, voters, granting_voters (each a sorted list of dicts of
    voter_id and directory_id, or None) and started_at. voter_sets: a list of dicts of offset, epoch
    and voters (a sorted list in the shape of silver.voter_sets' column), None in a batch without
    control records.
    """

    capture_id: str
    cluster_id: str
    node_id: int
    directory_id: str
    base_offset: int
    leader_epoch: int
    crc: int
    last_offset: int
    record_count: int
    size_bytes: int
    max_timestamp: datetime | None
    leader_change: Row | None
    voter_sets: list[Row] | None


class BranchBatch(NamedTuple):
    """A batch of the agreed branch, as one replica that held it undamaged has it."""

    cluster_id: str
    base_offset: int
    leader_epoch: int
    crc: int
    node_id: int
    directory_id: str
    last_offset: int
    record_count: int
    size_bytes: int
    max_timestamp: datetime | None


def milliseconds(at: datetime) -> int:
    """Whole ms since the epoch, rounded down, as Spark's unix_millis."""
    return (at - _EPOCH) // _MILLISECOND


def microseconds(at: datetime | None) -> int | None:
    """Whole us since the epoch; None for None."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND


def nulls_first(value: Any) -> tuple[Any, ...]:
    """A key that sorts values as Spark does: None before all others, structs (dicts, in the order
    of their fields) and arrays (lists) by their elements."""
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, tuple(nulls_first(part) for part in value.values()))
    if isinstance(value, list | tuple):
        return (1, tuple(nulls_first(part) for part in value))
    return (1, value)
