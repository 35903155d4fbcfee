"""Which of a round's new batches bronze.log_records lacks: each is wanted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines import delta
from pipelines.bronze.captured import Captured
from pipelines.bronze.files import new_segments
from pipelines.bronze.replica_rows import sql_of_replica
from pipelines.tables.bronze import BATCH_KEYS, LOG_RECORDS, REPLICA_KEYS
from replica.format.directory import SegmentFile
from replica.metadata.redact import Redactor
from replica.model.keys import ReplicaId

_HEADER_KEYS = BATCH_KEYS[len(REPLICA_KEYS) :]
_HeaderKey = tuple[int, int, int]
"""A batch: base offset, leader epoch, CRC. A large log has millions of them, so they carry no
names."""
Keys = dict[ReplicaId, set[_HeaderKey]]


@dataclass(frozen=True, slots=True)
class WantedSegment:
    """A segment with batches that are wanted, and how many. known: first bytes of the others."""

    one: Captured
    segment: SegmentFile
    batches: int
    known: tuple[int, ...]


def wanted_segments(
    captured: Sequence[Captured], known: Keys, redactor: Redactor | None
) -> list[WantedSegment]:
    """The segments with batches that aren't known; `known` gets these batches.

    redactor: as of the table's rows; whether a batch holds a secret, by which its CRC there is
    another one, comes out when it is read.
    """
    wanted = []
    for one, segment in new_segments(captured):
        seen = known.setdefault(one.look.replica, set())
        positions = []
        count = 0
        for batch in segment.scan.new_batches:
            key = header_key(batch.header)
            if key in seen or _hidden_key(key, redactor) in seen:
                positions.append(batch.position)
            elif batch.crc_valid:
                seen.add(key)
                count += 1
        if count:
            wanted.append(WantedSegment(one, segment, count, tuple(positions)))
    return wanted


def known_batches(lake: delta.Lake, captured: Sequence[Captured], version: int) -> Keys:
    """Batches whose records a version of the table has, from the lowest offset that is new of each
    replica on."""
    known: Keys = {}
    names = ", ".join(_HEADER_KEYS)
    for replica, lowest in _lowest_offsets(captured).items():
        where = f"{sql_of_replica(replica)} AND base_offset >= {lowest}"
        query = f"SELECT DISTINCT {names} FROM t WHERE {where}"  # noqa: S608 - literals
        found = known[replica] = set()
        for batch in delta.answer(lake, LOG_RECORDS, query, version).to_batches():
            columns = [batch.column(name).to_pylist() for name in _HEADER_KEYS]
            found.update(zip(*columns, strict=True))
    return known


def header_key(header: Any) -> _HeaderKey:
    """The part of BATCH_KEYS that a batch's header says."""
    return header.base_offset, header.leader_epoch, header.crc


def _hidden_key(key: _HeaderKey, redactor: Redactor | None) -> _HeaderKey:
    """The key under which the table has a batch that may hold a secret: its CRC is keyed."""
    if redactor is None:
        return key
    base_offset, epoch, crc = key
    return base_offset, epoch, redactor.batch_crc(base_offset, crc)


def _lowest_offsets(captured: Sequence[Captured]) -> Mapping[ReplicaId, int]:
    """How far down the segments' new batches reach."""
    lowest: dict[ReplicaId, int] = {}
    for one, segment in new_segments(captured):
        replica = one.look.replica
        first = min(batch.header.base_offset for batch in segment.scan.new_batches)
        lowest[replica] = min(first, lowest.get(replica, first))
    return lowest
