"""Facts about the batches and records of the agreed branch, which add up over its pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cluster.batches import NO_TIME, Longs, longs, times_of
from pipelines.cluster.branch import BranchBatches

ENVELOPE_BYTES = 7
"""The bytes of a record besides its value: its length, attributes, two deltas, the lengths of key
and value, and the number of headers, each of one byte at least."""
_HOUR_US = 3_600_000_000
_US_PER_MS = 1000
_FRACTION_BITS = 30

GROWTH = pa.schema([
    ("hour", pa.int64()), ("record_type", pa.string()), ("records", pa.int64()),
    ("bytes", pa.int64()), ("fraction", pa.int64()),
])  # fmt: skip
"""A row for the records of one hour and one type. hour: its start in us since 1970 (UTC), NULL
where unknown. Their share of their batches' bytes is bytes + fraction * 2**-30."""
SIZES = pa.schema([
    ("hour", pa.int64()), ("size_bytes", pa.int64()), ("batches", pa.int64()),
    ("records", pa.int64()), ("most_records", pa.int64()), ("first", pa.int64()),
])  # fmt: skip
"""A row for the batches of one hour and one size: how many they are, how many records they have,
the most records of one of them, and their lowest base offset."""


class BranchQuestions(NamedTuple):
    """The questions about the batches of the agreed branch, which BranchFacts answers."""

    marks: tuple[int, ...] = ()
    """Offsets: BranchFacts.below counts what begins below each of them."""
    recent_ms: int = 0
    """The time from which on batches count as recent (see Recent), in ms since 1970 (UTC)."""


class Recent(NamedTuple):
    """The recent batches: those whose newest record is not older than BranchQuestions.recent_ms."""

    least_ms: int | None
    """The lowest time of a batch's newest record, in ms since 1970; None without recent batches."""
    size_bytes: int
    """The bytes of the recent batches."""


class BranchFacts(NamedTuple):
    """What the batches and records of the agreed branch add up to: the answers to
    BranchQuestions."""

    growth: pa.Table
    """Rows of GROWTH."""
    sizes: pa.Table
    """Rows of SIZES."""
    below: Mapping[int, tuple[int, int]]
    """For each mark: the bytes and the number of offsets of the batches that begin below it."""
    recent: Recent
    passed_over: Mapping[int, int]
    """How many of the branch's records the replay passes over, by their api key."""


def facts_of(found: BranchBatches, records: pa.Table, asked: BranchQuestions) -> BranchFacts:
    """The facts about one piece of the branch; passed_over is empty. records: the records of the
    piece's batches, as the replicas have them."""
    is_agreed = found.branch.low == found.batches.base_offset[found.places]
    places = found.places[is_agreed]
    batches = found.batches
    times = batches.max_timestamp[places]
    sizes, base = batches.size_bytes[places], batches.base_offset[places]
    spans = batches.last_offset[places] + 1 - base
    below = {
        mark: (int(sizes[base < mark].sum()), int(spans[base < mark].sum())) for mark in asked.marks
    }
    return BranchFacts(
        _growth(found, is_agreed, records),
        _sizes(times, sizes, batches.record_count[places], base),
        below,
        _recent(times, sizes, asked.recent_ms),
        {},
    )


def _recent(times: Longs, sizes: Longs, recent_ms: int) -> Recent:
    at = times[times != NO_TIME] // _US_PER_MS
    is_recent = at >= recent_ms
    least = int(at[is_recent].min()) if is_recent.any() else None
    return Recent(least, int(sizes[times != NO_TIME][is_recent].sum()))


def _growth(found: BranchBatches, is_agreed: np.ndarray, records: pa.Table) -> pa.Table:
    base, epochs, crcs = (longs(records[one]) for one in ("base_offset", "leader_epoch", "crc"))
    at = found.branch.places(base)
    mine = found.branch.has(base, epochs, crcs) & is_agreed[at]
    of_replica = np.zeros(records.num_rows, bool)
    for code in np.unique(found.batches.replica[found.places]).tolist():
        one = found.batches.replicas[code]
        is_it = pc.and_(
            pc.equal(records["node_id"], one.node_id),
            pc.equal(records["directory_id"], one.directory_id),
        ).to_numpy(zero_copy_only=False)
        of_replica |= is_it & (found.batches.replica[found.places][at] == code)
    kept = np.flatnonzero(mine & of_replica)
    rows = records.select(["timestamp", "record_type", "value"]).take(pa.array(kept))
    lengths = longs(pc.fill_null(pc.binary_length(rows["value"]), 0)) + ENVELOPE_BYTES
    place = at[kept]
    whole = np.bincount(place, lengths, minlength=len(found.places)).astype(np.int64)[place]
    parts = found.batches.size_bytes[found.places][place] * lengths
    table = pa.table({
        "hour": _hours(times_of(rows["timestamp"])),
        "record_type": rows["record_type"],
        "records": np.ones(len(kept), np.int64),
        "bytes": parts // whole,
        "fraction": ((parts % whole) << _FRACTION_BITS) // whole,
    })  # fmt: skip
    return _added_growth([table])


def _sizes(times: Longs, sizes: Longs, records: Longs, base: Longs) -> pa.Table:
    table = pa.table({
        "hour": _hours(times), "size_bytes": sizes, "batches": np.ones(len(sizes), np.int64),
        "records": records, "most_records": records, "first": base,
    })  # fmt: skip
    return _added_sizes([table])


def _hours(times: Longs) -> pa.Array:
    return pa.array(times // _HOUR_US * _HOUR_US, pa.int64(), mask=times == NO_TIME)


def summed_facts(facts: Iterable[BranchFacts]) -> BranchFacts:
    """The facts of all pieces as those of the whole branch."""
    some = [*facts]
    below: dict[int, tuple[int, int]] = {}
    for one in some:
        for mark, (size, offsets) in one.below.items():
            before = below.get(mark, (0, 0))
            below[mark] = before[0] + size, before[1] + offsets
    known = [one.recent.least_ms for one in some if one.recent.least_ms is not None]
    recent = Recent(min(known, default=None), sum(one.recent.size_bytes for one in some))
    passed_over: Counter[int] = Counter()
    for one in some:
        passed_over.update(one.passed_over)
    return BranchFacts(
        _added_growth([one.growth for one in some]),
        _added_sizes([one.sizes for one in some]),
        below,
        recent,
        dict(passed_over),
    )


def _added_growth(parts: Sequence[pa.Table]) -> pa.Table:
    sums = [(name, "sum") for name in ("records", "bytes", "fraction")]
    return _grouped(parts, GROWTH, ["hour", "record_type"], sums)


def _added_sizes(parts: Sequence[pa.Table]) -> pa.Table:
    sums = [("batches", "sum"), ("records", "sum"), ("most_records", "max"), ("first", "min")]
    return _grouped(parts, SIZES, ["hour", "size_bytes"], sums)


def _grouped(
    parts: Sequence[pa.Table], schema: pa.Schema, keys: list[str], sums: list[tuple[str, str]]
) -> pa.Table:
    if not parts:
        return schema.empty_table()
    rows = pa.concat_tables(parts).group_by(keys).aggregate(sums)
    names = {f"{name}_{how}": name for name, how in sums}
    rows = rows.rename_columns([names.get(name, name) for name in rows.column_names])
    return rows.select(schema.names).cast(schema).sort_by([(key, "ascending") for key in keys])


def rounded_bytes(size: int, fraction: int) -> int:
    """The bytes of a row of GROWTH, rounded to the nearest whole number, a half upwards."""
    return size + ((fraction + (1 << (_FRACTION_BITS - 1))) >> _FRACTION_BITS)
