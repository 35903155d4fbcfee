"""bronze.log_batches: which captures held a batch, and when it vanished.

`fold` is a pure function of Arrow tables: of the rows so far, and of the batches of one more
capture. The result doesn't depend on the order in which captures are ingested, because captured_at
alone orders them. Spans with the newest capture have no end, so the row of a batch stays as it is
while each new capture has the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.bronze.batch_spans import FOLDED_COLUMNS, HELD_BY, FoldedCapture, folded
from pipelines.tables.bronze import LOG_BATCHES
from pipelines.tables.keys import BATCH_KEYS, REPLICA_KEYS, replica_of
from replica.model.keys import ReplicaId

Moments = Mapping[ReplicaId, FoldedCapture]
"""The captures of a round, by replica."""
_FACTS = (
    "last_offset", "is_control", "record_count", "size_bytes", "position",
    "base_timestamp", "max_timestamp", "file",
)  # fmt: skip
_TIME = pa.timestamp("us", "UTC")
_SEEN = (*BATCH_KEYS, *_FACTS, "crc_valid", "held")
_PREFERRED = ("held", "nearness", *_FACTS, "crc_valid")
"""The columns by which one of several places of a batch is chosen: the place with the largest
values in these columns, compared in this order."""


def fold(known: pa.Table, batches: pa.Table, moments: Moments) -> pa.Table:
    """The rows that the capture adds or changes, in LOG_BATCHES' Arrow schema.

    known: the rows of LOG_BATCHES that the capture may change. batches: the batches of the capture
    that were read, with the columns of LOG_BATCHES that kraft_log has.
    """
    seen = one_row_per_batch(_with_held(batches), _kept(known, moments))
    new_at, old_at = _pairs(seen, known)
    is_newest = _newest(seen, moments)[new_at]
    is_first = (old_at < 0) & is_newest
    first = _first_rows(seen.take(pa.array(new_at[is_first])), moments)
    others = ~is_first & ~(is_newest & _goes_on(seen, known, new_at, old_at))
    changed = _folded_rows(seen, known, new_at[others], old_at[others], moments)
    return pa.concat_tables([first, changed])


def one_row_per_batch(batches: pa.Table, kept: pa.Table) -> pa.Table:
    """One row for each batch. A batch in several files has the row of its .log file. Both tables
    have the column `held`: whether a .log file (not .log.deleted) holds the batch undamaged."""
    rows = pa.concat_tables([batches.select(_SEEN), kept.select(_SEEN)]).combine_chunks()
    rows = rows.append_column("nearness", pc.negate(rows["position"]))
    order = pc.sort_indices(rows, sort_keys=[(name, "descending") for name in _PREFERRED])
    rows = rows.take(order).select(_SEEN)
    numbered = rows.select(BATCH_KEYS).append_column("row", pa.array(np.arange(rows.num_rows)))
    best = numbered.group_by(list(BATCH_KEYS)).aggregate([("row", "min")])["row_min"]
    return rows.take(best)


def _with_held(batches: pa.Table) -> pa.Table:
    in_log = pc.invert(pc.ends_with(batches["file"], ".deleted"))
    return batches.append_column("held", pc.and_(batches["crc_valid"], in_log))


def _kept(known: pa.Table, moments: Moments) -> pa.Table:
    """Rows of batches that the log still has, in bytes that were not read again."""
    held = pa.repeat(pa.scalar(True), known.num_rows)
    rows = known.append_column("held", held)
    if not any(moment.still_held for moment in moments.values()):
        return rows.slice(0, 0)
    is_kept = [
        moment is not None
        and any(start <= offset < end for start, end in moment.still_held)
        and any(span["to"] is None for span in in_log)
        for moment, offset, in_log in zip(
            _moments_of(known, moments),
            known["base_offset"].to_pylist(),
            known["in_log"].to_pylist(),
            strict=True,
        )
    ]
    return rows.filter(pa.array(is_kept, pa.bool_()))


def _pairs(seen: pa.Table, known: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """The full join of both tables by their keys, as row numbers; -1 where a table
    lacks the key."""
    keys = list(BATCH_KEYS)
    new = seen.select(keys).append_column("new", pa.array(np.arange(seen.num_rows)))
    old = known.select(keys).append_column("old", pa.array(np.arange(known.num_rows)))
    both = new.join(old, keys=keys, join_type="full outer")
    both = both.sort_by([("new", "ascending"), ("old", "ascending")])
    new_at, old_at = (both[name].fill_null(-1).to_numpy() for name in ("new", "old"))
    return new_at.astype(np.int64), old_at.astype(np.int64)


def _moments_of(rows: pa.Table, moments: Moments) -> list[FoldedCapture | None]:
    columns = [rows[name].to_pylist() for name in REPLICA_KEYS]
    return [moments.get(ReplicaId(*replica)) for replica in zip(*columns, strict=True)]


def _goes_on(seen: pa.Table, known: pa.Table, new_at: np.ndarray, old_at: np.ndarray) -> np.ndarray:
    """For each pair, whether the log held the batch before and holds it in this capture. Where this
    capture is the newest, the row of such a batch stays as it is. So `folded` isn't called for
    millions of rows."""
    held = np.append(seen["held"].to_numpy(), False)
    was_held = np.append(_is_open(known["in_log"].combine_chunks()), False)
    goes_on: np.ndarray = held[new_at] & was_held[old_at]
    return goes_on


def _is_open(spans: pa.ListArray) -> np.ndarray:
    """For each row, whether its last span has no end."""
    if isinstance(spans, pa.ChunkedArray):  # the table may have no rows
        return np.zeros(0, np.bool_)
    ends = spans.offsets.to_numpy()[1:]
    last = np.where(np.diff(spans.offsets.to_numpy()) > 0, ends - 1, -1)
    no_end = np.append(pc.is_null(spans.values.field("to")).to_numpy(zero_copy_only=False), False)
    found: np.ndarray = no_end[last]
    return found


def _newest(seen: pa.Table, moments: Moments) -> np.ndarray:
    """For each row, whether its replica's newest capture has it. A last item, False, stands for no
    row."""
    is_newest = {replica: moment.next_at is None for replica, moment in moments.items()}
    return np.append(_by_replica(seen, is_newest, False), False)


def _by_replica(rows: pa.Table, values: Mapping[ReplicaId, Any], default: Any) -> np.ndarray:
    """The value of each row's replica; `default` where `values` lacks the replica. Whole columns
    are computed, so more replicas take hardly more time."""
    if not rows.num_rows:
        return np.zeros(0, np.array([default]).dtype)
    codes = np.zeros(rows.num_rows, np.int64)
    for name in REPLICA_KEYS:
        column = rows[name].combine_chunks().dictionary_encode()
        codes = codes * len(column.dictionary) + column.indices.to_numpy()
        codes = np.unique(codes, return_inverse=True)[1]
    first = np.unique(codes, return_index=True)[1]
    replicas = rows.select(REPLICA_KEYS).take(pa.array(first)).to_pylist()
    found: np.ndarray = np.array([values.get(replica_of(row), default) for row in replicas])[codes]
    return found


def _first_rows(seen: pa.Table, moments: Moments) -> pa.Table:
    """The rows of batches that no earlier capture has, where no later capture is known. They are
    equal to the rows of `folded`. A large log has millions of them, so they are made by columns."""
    micros = {replica: pa.scalar(moment.at, _TIME).value for replica, moment in moments.items()}
    at = _by_replica(seen, micros, 0)
    schema = LOG_BATCHES.arrow_schema
    times = pa.array(at, _TIME)
    cells = {name: seen[name] for name in (*BATCH_KEYS, *_FACTS, "crc_valid")}
    cells["first_seen"] = times
    for name in ("last_seen", "truncated_at", "removed_at"):
        cells[name] = pa.nulls(seen.num_rows, schema.field(name).type)
    for name, condition in HELD_BY.items():
        held = np.ones(seen.num_rows, np.bool_) if condition is None else seen[condition].to_numpy()
        cells[name] = _open_spans(times, held, schema.field(name).type)
    return pa.table([cells[field.name].cast(field.type) for field in schema], schema=schema)


def _open_spans(begin: pa.Array, held: np.ndarray, kind: pa.DataType) -> pa.ListArray:
    """For each row a span from `begin` on without an end, or no span where the batch isn't held."""
    chosen = begin.filter(pa.array(held))
    parts = [chosen, pa.nulls(len(chosen), chosen.type)]
    fields = [kind.value_type.field(number) for number in range(2)]
    spans = pa.StructArray.from_arrays(parts, fields=fields)
    ends = np.concatenate([[0], np.cumsum(held)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), spans, type=kind)


def _folded_rows(
    seen: pa.Table, known: pa.Table, new_at: np.ndarray, old_at: np.ndarray, moments: Moments
) -> pa.Table:
    """The folded rows of pairs of a new and a known row, without rows that the
    table has already."""
    new_rows = _rows(seen, new_at)
    old_rows = _rows(known, old_at)
    changed = []
    for new, old in zip(new_rows, old_rows, strict=True):
        either = old or new
        assert either is not None, "a pair has one of both"
        moment = moments.get(replica_of(either))
        if moment is None:
            continue
        facts = {name: either[name] for name in (*BATCH_KEYS, *_FACTS)}
        row = facts | folded(either["base_offset"], old, new, moment)
        if old is None or any(row[name] != old[name] for name in FOLDED_COLUMNS):
            changed.append(row)
    return pa.Table.from_pylist(changed, schema=LOG_BATCHES.arrow_schema)


def _rows(table: pa.Table, numbers: np.ndarray) -> Sequence[dict[str, Any] | None]:
    """The table's rows at the places `numbers`; None for each place -1."""
    missing = numbers < 0
    rows = table.take(pa.array(numbers, pa.int64(), mask=missing)).to_pylist()
    return [None if gone else row for gone, row in zip(missing.tolist(), rows, strict=True)]
