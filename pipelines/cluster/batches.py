"""The batches of one cluster as columns: a million batches take 100 MB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cluster.rows import EPOCH, MICROSECOND, from_microseconds
from pipelines.tables.keys import BATCH_KEYS, REPLICA_KEYS
from replica.model.keys import ReplicaId

Longs = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]
"""Indexes of batches in the columns of Batches."""

NO_TIME = -(1 << 63)
"""Stands for None in columns of times, which are microseconds since 1970 (UTC)."""
_OPEN = (1 << 63) - 1
"""The end of a span that is still open."""
_NUMBERS = ("base_offset", "last_offset", "leader_epoch", "crc", "record_count", "size_bytes")

COLUMNS = (
    *BATCH_KEYS,
    "last_offset", "record_count", "size_bytes", "crc_valid",
    "max_timestamp", "last_seen", "truncated_at", "in_log",
)  # fmt: skip
"""The columns of bronze.log_batches that Batches is made from."""


@dataclass(frozen=True)
class _Spans:
    """The times over which captures held batches: a span for each index, both ends inclusive."""

    place: Places
    first: Longs
    last: Longs


@dataclass(frozen=True)
class Batches:
    """Batches, sorted by replica, base offset, last offset, epoch and digest."""

    replicas: tuple[ReplicaId, ...]
    """The replicas in the order of their keys."""
    replica: Longs
    """The index of each batch's replica in `replicas`."""
    base_offset: Longs
    last_offset: Longs
    leader_epoch: Longs
    crc: Longs
    record_count: Longs
    size_bytes: Longs
    max_timestamp: Longs
    """Microseconds since 1970 (UTC), or NO_TIME."""
    is_sound: npt.NDArray[np.bool_]
    """Whether any capture held the batch undamaged."""
    other_columns: pa.Table
    """The other columns of COLUMNS. Where the batches are runs of batches
    (pipelines.silver.log_runs), the column `batches` has the number of batches in each run."""

    @staticmethod
    def of(rows: pa.Table) -> Batches:
        """Batches from COLUMNS of a cluster's rows in bronze.log_batches."""
        replicas, replica = _replicas(rows)
        numbers = {name: longs(rows[name]) for name in _NUMBERS}
        digest = digests(numbers["crc"], numbers["size_bytes"])
        keys = [digest, *(numbers[name] for name in ("leader_epoch", "last_offset", "base_offset"))]
        order = np.lexsort([*keys, replica])
        return Batches(
            replicas,
            replica[order],
            **{name: column[order] for name, column in numbers.items()},
            max_timestamp=times_of(rows["max_timestamp"])[order],
            is_sound=rows["crc_valid"].to_numpy().astype(bool)[order],
            other_columns=rows.select([n for n in _OTHER_COLUMNS if n in rows.column_names]).take(
                pa.array(order)
            ),
        )

    def __len__(self) -> int:
        return len(self.base_offset)

    @cached_property
    def entries_end(self) -> Longs:
        """The end (exclusive) of each batch's offsets. A batch has at most as many offsets as
        bytes, because each record takes a byte at least; its header may claim more."""
        records = np.minimum(self.record_count, self.size_bytes)
        return np.minimum(self.last_offset + 1, self.base_offset + records)

    def at(self, places: Places) -> Batches:
        """The batches at these indexes, in the order of the indexes, without `other_columns`."""
        columns = {
            one.name: getattr(self, one.name)[places]
            for one in fields(self)
            if one.name not in ("replicas", "other_columns")
        }
        return Batches(self.replicas, **columns, other_columns=self.other_columns.slice(0, 0))

    def of_replica(self, replica: ReplicaId) -> slice:
        """The indexes of a replica's batches, which follow one another."""
        if replica not in self._codes:
            return slice(0, 0)
        code = self._codes[replica]
        first, end = np.searchsorted(self.replica, [code, code + 1])
        return slice(int(first), int(end))

    @cached_property
    def _codes(self) -> dict[ReplicaId, int]:
        return {replica: code for code, replica in enumerate(self.replicas)}

    def place_of(self, key: tuple[Any, ...]) -> int | None:
        """The index of the batch with these values of BATCH_KEYS; None where there is no such
        batch."""
        _, _, _, base_offset, leader_epoch, crc = key
        mine = self.of_replica(ReplicaId(*key[:3]))
        first, end = mine.start + np.searchsorted(
            self.base_offset[mine], [base_offset, base_offset + 1]
        )
        for place in range(int(first), int(end)):
            if (self.leader_epoch[place], self.crc[place]) == (leader_epoch, crc):
                return place
        return None

    def identity(self, place: int) -> tuple[int, int, int]:
        """(base_offset, leader_epoch, crc) of a batch, which are the same on all replicas."""
        columns = self.base_offset, self.leader_epoch, self.crc
        base_offset, leader_epoch, crc = (int(column[place]) for column in columns)
        return base_offset, leader_epoch, crc

    def first_held(self, place: int) -> datetime:
        """The first time at which a capture held the batch."""
        spans = self._spans
        first = np.searchsorted(spans.place, place)
        return from_microseconds(int(spans.first[first]))

    @cached_property
    def held(self) -> Places:
        """The batches that the .log files of some capture held. The others were only in
        .log.deleted files."""
        return np.unique(self._spans.place)

    def is_one(self, place: int) -> bool:
        """Whether the index is that of a single batch, and not of a run of several."""
        if "batches" not in self.other_columns.column_names:
            return True
        return bool(self.other_columns["batches"][place].as_py() == 1)

    def held_at(self, replica: ReplicaId, moment: datetime) -> Places:
        """The batches that the replica's log held undamaged at a moment, sorted by offset."""
        spans = self._spans
        mine = self.of_replica(replica)
        bounds = np.searchsorted(spans.place, [mine.start, mine.stop])
        some = slice(int(bounds[0]), int(bounds[1]))
        at = (moment - EPOCH) // MICROSECOND
        covers = (spans.first[some] <= at) & (at <= spans.last[some])
        return np.unique(spans.place[some][covers])

    @cached_property
    def _spans(self) -> _Spans:
        spans = self.other_columns["in_log"].combine_chunks()
        place = pc.list_parent_indices(spans).to_numpy().astype(np.int64)
        flat = spans.flatten()
        last = times_of(flat.field("to"))
        last[last == NO_TIME] = _OPEN
        return _Spans(place, times_of(flat.field("from")), last)

    @cached_property
    def entries(self) -> Longs:
        """For each batch a number that is the same for equal batches of several replicas, and
        differs for others."""
        digest = digests(self.crc, self.size_bytes)
        columns = np.stack([self.base_offset, self.last_offset, self.leader_epoch, digest], axis=1)
        _, codes = np.unique(columns, axis=0, return_inverse=True)
        return np.asarray(codes.reshape(-1), np.int64)

    def in_log(self, places: Places) -> Places:
        """The indexes of the batches that replica.history compares. Batches that begin within
        another batch are left out: Kafka leaves no such batches, but a copy may. places: the
        indexes of one log's batches, ascending."""
        kept = places[self.last_offset[places] >= self.base_offset[places]]
        if (self.base_offset[kept][1:] <= self.last_offset[kept][:-1]).any():
            kept = kept[_apart(self.base_offset[kept].tolist(), self.last_offset[kept].tolist())]
        return kept


def _replicas(rows: pa.Table) -> tuple[tuple[ReplicaId, ...], Longs]:
    """The replicas in the order of their keys, and the index of each row's replica among them."""
    codes = np.zeros(rows.num_rows, np.int64)
    for name in REPLICA_KEYS:
        encoded = rows[name].combine_chunks().dictionary_encode()
        codes = codes * (len(encoded.dictionary) + 1) + encoded.indices.to_numpy()
    _, firsts, of_row = np.unique(codes, return_index=True, return_inverse=True)
    found = [ReplicaId(**one) for one in rows.select([*REPLICA_KEYS]).take(firsts).to_pylist()]
    replicas = tuple(sorted(found))
    ranks = np.array([replicas.index(one) for one in found], np.int64)
    return replicas, ranks[of_row.reshape(-1)]


_OTHER_COLUMNS = ("last_seen", "truncated_at", "in_log", "batches")


def digests(crc: Longs, size_bytes: Longs) -> Longs:
    """CRC and size of each batch in one number: a CRC has 32 bits, and a size, which is an int32
    and not negative, has 31."""
    return (crc << 31) | size_bytes


def _apart(starts: Sequence[int], lasts: Sequence[int]) -> list[int]:
    """The indexes of the ranges that don't begin within an earlier one."""
    kept, end = [], -1
    for index, (start, last) in enumerate(zip(starts, lasts, strict=True)):
        if start > end:
            end = last
            kept.append(index)
    return kept


def longs(column: pa.ChunkedArray) -> Longs:
    """A column of whole numbers without NULL."""
    return np.asarray(column.cast(pa.int64()).to_numpy(), np.int64)


def times_of(column: pa.ChunkedArray | pa.Array) -> Longs:
    """Microseconds since 1970 (UTC), NO_TIME for None."""
    numbers = column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).fill_null(NO_TIME)
    return np.array(numbers.to_numpy(), np.int64)


def first_of_each(keys: Sequence[Longs], then: Sequence[Longs] = ()) -> Places:
    """The first index of each combination of `keys`, ascending by them. Of equal keys, the index
    that is least by `then` comes first, and then the lowest index."""
    order = np.lexsort([*keys, *then][::-1])
    is_new = np.ones(len(order), bool)
    if len(order):
        is_new[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    return np.asarray(order[is_new], np.int64)
