"""Which new batches are wanted, beside the rule asked of one batch after another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipelines.bronze.new_records import KnownKeys, wanted_segments
from replica.format.batch import BatchHeader
from replica.format.segment import SegmentScan
from replica.format.walk import LocatedBatch
from replica.model.keys import ReplicaId

REPLICA = ReplicaId("cluster", 1, "directory")
_KEY = st.tuples(st.integers(0, 6), st.integers(1, 3), st.integers(0, 5))
_FILES = st.lists(st.lists(st.tuples(_KEY, st.booleans()), max_size=12), max_size=3)


class _Redactor:
    """Keys CRCs as replica.metadata.redact does: by a batch's base offset and its CRC."""

    def batch_crc(self, base_offset: int, crc: int) -> int:
        return 100 + base_offset * 10 + crc


def _captured(files: list[list[tuple[tuple[int, int, int], bool]]]) -> Any:
    segments = []
    for number, batches in enumerate(files):
        located = tuple(
            LocatedBatch(100 * place, _header(*key), is_valid)
            for place, (key, is_valid) in enumerate(batches)
        )
        segments.append(
            SimpleNamespace(
                scan=SegmentScan(located, (), 100 * len(located), 0), base_offset=number
            )
        )
    directory = SimpleNamespace(segments=tuple(segments), deleted_segments=())
    return [SimpleNamespace(capture=SimpleNamespace(directory=directory, replica=REPLICA))]


def _header(base_offset: int, epoch: int, crc: int) -> BatchHeader:
    return BatchHeader(base_offset, 49, epoch, 2, crc, 0, 0, 0, 0, -1, -1, -1, 1)


def _one_by_one(
    files: list[list[tuple[tuple[int, int, int], bool]]],
    table: set[tuple[int, int, int]],
    redactor: _Redactor | None,
) -> list[tuple[int, list[int]]]:
    """(batches that are wanted, positions of known ones) of each file with wanted ones."""
    seen, found = set(table), []
    for batches in files:
        count, positions = 0, []
        for number, (key, is_valid) in enumerate(batches):
            hidden = redactor and (key[0], key[1], redactor.batch_crc(key[0], key[2]))
            if key in seen or hidden in seen:
                positions.append(100 * number)
            elif is_valid:
                seen.add(key)
                count += 1
        if count:
            found.append((count, positions))
    return found


@given(_FILES, st.sets(_KEY), st.sets(_KEY), st.booleans())
def test_each_batch_that_the_table_lacks_is_wanted_once(
    files: list[list[tuple[tuple[int, int, int], bool]]],
    plain: set[tuple[int, int, int]],
    secret: set[tuple[int, int, int]],
    has_redactor: bool,
) -> None:
    redactor = _Redactor()
    table = plain | {(at, epoch, redactor.batch_crc(at, crc)) for at, epoch, crc in secret}
    known: Any = {}
    if table:
        known[REPLICA] = KnownKeys(np.array(sorted(table), np.int64).T)
    used: Any = redactor if has_redactor else None
    found = wanted_segments(_captured(files), known, used)
    told = [(each.batches, each.known.tolist()) for each in found]
    assert told == _one_by_one(files, table, used)
    held = known[REPLICA].count if known else 0
    assert held == len(table) + sum(each.batches for each in found)
