"""Decoded records as table rows: each row has an offset, and a cell for each branch."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.report.divergences import Replica, replica_of
from pipelines.report.source import Row
from replica.errors import DataError
from replica.metadata.json_text import from_plain, json_text


@dataclass(frozen=True)
class Cell:
    """One record, as `kraftlake dump` shows it."""

    epoch: int
    time: str
    """The record's time, as ISO 8601 in UTC."""
    record_type: str
    version: int | None
    payload: str


@dataclass(frozen=True)
class RecordRow:
    """The records at an offset."""

    offset: int
    cells: tuple[Cell | None, ...]
    """One cell for each branch, None where the branch has no record at this offset. A single cell
    where all branches have the same record."""


def branch_rows(rows: Iterable[Row], speakers: Sequence[Replica]) -> tuple[RecordRow, ...]:
    """Rows of queries.branch_records by offset. speakers: for each branch the replica whose records
    are shown."""
    held: dict[int, dict[Replica, Cell]] = defaultdict(dict)
    for row in rows:
        held[row["offset"]][replica_of(row)] = _cell(row)
    found = []
    for offset in sorted(held):
        cells = tuple(held[offset].get(speaker) for speaker in speakers)
        found.append(RecordRow(offset, cells[:1] if len(set(cells)) == 1 else cells))
    return tuple(found)


def plain_rows(rows: Iterable[Row]) -> tuple[RecordRow, ...]:
    """The rows of one branch's records, with one cell each."""
    return tuple(RecordRow(row["offset"], (_cell(row),)) for row in rows)


def _cell(row: Row) -> Cell:
    return Cell(
        row["leader_epoch"],
        row["timestamp"] or "",
        row["record_type"],
        row["record_version"],
        kafka_json(row["record_type"], row["record_version"], row["payload"]),
    )


_FIRST = ("version", "leaderId", "voters", "voterId", "voterDirectoryId", "name", "host", "port")
"""The order of control records' fields (KIP-595, KIP-853)."""


def kafka_json(record_type: str, version: int | None, payload: Any) -> str:
    """The payload as text, as `kraftlake dump` prints it. Redacted values stay redacted. The order
    of the fields is Kafka's, by the record's schema, because a VARIANT sorts them by name. A record
    of an unknown type or version has its fields in the VARIANT's order."""
    if isinstance(payload, dict) and version is not None:
        try:
            return json_text(from_plain(record_type, version, payload))
        except DataError:
            payload = _control(payload)
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def _control(value: Any) -> Any:
    if isinstance(value, list):
        return [_control(one) for one in value]
    if not isinstance(value, dict):
        return value
    names = sorted(value, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    return {name: _control(value[name]) for name in names}
