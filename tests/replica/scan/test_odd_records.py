"""The bulk reader names the records that stand out, and the scalar reader finds no others."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from replica.doctor.check.examined import examine
from replica.doctor.check.record_findings import ABORT, BEGIN, END, note_records
from replica.format.discovery import discover
from replica.format.segment import scan
from replica.scan import segments
from replica.scan.segments import odd_records
from tests.replica.doctor.check.editing import append, metadata
from tests.replica.scan.damaging import made_batch
from tests.replica.scan.readers import only_the_bulk_reader, only_the_scalar_reader

_DATA = Path(__file__).parents[2] / "data"


def test_odd_records_are_named_and_others_are_not(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    plain = [metadata("NO_OP_RECORD"), metadata("TOPIC_RECORD", name="t", topicId="A" * 22)]
    path.write_bytes(made_batch(plain, random.Random(0)))
    append(path, *plain, b"\x01\x63\x00")  # api key 99
    append(path, b"\x01\x02\x0f\x00", *plain)  # TOPIC_RECORD version 15
    append(path, b"\x01\x02\x00\xff")
    append(path, *plain, metadata("BEGIN_TRANSACTION_RECORD"))
    append(path, b"")
    for _ in range(3):
        append(path, *plain)
    data = path.read_bytes()
    assert scan(data).next_offset == 19
    found = list(odd_records(data, expected_offset=0, types=(BEGIN, END, ABORT)))
    assert found == [4, 5, 8, 11, 12]


@pytest.mark.parametrize("node", ["kafka-4.1.1-dynamic/final/3", "generated-all-types"])
def test_a_directory_s_records_are_noted_the_same_by_either_reader(
    node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = discover([str(_DATA / node)])
    examined = examine(found)
    only_the_scalar_reader(monkeypatch)
    scalar = note_records(examined)
    only_the_bulk_reader(monkeypatch)
    assert note_records(examined) == scalar
    assert segments.is_large(1)
