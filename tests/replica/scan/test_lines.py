"""Lines of JSON by a kernel, and what is left to the scalar reader between them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from replica.format.segment import scan
from replica.format.walk import LocatedBatch
from replica.scan.lines import LineScan, ScalarRecord
from replica.scan.native import Longs
from tests.bench.segments import batches
from tests.replica.scan.agreement import scalar_records

_PREFIX = b'{"file":"x","offset":'


@pytest.fixture(scope="module")
def sound() -> bytes:
    return b"".join(batch for batch, _ in batches(300_000, pool=3000))


def _read(found: LineScan) -> tuple[list[dict[str, object]], list[ScalarRecord]]:
    lines: list[dict[str, object]] = []
    records = []
    for piece in found:
        if isinstance(piece, memoryview):
            lines += map(json.loads, bytes(piece).splitlines())
        else:
            assert isinstance(piece, ScalarRecord)
            records.append(piece)
    return lines, records


def test_each_record_is_a_line_or_is_left_to_the_scalar_reader(sound: bytes) -> None:
    found = LineScan(sound, prefix=_PREFIX, expected_offset=0, keep_secrets=True)
    lines, records = _read(found)
    rows = scalar_records(sound, 0, 0, None, as_json=True)
    wanted = {row[4]: (row[2], row[5], row[7], row[8], json.loads(row[9])) for row in rows}
    for line in lines:
        names = ("epoch", "timestamp", "type", "version", "data")
        assert tuple(line[name] for name in names) == wanted.pop(line["offset"])
    assert sorted(wanted) == [record.record.offset for record in records]
    assert all(record.is_control for record in records)
    assert found.next_offset == scan(sound).next_offset


def test_chosen_rows_and_types_alone_have_lines(sound: bytes) -> None:
    def choose(offsets: Longs, times: Longs, epochs: Longs) -> np.ndarray:  # type: ignore[type-arg]
        return (offsets >= 100) & (times > 0) & (epochs == 1)

    found = LineScan(
        sound,
        prefix=_PREFIX,
        expected_offset=0,
        keep_secrets=True,
        choose=choose,
        takes_type=lambda name: name == "TOPIC_RECORD",
    )
    lines, records = _read(found)
    rows = scalar_records(sound, 0, 0, None)
    topics = [row[4] for row in rows if row[7] == "TOPIC_RECORD"]
    assert [line["offset"] for line in lines] == [offset for offset in topics if offset >= 100]
    assert records == [], "the one control record has offset 0"


def test_a_batch_that_the_frame_kernel_refuses_comes_whole(sound: bytes) -> None:
    found = LineScan(sound, prefix=_PREFIX, expected_offset=None, keep_secrets=True)
    first = next(iter(found))
    assert isinstance(first, LocatedBatch)
    assert bytes(found.bytes_of(first)) == sound[: first.header.size_bytes]
