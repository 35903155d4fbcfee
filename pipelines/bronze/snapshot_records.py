"""The records of snapshots that bronze.snapshot_records lacks: one task reads each snapshot. The
driver itself updates bronze.snapshots, which has few rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines import delta
from pipelines.bronze import small_tables
from pipelines.bronze.captured import Captured
from pipelines.bronze.files import snapshots, source_of
from pipelines.bronze.log_ranges import Row, owned, split
from pipelines.bronze.new_records import (
    APPLICATION,
    DecodedPart,
    Keep,
    append_decoded,
    decoded_into,
)
from pipelines.delta import PendingAppend
from pipelines.delta.task_files import Writing
from pipelines.dialects import DATA_FUSION, Sql
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Grain
from pipelines.sources import rows
from pipelines.sources.files import SourceFile
from pipelines.sources.kraft_log import SNAPSHOT_COLUMNS
from pipelines.sources.ranges import DEFAULT_RANGE_BYTES, plan, range_source
from pipelines.tables.bronze import SNAPSHOT_RECORDS, SNAPSHOTS
from pipelines.tables.keys import SNAPSHOT_KEYS, snapshot_key
from replica.format.directory import SnapshotFile
from replica.metadata.redact import Redactor
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaId

_UNREADABLE = ["file", "position", "error", "value"]


@dataclass(frozen=True, slots=True)
class SnapshotCopy:
    """A snapshot's copy, its replica, and the hash of its content as the lake shows it."""

    file: SourceFile
    replica: ReplicaId
    id: OffsetAndEpoch
    content_sha256: str

    @property
    def key(self) -> tuple[object, ...]:
        """The values of SNAPSHOT_KEYS in the rows of this snapshot."""
        return (*astuple(self.replica), *astuple(self.id), self.content_sha256)


def write_snapshot_records(
    lake: delta.Lake,
    new: Sequence[tuple[Captured, SnapshotFile]],
    redactor: Redactor | None,
    runner: Runner,
    keep_unreadable: Keep,
) -> int:
    """Append the records of snapshots that the table doesn't have, in one commit. Gives their
    number. The parameters and errors are those of pipelines.bronze.new_records.write_new_records.
    """
    append = PendingAppend.begun(lake, SNAPSHOT_RECORDS)
    parts = _lacking(append, [_part(one, snapshot) for one, snapshot in new])
    decode = partial(_record_batches, redactor=redactor)
    decoding = partial(decoded_into, decode=decode)
    stage: Writing[SnapshotCopy, DecodedPart] = Writing(
        "decode snapshots", Grain.FILE_RANGE, decoding, SNAPSHOT_RECORDS.name
    )
    return append_decoded(append, runner, stage, parts, keep_unreadable).rows


def _record_batches(
    part: SnapshotCopy, unreadable: list[Row], *, redactor: Redactor | None
) -> Iterator[pa.RecordBatch]:
    """The rows of the snapshot's records that could be read, one for each index.

    unreadable: this list gets REPLICA_KEYS, file, position, error and value of records that could
    not be read.
    """
    seen = np.zeros(0, np.int64)
    name = (part.id.offset, part.id.epoch)
    for piece in plan([part.file], DEFAULT_RANGE_BYTES):
        with range_source(piece) as data:
            for batch in rows.snapshot_records(data, piece, redactor, name, SNAPSHOT_COLUMNS):
                readable, bad = split(batch)
                unreadable.extend(owned(bad.select(_UNREADABLE), part.replica).to_pylist())
                indexes = readable.column("index").to_numpy()
                is_first = _first_ones(indexes, seen)
                seen = np.concatenate([seen, indexes])
                mine = owned(readable.filter(pa.array(is_first)), part.replica)
                hashes = pa.repeat(pa.scalar(part.content_sha256, pa.string()), mine.num_rows)
                mine = mine.append_column("content_sha256", hashes)
                yield mine.select(SNAPSHOT_RECORDS.column_names)


def _first_ones(indexes: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """For each index, whether it comes for the first time. A damaged snapshot may have an index
    twice."""
    is_first = np.zeros(len(indexes), np.bool_)
    is_first[np.unique(indexes, return_index=True)[1]] = True
    if len(indexes) and len(seen) and indexes.min() <= seen.max():
        is_first &= ~np.isin(indexes, seen)
    return is_first


def _part(one: Captured, snapshot: SnapshotFile) -> SnapshotCopy:
    assert snapshot.id is not None, "bootstrap.checkpoint has no id and is no row"
    capture = one.capture
    file = source_of(capture, snapshot.file)
    return SnapshotCopy(file, capture.replica, snapshot.id, capture.shown_hash(snapshot.file))


def _lacking(append: PendingAppend, parts: Sequence[SnapshotCopy]) -> list[SnapshotCopy]:
    """The snapshots whose records the table lacks. All records of a snapshot come in one commit, so
    the table has all of them or none."""
    if not parts:
        return []
    hashes = DATA_FUSION.literals(sorted({part.content_sha256 for part in parts}))
    names = ", ".join(SNAPSHOT_KEYS)
    query = f"SELECT DISTINCT {names} FROM t WHERE content_sha256 IN ({hashes})"
    found = delta.answer(append.lake, SNAPSHOT_RECORDS, query, append.version)
    known = set(map(snapshot_key, found.to_pylist()))
    return [part for part in parts if part.key not in known]


_Key = tuple[object, ...]
CHANGED_COLUMNS = ("file", "state", "first_seen", "last_seen", "captures")
"""The columns that another capture of a known snapshot changes."""


def new_snapshots(
    lake: delta.Lake | None, captured: Sequence[Captured]
) -> list[tuple[Captured, SnapshotFile]]:
    """The snapshots that were read and that the table lacks. lake: None where it has no
    tables yet."""
    unknown: dict[_Key, tuple[Captured, SnapshotFile]] = {}
    for one, snapshot in snapshots(captured):
        if not snapshot.scan.sparse_until:
            key = snapshot_key(small_tables.snapshot_row(one, snapshot))
            unknown.setdefault(key, (one, snapshot))
    if not unknown or lake is None:
        return list(unknown.values())
    for row in delta.values(lake, SNAPSHOTS, SNAPSHOT_KEYS, _with_hashes_of(unknown)):
        unknown.pop(tuple(row.values()), None)
    return list(unknown.values())


def _with_hashes_of(keys: Iterable[_Key]) -> Sql:
    """SQL condition for the rows of bronze.snapshots whose content has the hash in one of these
    keys. There is at least one key."""
    at = SNAPSHOT_KEYS.index("content_sha256")
    return f"content_sha256 IN ({DATA_FUSION.literals(sorted({str(key[at]) for key in keys}))})"


def write_snapshots(lake: delta.Lake, captured: Sequence[Captured]) -> int:
    """Updates bronze.snapshots with the snapshots of the captures. Gives the number of added
    rows."""
    rows: dict[_Key, Mapping[str, Any]] = {}
    for one, snapshot in snapshots(captured):
        row = small_tables.snapshot_row(one, snapshot)
        rows.setdefault(snapshot_key(row), row)
    if not rows:
        return 0
    seen = delta.version(lake, SNAPSHOTS)
    known = {
        key: row
        for row in delta.values(lake, SNAPSHOTS, SNAPSHOTS.column_names, _with_hashes_of(rows))
        if (key := snapshot_key(row)) in rows
    }
    if not known:
        return delta.add_values(lake, SNAPSHOTS, [*rows.values()], [APPLICATION], seen).rows
    both = [seen_again(known[key], row) if key in known else row for key, row in rows.items()]
    changed = [row for row in both if row != known.get(snapshot_key(row))]
    table = pa.Table.from_pylist(changed, SNAPSHOTS.arrow_schema)
    return delta.merge_values(lake, SNAPSHOTS, table, seen, columns=CHANGED_COLUMNS)


def seen_again(known: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a snapshot in the table after one more capture with the snapshot: a pure function.
    known: the row so far. row: the row that this capture alone would give."""
    latest = row if row["last_seen"] >= known["last_seen"] else known
    return {
        **known,
        "file": latest["file"],
        "state": latest["state"],
        "first_seen": min(known["first_seen"], row["first_seen"]),
        "last_seen": max(known["last_seen"], row["last_seen"]),
        "captures": [*dict.fromkeys([*known["captures"], *row["captures"]])],
    }
