"""VARIANT bytes read by pyspark give back the value."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from replica.errors import CorruptDataError
from replica.message.json_text import Plain
from replica.metadata.json_text import json_text, to_plain
from replica.metadata.record import MetadataRecord
from replica.metadata.variant import encode_variant
from tests.replica.metadata.strategies import records

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=100)
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.sampled_from(
        [s * (1 << bits) + d for bits in (7, 15, 31) for s in (1, -1) for d in (-1, 0)]
    ),
    st.floats(allow_nan=False),
    _TEXTS,
)
# pyspark's reader refuses an empty string or name at the very end of its buffer
_NAMES = _TEXTS.filter(bool)
PLAIN = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(_NAMES, inner, max_size=5)
    ),
    max_leaves=30,
)


def spark_reads(plain: Plain) -> object:
    return VariantVal(*encode_variant(plain)).toPython()


@given(PLAIN)
def test_spark_reads_back_any_plain_value(plain: Plain) -> None:
    nested: Plain = {"value": plain, "z": 0}
    assert sorted_repr(spark_reads(nested)) == sorted_repr(nested)


@given(records())
def test_spark_reads_a_record_as_its_json(record: MetadataRecord) -> None:
    nested: Plain = {"data": to_plain(record), "z": 0}
    value, metadata = encode_variant(nested)
    variant = VariantVal(value, metadata)
    assert sorted_repr(variant.toPython()) == sorted_repr(nested)
    parsed = json.loads(variant.toJson())["data"]
    assert sorted_repr(parsed) == sorted_repr(json.loads(json_text(record)))


def sorted_repr(plain: object) -> str:
    """repr with the fields of objects sorted; tells 1 from 1.0 and True, and -0.0 from 0.0."""
    if isinstance(plain, dict):
        return "{" + ",".join(f"{k!r}:{sorted_repr(v)}" for k, v in sorted(plain.items())) + "}"
    if isinstance(plain, list):
        return "[" + ",".join(map(sorted_repr, plain)) + "]"
    return repr(plain)


@pytest.mark.parametrize(
    ("plain", "value", "metadata"),
    [
        (None, "00", "110000"),
        (True, "04", "110000"),
        (False, "08", "110000"),
        (-1, "0cff", "110000"),
        (127, "0c7f", "110000"),
        (128, "108000", "110000"),
        (32767, "10ff7f", "110000"),
        (32768, "1400800000", "110000"),
        (-32769, "14ff7fffff", "110000"),
        ((1 << 31) - 1, "14ffffff7f", "110000"),
        (1 << 31, "180000008000000000", "110000"),
        (1.0, "1c000000000000f03f", "110000"),
        ("", "01", "110000"),
        ("hi", "096869", "110000"),
        ("x" * 63, "fd" + "78" * 63, "110000"),
        ("x" * 64, "4040000000" + "78" * 64, "110000"),
        ([], "030000", "110000"),
        ([1, None], "0302000203" + "0c0100", "110000"),
        ({}, "020000", "110000"),
        ({"b": None, "a": 1}, "02020001000203" + "0c0100", "11020001026162"),
    ],
)
def test_the_bytes_are_those_of_the_parquet_variant_encoding(
    plain: Plain, value: str, metadata: str
) -> None:
    got_value, got_metadata = encode_variant(plain)
    assert (got_value.hex(), got_metadata.hex()) == (value, metadata)


@pytest.mark.parametrize("count", [255, 256, 257, 70_000])
def test_large_arrays_and_objects_take_wider_counts_offsets_and_ids(count: int) -> None:
    numbers: Plain = list(range(count))
    assert spark_reads(numbers) == numbers
    named: Plain = {f"n{i}": i for i in range(count)}
    assert spark_reads(named) == named


def test_long_strings_widen_the_offsets_around_them() -> None:
    plain: Plain = {"a": ["x" * 70_000, "y" * 17_000_000], "b": 1}
    assert spark_reads(plain) == plain


def test_the_dictionary_is_sorted_by_bytes_and_says_so() -> None:
    _, metadata = encode_variant({"\U0001f600": 1, "\uffff": 2, "b": 3, "a": 4})
    assert metadata[0] & 0x10
    assert metadata.endswith("ab\uffff\U0001f600".encode())


def test_values_with_equal_names_share_one_dictionary() -> None:
    first = encode_variant({"a": 1, "b": {"c": 2}})[1]
    again = encode_variant({"b": {"c": 5}, "a": "x"})[1]
    assert first is again


def test_one_dictionary_serves_objects_of_many_shapes() -> None:
    shapes: Plain = [{"a": 1, "b": 2}, {"b": 3, "a": 4}, {"b": 5}, {"c": 6, "a": 7}, {}]
    assert spark_reads(shapes) == shapes


@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1])
def test_an_integer_beyond_64_bits_is_refused(number: int) -> None:
    with pytest.raises(CorruptDataError, match="64 bits"):
        encode_variant({"a": number})
