"""Records of logs as tables and dump see them: known, unknown, unreadable, secret."""

from __future__ import annotations

import struct

import pytest

from replica.format.batch import decode_header
from replica.format.control import (
    ControlMessage,
    KRaftVersion,
    KRaftVoters,
    LeaderChange,
    LeaderVoter,
    SnapshotFooter,
    SnapshotHeader,
    encode_control,
)
from replica.format.record import Record
from replica.message.schema import UnknownTags
from replica.metadata.codec import encode
from replica.metadata.log_record import UNREADABLE, LogRecordReader, may_hold_secret
from replica.metadata.record import new_record
from replica.metadata.redact import Redactor
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.model.voters import Endpoint, Voter
from tests.secret_log import PLAIN_CONFIGS, batch, config, control_batch, plain, secret_values

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


def test_bytes_with_an_unknown_tagged_field_are_withheld_and_the_rest_is_shown() -> None:
    value = encode(new_record("TOPIC_RECORD", 0, {"name": "a"}))
    tagged = value[:-1] + b"\x01\x63\x07hunter2"
    found = REDACTED.read(_record(tagged), is_control=False)
    assert (found.value, found.is_harmless) == (None, False)
    assert found.json_text() == '{"name":"a","topicId":"AAAAAAAAAAAAAAAAAAAAAA"}'
    assert KEPT.read(_record(tagged), is_control=False).value == tagged


_TAGS = ((99, b"hunter2"),)
_VOTER = Voter(ReplicaKey(1, ZERO_UUID), (Endpoint("C", "a", 1),), 0, 1)
_LEADER = LeaderVoter(1, ZERO_UUID)


def _at(*path: str | int) -> UnknownTags:
    """Unknown tagged fields in the structure at this path."""
    return ((path, _TAGS),)


@pytest.mark.parametrize(
    "message",
    [
        LeaderChange(1, 1, (), (), unknown_tags=_at()),
        LeaderChange(1, 1, (_LEADER,), (), unknown_tags=_at("voters", 0)),
        LeaderChange(1, 1, (), (_LEADER,), unknown_tags=_at("grantingVoters", 0)),
        SnapshotHeader(0, 1, unknown_tags=_at()),
        SnapshotFooter(0, unknown_tags=_at()),
        KRaftVersion(0, 1, unknown_tags=_at()),
        KRaftVoters(0, (_VOTER,), unknown_tags=_at()),
        KRaftVoters(0, (_VOTER,), unknown_tags=_at("voters", 0)),
        KRaftVoters(0, (_VOTER,), unknown_tags=_at("voters", 0, "kRaftVersionFeature")),
        KRaftVoters(0, (_VOTER,), unknown_tags=_at("voters", 0, "endpoints", 0)),
    ],
    ids=repr,
)
def test_bytes_of_control_records_with_unknown_tagged_fields_are_withheld(
    message: ControlMessage,
) -> None:
    key, value = encode_control(message)
    found = REDACTED.read(_record(value, key), is_control=True)
    assert (found.value, found.is_harmless) == (None, False)
    assert "hunter2" not in found.json_text()
    assert KEPT.read(_record(value, key), is_control=True).value == value


@pytest.mark.parametrize("value", list(secret_values()), ids=repr)
def test_a_batch_that_holds_a_secret_is_told_from_one_that_holds_none(value: bytes) -> None:
    for values in ([value], [plain("a"), value], [value, plain("a")]):
        whole = batch(7, values)
        assert may_hold_secret(decode_header(whole), whole)
        assert may_hold_secret(decode_header(whole), whole[:-1]), "nobody can tell"
    known = [plain("a"), *(config(*one) for one in PLAIN_CONFIGS.items())]
    whole = batch(7, known)
    assert not may_hold_secret(decode_header(whole), whole)


def test_a_batch_of_a_control_record_that_nobody_knows_may_hold_a_secret() -> None:
    leader, odd = encode_control(LeaderChange(1, 1, (), ()))[1], b"hunter2"
    for type_code, value, expected in ((2, leader, False), (2, odd, True), (9, odd, True)):
        whole = control_batch(7, type_code, value)
        assert may_hold_secret(decode_header(whole), whole) == expected


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
