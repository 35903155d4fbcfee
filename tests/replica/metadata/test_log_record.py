"""Records of logs as tables and dump see them: known, unknown, unreadable, secret."""

from __future__ import annotations

import struct

import pytest

from replica.format.record import Record
from replica.metadata.log_record import UNREADABLE, LogRecordReader
from replica.metadata.record import new_record
from replica.metadata.redact import Redactor
from replica.metadata.writer import encode

KEPT, REDACTED = LogRecordReader(None), LogRecordReader(Redactor(b"key"))


def _record(value: bytes | None, key: bytes | None = None) -> Record:
    return Record(offset=7, timestamp=1, key=key, value=value)


def test_a_harmless_record_keeps_its_bytes() -> None:
    value = encode(new_record("TOPIC_RECORD", 0, {"name": "a"}))
    found = REDACTED.read(_record(value), is_control=False)
    assert (found.record_type, found.version, found.value) == ("TOPIC_RECORD", 0, value)
    assert found.is_harmless
    assert found.json_text() == '{"name":"a","topicId":"AAAAAAAAAAAAAAAAAAAAAA"}'


def test_a_secret_config_loses_value_and_bytes() -> None:
    fields = {"resourceType": 4, "resourceName": "1", "name": "ssl.key.password", "value": "hush"}
    value = encode(new_record("CONFIG_RECORD", 0, fields))
    found = REDACTED.read(_record(value), is_control=False)
    assert found.value is None
    assert not found.is_harmless
    assert "hush" not in found.json_text()
    assert KEPT.read(_record(value), is_control=False).value == value


def test_bytes_that_do_not_decode_become_an_unreadable_record_with_the_reason() -> None:
    found = KEPT.read(_record(b"\x01\x02\x00\xff"), is_control=False)
    assert found.record_type == UNREADABLE
    assert found.error
    assert (found.version, found.data, found.value) == (None, None, b"\x01\x02\x00\xff")
    hidden = REDACTED.read(_record(b"\x01\x02\x00\xff"), is_control=False)
    assert hidden.value is not None
    assert hidden.value.startswith(b"***:")


@pytest.mark.parametrize("is_control", [False, True])
def test_a_record_without_a_value_is_unreadable(is_control: bool) -> None:
    found = REDACTED.read(_record(None, struct.pack(">hh", 0, 2)), is_control=is_control)
    assert found.record_type == UNREADABLE
    assert found.value is None


def test_a_control_record_of_an_unknown_type_is_labelled_and_hidden() -> None:
    key = struct.pack(">hh", 0, 77)
    found = REDACTED.read(_record(b"secret?", key), is_control=True)
    assert found.record_type == "CONTROL_77"
    assert found.value is None
    assert "***:" in found.json_text()
    kept = KEPT.read(_record(b"secret?", key), is_control=True)
    assert kept.value == b"secret?"
    assert "c2VjcmV0Pw==" in kept.json_text()


def test_a_transaction_marker_of_another_log_is_no_secret() -> None:
    marker = struct.pack(">hi", 0, 5)
    found = REDACTED.read(_record(marker, struct.pack(">hh", 0, 1)), is_control=True)
    assert (found.record_type, found.value) == ("COMMIT", marker)
