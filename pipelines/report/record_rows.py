"""Decoded records as table rows: an offset, and a cell for each branch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.report.partings import Replica
from pipelines.report.payload import kafka_json
from pipelines.report.source import Row


@dataclass(frozen=True)
class Cell:
    """One record, as `kraftlake dump` shows it. time: ISO-8601 in UTC."""

    epoch: int
    time: str
    record_type: str
    version: int | None
    payload: str


@dataclass(frozen=True)
class RecordRow:
    """cells: one for each branch, None where the branch has no record at the offset; a single cell
    where all branches have the same record."""

    offset: int
    cells: tuple[Cell | None, ...]


def branch_rows(rows: Iterable[Row], speakers: Sequence[Replica]) -> tuple[RecordRow, ...]:
    """Rows of queries.branch_records by offset. speakers: for each branch the replica whose records
    are shown."""
    held: dict[int, dict[Replica, Cell]] = defaultdict(dict)
    for row in rows:
        held[row["offset"]][Replica(row["node_id"], row["directory_id"])] = _cell(row)
    found = []
    for offset in sorted(held):
        cells = tuple(held[offset].get(speaker) for speaker in speakers)
        found.append(RecordRow(offset, cells[:1] if len(set(cells)) == 1 else cells))
    return tuple(found)


def plain_rows(rows: Iterable[Row]) -> tuple[RecordRow, ...]:
    """The records of one branch, one cell each."""
    return tuple(RecordRow(row["offset"], (_cell(row),)) for row in rows)


def _cell(row: Row) -> Cell:
    return Cell(
        row["leader_epoch"],
        row["timestamp"] or "",
        row["record_type"],
        row["record_version"],
        kafka_json(row["record_type"], row["record_version"], row["payload"]),
    )
