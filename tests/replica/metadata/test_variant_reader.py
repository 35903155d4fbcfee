"""VARIANT bytes read without Spark give back what was encoded, and what pyspark reads."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from replica.errors import CorruptDataError
from replica.message.json_text import Plain
from replica.metadata.json_text import to_plain
from replica.metadata.record import MetadataRecord
from replica.metadata.variant import encode_variant
from replica.metadata.variant_reader import decode_variant, variant_json
from tests.replica.metadata.strategies import records
from tests.replica.metadata.test_variant import PLAIN, sorted_repr, spark_reads


@given(PLAIN)
def test_a_decoded_variant_is_the_value_that_was_encoded(plain: Plain) -> None:
    decoded = decode_variant(*encode_variant(plain))
    assert sorted_repr(decoded) == sorted_repr(plain)


@given(PLAIN)
def test_a_decoded_variant_is_what_pyspark_reads_of_it(plain: Plain) -> None:
    nested: Plain = {"value": plain, "z": 0}
    assert sorted_repr(decode_variant(*encode_variant(nested))) == sorted_repr(spark_reads(nested))


@given(records())
def test_the_json_of_a_record_reads_as_the_json_that_pyspark_gives(record: MetadataRecord) -> None:
    value, metadata = encode_variant({"data": to_plain(record), "z": 0})
    assert json.loads(variant_json(value, metadata)) == json.loads(
        VariantVal(value, metadata).toJson()
    )


@pytest.mark.parametrize("count", [255, 256, 257, 70_000])
def test_large_arrays_and_objects_are_read_with_wide_counts_offsets_and_ids(count: int) -> None:
    plain: Plain = {"list": list(range(count)), **{f"n{i}": "x" * (i % 70) for i in range(count)}}
    assert decode_variant(*encode_variant(plain)) == plain


def test_offsets_of_three_and_four_bytes_are_read() -> None:
    plain: Plain = {"a": ["x" * 70_000, "y" * 17_000_000], "b": 1}
    assert decode_variant(*encode_variant(plain)) == plain


@given(PLAIN, st.data())
def test_bytes_that_end_too_early_are_refused(plain: Plain, data: st.DataObject) -> None:
    value, metadata = encode_variant(plain)
    end = data.draw(st.integers(0, len(value) - 1))
    with pytest.raises(CorruptDataError):
        decode_variant(value[:end], metadata)
    with pytest.raises(CorruptDataError):
        decode_variant(value, metadata[: data.draw(st.integers(0, len(metadata) - 1))])


def test_a_type_that_no_record_has_is_refused_with_its_number() -> None:
    with pytest.raises(CorruptDataError, match="primitive type 8"):
        decode_variant(bytes([8 << 2, 0, 1, 0, 0, 0]), encode_variant(0)[1])
