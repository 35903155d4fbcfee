"""silver.log_runs: contiguous batches of one epoch that the same captures of the same replicas
held.

A log of ten million batches becomes some hundred runs, because the logs of a quorum differ at few
places. The tables derived from logs treat a run as one batch: they need its offsets, its epoch, and
which replicas held it at which times. A batch is a run of its own if it is a control batch, if its
header claims other offsets than its records have, or if another batch of its epoch has its offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cluster.batches import NO_TIME, Longs, longs, times_of
from pipelines.tables.keys import REPLICA_KEYS
from pipelines.tables.silver import LOG_RUNS

COLUMNS = (
    *REPLICA_KEYS, "base_offset", "leader_epoch", "crc",
    "last_offset", "is_control", "record_count", "size_bytes", "crc_valid", "max_timestamp",
    "last_seen", "truncated_at", "in_log",
)  # fmt: skip
"""The columns of bronze.log_batches that runs are made from."""
_IDS = ("base_offset", "last_offset", "leader_epoch", "crc", "size_bytes")
_TIME = pa.timestamp("us", tz="UTC")


def log_runs(rows: pa.Table) -> pa.Table:
    """The runs of a cluster's batches, as rows of silver.log_runs, ascending by offset.

    rows: COLUMNS of bronze.log_batches. With a column `batches`, a row stands for that many batches
    (see `rows_of_runs`), so that runs of neighbouring offsets can be joined. Batches that no
    capture held undamaged are in no run.
    """
    rows = rows.filter(rows["crc_valid"]).combine_chunks()
    if not rows.num_rows:
        return LOG_RUNS.arrow_schema.empty_table()
    held = _holder_codes(rows)
    ids = [longs(rows[name]) for name in _IDS]
    order = np.lexsort([held, *ids[::-1]])
    changes = np.any([one[order][1:] != one[order][:-1] for one in ids], axis=0)
    firsts = np.append(0, np.flatnonzero(changes) + 1)
    entry = order[firsts]  # one row of each batch
    base, last, epoch, _, size = (one[entry] for one in ids)
    counts = longs(rows["record_count"])[entry]
    whole = np.minimum(base + np.minimum(counts, size), last + 1) == last + 1
    control = rows["is_control"].to_numpy(zero_copy_only=False).astype(bool)[entry]
    same_holders = _codes_of_groups(held[order], firsts)
    alone = control | ~whole | _is_contested(base, last, epoch)
    in_order = np.lexsort([base, epoch])
    begins = np.empty(len(entry), bool)
    begins[in_order] = _begins(*(one[in_order] for one in (base, last, epoch, same_holders, alone)))
    begins[in_order] |= _at_edges(base[in_order], last[in_order], begins[in_order])
    starts = np.flatnonzero(begins[in_order])
    return _table(rows, in_order, starts, entry, order, firsts)


def _begins(base: Longs, last: Longs, epoch: Longs, holders: Longs, alone: Longs) -> Longs:
    """Which batches, ascending by epoch and offset, begin a run."""
    begins = np.ones(len(base), bool)
    begins[1:] = (
        (base[1:] != last[:-1] + 1)
        | (epoch[1:] != epoch[:-1])
        | (holders[1:] != holders[:-1])
        | alone[1:]
        | alone[:-1]
    )
    return begins


def _at_edges(base: Longs, last: Longs, begins: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which batches begin after the edge of a run of any epoch. The agreed branch may leave a run
    there."""
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(base)) - 1
    edges = np.unique(np.concatenate([base[starts], last[ends] + 1]))
    passed = np.searchsorted(edges, base, side="right")
    return np.append(True, passed[1:] != passed[:-1])


def _is_contested(base: Longs, last: Longs, epoch: Longs) -> npt.NDArray[np.bool_]:
    """Which batches share an offset with another batch of their epoch."""
    order = np.lexsort([last, base, epoch])
    first, end, of = base[order], last[order], epoch[order]
    found = np.zeros(len(base), bool)
    bounds = [0, *(np.flatnonzero(of[1:] != of[:-1]) + 1).tolist(), len(of)]
    for start, stop in pairwise(bounds):
        reach = np.maximum.accumulate(end[start:stop])
        apart = np.append(True, first[start + 1 : stop] > reach[:-1])
        group = np.cumsum(apart) - 1
        found[order[start:stop]] = np.bincount(group)[group] > 1
    return found


def _table(
    rows: pa.Table, in_order: Longs, starts: Longs, entry: Longs, order: Longs, firsts: Longs
) -> pa.Table:
    """The rows of silver.log_runs. starts: the first batch of each run, as an index into
    `in_order`."""

    def added(column: Longs) -> Longs:
        return np.add.reduceat(column[entry][in_order], starts)

    ends = np.append(starts[1:], len(in_order)) - 1
    first_rows, last_rows = entry[in_order][starts], entry[in_order][ends]
    batches = (
        longs(rows["batches"])
        if "batches" in rows.column_names
        else np.ones(rows.num_rows, np.int64)
    )
    times = times_of(rows["max_timestamp"])[entry][in_order]
    newest = np.maximum.reduceat(times, starts)
    bounds = np.append(firsts, len(order))
    of_run = [order[bounds[one] : bounds[one + 1]] for one in in_order[starts].tolist()]
    cells = {
        "cluster_id": rows["cluster_id"].take(pa.array(first_rows)),
        **{
            name: rows[name].take(pa.array(first_rows))
            for name in ("base_offset", "leader_epoch", "crc", "is_control")
        },
        "last_offset": rows["last_offset"].take(pa.array(last_rows)),
        "batches": pa.array(added(batches)),
        "record_count": pa.array(added(longs(rows["record_count"]))),
        "size_bytes": pa.array(added(longs(rows["size_bytes"]))),
        "max_timestamp": pa.array(newest, mask=newest == NO_TIME).cast(_TIME),
        "holders": _holders(rows, of_run),
    }
    schema = LOG_RUNS.arrow_schema
    table = pa.table([_cast(cells[field.name], field.type) for field in schema], schema=schema)
    return table.sort_by([("base_offset", "ascending"), ("leader_epoch", "ascending")])


def _cast(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    found = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    return found.cast(kind)


_OF_HOLDER = ("node_id", "directory_id", "last_seen", "truncated_at", "in_log")


def _holders(rows: pa.Table, of_run: Sequence[Longs]) -> pa.Array:
    """The replicas that held the first batch of each run, as in the column `holders`."""
    places = np.concatenate(of_run)
    taken = rows.select(_OF_HOLDER).take(pa.array(places)).combine_chunks()
    kind = LOG_RUNS.arrow_schema.field("holders").type
    fields = [kind.value_type.field(number) for number in range(kind.value_type.num_fields)]
    parts = [taken[field.name].cast(field.type).combine_chunks() for field in fields]
    parts = [one.chunk(0) if isinstance(one, pa.ChunkedArray) else one for one in parts]
    ends = np.append(0, np.cumsum([len(one) for one in of_run])).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(ends), pa.StructArray.from_arrays(parts, fields=fields), type=kind
    )


def rows_of_runs(runs: pa.Table) -> pa.Table:
    """The runs in the form of bronze.log_batches: a row for each run and each replica that held it,
    with the columns COLUMNS and `batches`. runs: rows of silver.log_runs."""
    runs = runs.combine_chunks()
    if not runs.num_rows:
        empty = {"crc_valid": pa.bool_(), "batches": pa.int64(), "is_control": pa.bool_()}
        return pa.table(
            {
                name: pa.array([], empty.get(name) or _kind_of(name))
                for name in (*COLUMNS, "batches")
            }
        )
    holders = runs["holders"].chunk(0)
    places = pc.list_parent_indices(holders)
    flat = holders.flatten()
    cells = {
        name: flat.field(name)
        if name in _OF_HOLDER
        else pa.repeat(pa.scalar(True), len(flat))
        if name == "crc_valid"
        else runs[name].take(places)
        for name in (*COLUMNS, "batches")
    }
    return pa.table(cells)


def _kind_of(name: str) -> pa.DataType:
    schema = LOG_RUNS.arrow_schema
    if name in schema.names:
        return schema.field(name).type
    return schema.field("holders").type.value_type.field(name).type


def _holder_codes(rows: pa.Table) -> Longs:
    """For each row a number, which is equal for rows of one replica that captures held over the
    same times. The numbers ascend by replica."""
    codes = np.zeros(rows.num_rows, np.int64)
    for name in REPLICA_KEYS:
        codes = _paired(codes, _ranks(rows[name]))
    for name in ("last_seen", "truncated_at"):
        codes = _paired(codes, times_of(rows[name]))
    spans = rows["in_log"].chunk(0) if rows["in_log"].num_chunks else pa.array([], _SPANS)
    starts = spans.offsets.to_numpy()[:-1].astype(np.int64)
    counts = np.diff(spans.offsets.to_numpy()).astype(np.int64)
    first, until = (times_of(spans.values.field(name)) for name in ("from", "to"))
    codes = _paired(codes, counts)
    for number in range(int(counts.max(initial=0))):
        there = np.flatnonzero(counts > number)
        for times in (first, until):
            part = np.full(len(codes), NO_TIME)
            part[there] = times[starts[there] + number]
            codes = _paired(codes, part)
    return codes


_SPANS = LOG_RUNS.arrow_schema.field("holders").type.value_type.field("in_log").type


def _ranks(column: pa.ChunkedArray) -> Longs:
    """For each value its rank among the distinct values."""
    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    encoded = encoded.dictionary_encode()
    order = pc.rank(encoded.dictionary, tiebreaker="dense").to_numpy().astype(np.int64)
    return np.asarray(order[encoded.indices.to_numpy()], np.int64)


def _paired(codes: Longs, values: Longs) -> Longs:
    """A number for each distinct pair, ascending by the first value and then by the second."""
    order = np.lexsort([values, codes])
    is_new = np.zeros(len(order), np.int64)
    is_new[1:] = (codes[order][1:] != codes[order][:-1]) | (values[order][1:] != values[order][:-1])
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(is_new)
    return found


def _codes_of_groups(codes: Longs, firsts: Longs) -> Longs:
    """For each group of neighbouring rows a number, which is equal for groups with the same codes.
    firsts: the first row of each group."""
    counts = np.diff(np.append(firsts, len(codes)))
    found = np.zeros(len(firsts), np.int64)
    found = _paired(found, counts)
    for number in range(int(counts.max(initial=0))):
        there = np.flatnonzero(counts > number)
        part = np.full(len(firsts), -1, np.int64)
        part[there] = codes[firsts[there] + number]
        found = _paired(found, part)
    return found
