"""VARIANTs as JSON text by the kernel, against the scalar reader that it stands for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import CorruptDataError
from replica.message.json_text import Plain
from replica.metadata.json_text import to_plain
from replica.metadata.record import MetadataRecord
from replica.metadata.variant import encode_variant
from replica.metadata.variant_reader import variant_json
from replica.scan import variant_texts as module
from replica.scan.arrow import RecordScan
from replica.scan.columns import VARIANT_TYPE
from replica.scan.variant_texts import is_variant, variant_texts
from tests.replica.metadata.strategies import records
from tests.replica.metadata.test_variant import PLAIN


def column_of(*values: tuple[bytes, bytes] | None) -> pa.StructArray:
    rows = [value and dict(zip(("value", "metadata"), value, strict=True)) for value in values]
    return pa.array(rows, VARIANT_TYPE)


def read(column: pa.StructArray) -> list[Any]:
    return [
        None if text is None else json.loads(text) for text in variant_texts(column).to_pylist()
    ]


@given(st.lists(st.none() | PLAIN.map(lambda plain: {"of": plain}), max_size=4))
def test_any_column_of_variants_has_the_texts_of_the_scalar_reader(
    plains: list[dict[str, Plain] | None],
) -> None:
    encoded = [None if plain is None else encode_variant(plain) for plain in plains]
    expected = [None if one is None else json.loads(variant_json(*one)) for one in encoded]
    assert read(column_of(*encoded)) == expected


@given(records())
def test_every_record_has_the_text_of_the_scalar_reader(record: MetadataRecord) -> None:
    encoded = encode_variant(to_plain(record))
    assert read(column_of(encoded)) == [json.loads(variant_json(*encoded))]


@pytest.mark.parametrize("plain", [0, -1, -(2**63), 2**63 - 1, "", 'a\x00"\\\u00fc\U0001f600', 0.5])
def test_values_at_the_edges_are_written_as_json(plain: Plain) -> None:
    assert read(column_of(encode_variant({"n": plain}))) == [{"n": plain}]


def test_large_and_deep_values_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OUTPUT_BYTES", 4096)
    deep: Plain = 1
    for _ in range(20):
        deep = [deep]
    plains: list[Plain] = [deep, "x" * 70_000, list(range(300)), {f"n{k}": k for k in range(300)}]
    many = plains * 5
    assert read(column_of(*map(encode_variant, many))) == many


def test_a_part_of_a_column_has_its_own_rows() -> None:
    column = column_of(*(encode_variant({"n": k}) for k in range(10)), None)
    assert read(column[3:5]) == [{"n": 3}, {"n": 4}]
    assert read(column[10:]) == [None]
    assert read(column[:0]) == []
    assert read(pa.chunked_array([column[:1], column[9:]])) == [{"n": 0}, {"n": 9}, None]
    views = column.cast(pa.struct([(name, pa.binary_view()) for name in ("value", "metadata")]))
    assert is_variant(views.type)
    assert read(views[3:4]) == [{"n": 3}]


@given(PLAIN, st.data())
def test_bytes_that_end_too_early_are_refused(plain: Plain, data: st.DataObject) -> None:
    value, names = encode_variant({"of": plain})
    short = value[: data.draw(st.integers(0, len(value) - 1))]
    with pytest.raises(CorruptDataError):
        variant_texts(column_of((short, names)))


@given(st.binary(max_size=40), st.binary(max_size=20))
def test_random_bytes_are_refused_or_read_as_the_scalar_reader_reads_them(
    value: bytes, names: bytes
) -> None:
    try:
        found = read(column_of((value, names)))
    except CorruptDataError:
        with pytest.raises(CorruptDataError):
            variant_json(value, names)
        return
    try:
        expected = json.loads(variant_json(value, names))
    except CorruptDataError:  # of a dictionary that the kernel had no need of
        return
    assert found == [expected]


def test_all_record_types_of_kafka_have_the_texts_of_the_scalar_reader(data: Path) -> None:
    for file in sorted((data / "generated-all-types").rglob("*.log")):
        for batch in RecordScan(file.read_bytes()):
            payloads = batch["payload"]
            expected = [
                None if one is None else json.loads(variant_json(one["value"], one["metadata"]))
                for one in payloads.to_pylist()
            ]
            assert read(payloads) == expected
