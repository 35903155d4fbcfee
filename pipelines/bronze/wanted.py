"""Which of a round's new batches bronze.log_records lacks: each is wanted once.

A large log has millions of batches, so their keys are held in columns of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from pipelines import delta
from pipelines.bronze.captured import Captured
from pipelines.bronze.files import new_segments
from pipelines.bronze.replica_rows import sql_of_replica
from pipelines.tables.bronze import BATCH_KEYS, LOG_RECORDS, REPLICA_KEYS
from replica.format.directory import SegmentFile
from replica.metadata.redact import Redactor
from replica.model.keys import ReplicaId
from replica.scan.compact import column_of
from replica.scan.native import Longs

_HEADER_KEYS = BATCH_KEYS[len(REPLICA_KEYS) :]
Keys = dict[ReplicaId, Longs]
"""Of each replica's batches: rows for the base offset, the leader epoch and the CRC, a column for
each batch."""


@dataclass(frozen=True, slots=True)
class WantedSegment:
    """A segment with batches that are wanted, and how many. known: first bytes of the others that
    the lake has, ascending."""

    one: Captured
    segment: SegmentFile
    batches: int
    known: Longs = field(compare=False)


def wanted_segments(
    captured: Sequence[Captured], known: Keys, redactor: Redactor | None
) -> list[WantedSegment]:
    """The segments with batches that aren't known; `known` gets these batches.

    redactor: as of the table's rows; whether a batch holds a secret, by which its CRC there is
    another one, comes out when it is read.
    """
    wanted = []
    for one, segment in new_segments(captured):
        seen = known.get(one.look.replica, _NO_KEYS)
        batches = segment.scan.new_batches
        keys = np.array([column_of(batches, name) for name in _HEADER_NAMES])
        near = _in_reach(seen, keys)
        is_valid = column_of(batches, "crc_valid").astype(np.bool_)
        is_known = _seen_before(near, keys, is_valid) | _is_hidden(near, keys, redactor)
        is_new = is_valid & ~is_known
        known[one.look.replica] = np.concatenate([seen, keys[:, is_new]], axis=1)
        if is_new.any():
            positions = column_of(batches, "position")[is_known]
            wanted.append(WantedSegment(one, segment, int(is_new.sum()), positions))
    return wanted


def known_batches(lake: delta.Lake, captured: Sequence[Captured], version: int) -> Keys:
    """Batches whose records a version of the table has, from the lowest offset that is new of each
    replica on."""
    known: Keys = {}
    names = ", ".join(_HEADER_KEYS)
    for replica, lowest in _lowest_offsets(captured).items():
        where = f"{sql_of_replica(replica)} AND base_offset >= {lowest}"
        query = f"SELECT DISTINCT {names} FROM t WHERE {where}"  # noqa: S608 - literals
        found = delta.answer(lake, LOG_RECORDS, query, version)
        known[replica] = np.array(
            [found[name].cast(pa.int64()).to_numpy() for name in _HEADER_KEYS]
        )
    return known


_HEADER_NAMES = ("base_offset", "leader_epoch", "crc")
"""The same in a batch's header."""
_NO_KEYS: Longs = np.zeros((len(_HEADER_KEYS), 0), np.int64)


def _in_reach(seen: Longs, keys: Longs) -> Longs:
    """Those of the keys that were seen whose base offsets lie among these keys'."""
    offsets = seen[0]
    return seen[:, (offsets >= keys[0].min()) & (offsets <= keys[0].max())]


def _seen_before(seen: Longs, keys: Longs, is_valid: np.ndarray) -> np.ndarray:
    """Which of the keys were seen, or are equal to a valid one before them."""
    both = np.concatenate([seen, keys], axis=1)
    counts = np.concatenate([np.ones(seen.shape[1], np.int64), is_valid.astype(np.int64)])
    order = np.lexsort(both)  # stable: equal keys stay in their order
    ordered, counts = both[:, order], counts[order]
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    before = np.cumsum(counts) - counts
    begin = np.maximum.accumulate(np.where(is_first, np.arange(order.size), 0))
    found = np.zeros(order.size, np.bool_)
    found[order] = before > before[begin]
    return found[seen.shape[1] :]


def _is_hidden(seen: Longs, keys: Longs, redactor: Redactor | None) -> np.ndarray:
    """Which of the keys the table has as of batches with a secret: there the CRC is keyed."""
    found = np.zeros(keys.shape[1], np.bool_)
    if redactor is None or not seen.shape[1]:
        return found
    hidden = set(zip(*seen.tolist(), strict=True))
    of_epochs = _seen_before(seen[:2], keys[:2], found)  # few others can be equal
    for number in np.flatnonzero(of_epochs & ~_seen_before(seen, keys, found)).tolist():
        base_offset, epoch, crc = keys[:, number].tolist()
        found[number] = (base_offset, epoch, redactor.batch_crc(base_offset, crc)) in hidden
    return found


def _lowest_offsets(captured: Sequence[Captured]) -> Mapping[ReplicaId, int]:
    """How far down the segments' new batches reach."""
    lowest: dict[ReplicaId, int] = {}
    for one, segment in new_segments(captured):
        replica = one.look.replica
        first = int(column_of(segment.scan.new_batches, "base_offset").min())
        lowest[replica] = min(first, lowest.get(replica, first))
    return lowest
