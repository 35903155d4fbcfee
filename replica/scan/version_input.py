"""The input of replica.scan.partition_versions: the values of records, with the offset, time and
epoch of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from replica.scan import frames, tables
from replica.scan import version_tables as v
from replica.scan.columns import stored_bytes
from replica.scan.native import Bytes, Longs, flat

MOST_ROWS = frames.ROWS
RECORD_TYPES = ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD")
"""The record types that the kernel replays. A version names its record type by the index in this
list."""
_OF_TOPICS = ("TOPIC_RECORD", "REMOVE_TOPIC_RECORD")

NOWHEN = -(1 << 63)
"""The time of a record without a time."""


def _types_of_programs() -> Longs:
    """The index of each program's record type in RECORD_TYPES; -1 for records of topics, -2 for all
    others."""
    places = {name: place for place, name in enumerate(RECORD_TYPES)}
    places |= dict.fromkeys(_OF_TOPICS, -1)
    names = (program.schema.name for program in tables.KERNEL_PROGRAMS)
    return np.array([places.get(name, -2) for name in names], np.int64)


_TYPES = _types_of_programs()
_PROGRAMS = tables.program_table(keep_secrets=True)


@dataclass(frozen=True)
class VersionRows:
    """Up to MOST_ROWS records for the kernel."""

    source: Bytes
    table: Longs
    count: int
    sizes: Longs
    """The size in bytes of each record's value."""
    taken: npt.NDArray[np.bool_]
    """Whether the kernel may take the record."""
    topics: Sequence[str] = field(default=())
    """One topic id for each record, if all records are about topics; else empty."""

    @cached_property
    def flat(self) -> tuple[int, ...]:
        """`source` and `table` as arguments of compiled code."""
        return flat(self.source, self.table)

    @property
    def record_types(self) -> Longs:
        """The index of each record's type in RECORD_TYPES; negative for other types."""
        return self.table[v.ROW_TYPE * frames.ROWS : v.ROW_TYPE * frames.ROWS + self.count]


def rows_of(
    values: pa.Array, offsets: Longs, times: Longs, epochs: Longs, is_control: pa.Array
) -> VersionRows:
    """The input for records of a log. values: a binary array, with NULL for each record that is
    left to the scalar replay. times: the times in ms; NOWHEN for a record without a time."""
    source, starts, sizes = _bytes_of(values)
    programs = _programs(source, starts, sizes)
    programs[np.asarray(is_control.to_numpy(zero_copy_only=False), np.bool_)] = -1
    types = np.where(programs < 0, -2, _TYPES[programs])
    programs[types == -2] = -1
    table = _table(programs, starts, sizes, (offsets, times, epochs, offsets, types))
    return VersionRows(source, table, len(values), sizes, types >= 0)


def silent_rows(
    values: Sequence[bytes],
    since: Sequence[Sequence[int]] = (),
    topics: Sequence[str] = (),
) -> VersionRows:
    """The input for records for which the kernel gives no versions and changes, because the scalar
    replay has given these versions and changes. Either all records are about partitions, or all are
    about topics. since: the five numbers of ValidFrom for each record about a partition. topics:
    the ids of the topics."""
    source, starts, sizes = _bytes_of(pa.array(values, pa.binary()))
    count = len(values)
    columns = (
        np.array(since, np.int64).reshape(-1, 5).T if since else np.zeros((5, count), np.int64)
    )
    table = _table(_programs(source, starts, sizes), starts, sizes, tuple(columns))
    return VersionRows(source, table, count, sizes, np.ones(count, np.bool_), topics)


def _table(programs: Longs, starts: Longs, sizes: Longs, since: tuple[Longs, ...]) -> Longs:
    """The table of VersionRows. since: five columns, in the order of the fields of ValidFrom."""
    table = np.empty((frames.ROW_COLUMNS, frames.ROWS), np.int64)
    of_values = (v.ROW_PROGRAM, v.ROW_VALUE, v.ROW_VALUE_SIZE)
    of_since = (v.ROW_SINCE, v.ROW_TIME, v.ROW_EPOCH, v.ROW_OFFSET, v.ROW_TYPE)
    columns = zip((*of_values, *of_since), (programs, starts, sizes, *since), strict=True)
    for column, numbers in columns:
        table[column, : sizes.size] = numbers
    return table.reshape(-1)


def _bytes_of(values: pa.Array) -> tuple[Bytes, Longs, Longs]:
    """(the bytes of all values, the position at which each value begins, its size); the size is -1
    for NULL."""
    source, places = stored_bytes(values)
    sizes = np.diff(places)
    if values.null_count:
        sizes[np.asarray(values.is_null().to_numpy(zero_copy_only=False), np.bool_)] = -1
    return source if source.size else np.zeros(tables.SLACK, np.uint8), places[:-1], sizes


def _programs(source: Bytes, starts: Longs, sizes: Longs) -> Longs:
    """The program of each value by the three bytes of its envelope, with the result of the kernel
    of frames."""
    programs: Longs = np.full(starts.size, -1, np.int64)
    sound = np.flatnonzero((sizes >= frames.ENVELOPE_BYTES) & (sizes <= frames.LARGEST_VALUE_BYTES))
    at = starts[sound]
    frame, keys, versions = (source[at + k].astype(np.int64) for k in range(frames.ENVELOPE_BYTES))
    known = (frame == 1) & (keys < frames.KEYS) & (versions < frames.VERSIONS)
    programs[sound[known]] = _PROGRAMS[keys[known] * frames.VERSIONS + versions[known]]
    return programs
