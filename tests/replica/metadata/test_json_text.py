"""The JSON of a record: byte for byte what Kafka prints."""

from __future__ import annotations

import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.message.json_text import double_text, quote
from replica.message.schema import Value
from replica.metadata.codec import decode
from replica.metadata.json_text import json_text, to_plain
from replica.metadata.programs import programs
from replica.metadata.record import MetadataRecord, UnknownRecord, new_record
from tests.replica.metadata.strategies import records


def test_text_is_kafkas_byte_for_byte(golden: tuple[tuple[bytes, str], ...]) -> None:
    seen = set()
    for value, payload in golden:
        record = decode(value)
        head = f'{{"type":"{record.type}","version":{record.version},"data":'
        assert head + json_text(record) + "}" == payload
        seen.add((record.api_key, record.version))
    assert seen == {(program.schema.api_key, program.version) for program in programs()}


@given(records())
def test_text_parses_to_the_plain_value_in_the_same_order(record: MetadataRecord) -> None:
    parsed = json.loads(json_text(record))
    # repr, as it tells order of fields, -0.0 from 0.0 and 1.0 from 1
    assert repr(parsed) == repr(to_plain(record))


def test_a_tagged_field_is_left_out_only_at_its_default() -> None:
    assert json_text(new_record("BEGIN_TRANSACTION_RECORD", 0, {})) == "{}"
    assert json_text(new_record("BEGIN_TRANSACTION_RECORD", 0, {"name": ""})) == '{"name":""}'
    change = new_record("PARTITION_CHANGE_RECORD", 2, {"isr": (), "leader": -1})
    assert list(to_plain(change)) == ["partitionId", "topicId", "isr", "leader"]
    untagged = to_plain(new_record("CONFIG_RECORD", 0, {}))
    assert untagged == {"resourceType": 0, "resourceName": "", "name": "", "value": ""}
    assert to_plain(new_record("CONFIG_RECORD", 0, {"value": None}))["value"] is None


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (100.5, "100.5"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (-1e10, "-1.0E10"),
        (2e23, "2.0E23"),
        (7.6203e20, "7.6203E20"),
        (5e-324, "4.9E-324"),
        (1e-323, "9.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_doubles_are_printed_as_java_does(number: float, text: str) -> None:
    assert double_text(number) == text


@given(st.binary(min_size=8, max_size=8))
def test_a_printed_double_reads_back_as_the_same_number(raw: bytes) -> None:
    (number,) = struct.unpack(">d", raw)
    text = double_text(number)
    if math.isfinite(number):
        assert struct.pack(">d", float(text)) == struct.pack(">d", number)
        assert "." in text
        assert text.count("E") == (not 1e-3 <= abs(number) < 1e7 and number != 0)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_quoted_string_is_json_and_escapes_no_more_than_it_must(text: str) -> None:
    quoted = quote(text)
    assert json.loads(quoted) == text
    plain_characters = [c for c in text if c >= " " and c not in '"\\']
    assert [c for c in quoted[1:-1] if ord(c) > 0x7E] == [c for c in plain_characters if c > "~"]


def test_control_characters_take_short_escapes_or_upper_case_hex() -> None:
    assert quote('\b\t\n\f\r"\\/') == '"\\b\\t\\n\\f\\r\\"\\\\/"'
    assert quote("\x00\x0b\x1f\x7f") == '"\\u0000\\u000B\\u001F\x7f"'


def test_bytes_are_padded_standard_base64() -> None:
    values: dict[str, Value] = {"salt": b"\xfb\xff", "storedKey": b"", "serverKey": b"a" * 60}
    plain = to_plain(new_record("USER_SCRAM_CREDENTIAL_RECORD", 0, values))
    assert (plain["salt"], plain["storedKey"]) == ("+/8=", "")
    assert plain["serverKey"] == "YWFh" * 20


def test_an_unknown_record_shows_its_key_version_and_body() -> None:
    record = UnknownRecord(99, 1, b"\xff")
    assert json_text(record) == '{"apiKey":99,"version":1,"body":"/w=="}'
    assert to_plain(record) == {"apiKey": 99, "version": 1, "body": "/w=="}
