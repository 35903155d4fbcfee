"""Encoding metadata records: the bytes that were decoded come back."""

from __future__ import annotations

import pytest
from hypothesis import given

from replica.errors import CorruptDataError
from replica.message.schema import Value
from replica.metadata.codec import decode, encode
from replica.metadata.record import MetadataRecord, UnknownRecord, new_record
from replica.metadata.redact import Redactor
from tests.replica.metadata.strategies import records


@given(records())
def test_any_record_survives_the_way_to_bytes_and_back(record: MetadataRecord) -> None:
    value = encode(record)
    again = decode(value)
    assert isinstance(again, MetadataRecord)
    assert encode(again) == value
    assert again.original is None
    assert (again.type, again.version) == (record.type, record.version)
    assert again.unknown_tags == record.unknown_tags
    # repr, for NaN is not equal to itself; it also tells -0.0 from 0.0, and True from 1
    assert repr(again.fields) == repr(record.fields)


def test_values_that_kafka_read_are_written_the_same(golden: tuple[tuple[bytes, str], ...]) -> None:
    for value, _ in golden:
        assert encode(decode(value)) == value


def test_a_new_record_takes_defaults_and_leaves_default_tags_out() -> None:
    record = new_record("PARTITION_CHANGE_RECORD", 2, {"partitionId": 1, "isr": (3,)})
    assert record.fields["leader"] == -2
    assert encode(record) == b"\x01\x05\x02\0\0\0\x01" + bytes(16) + b"\x01\x00\x05\x02\0\0\0\x03"


def test_tagged_fields_are_written_by_tag_not_by_declaration() -> None:
    values: dict[str, Value] = {"directories": (), "eligibleLeaderReplicas": (), "lastKnownElr": ()}
    value = encode(new_record("PARTITION_CHANGE_RECORD", 2, values))
    assert value[23:] == b"\x03\x06\x01\x01\x07\x01\x01\x08\x01\x01"


def test_unknown_tags_are_woven_in_among_known_ones() -> None:
    record = new_record("PARTITION_RECORD", 0, {"leaderRecoveryState": 1})
    woven = MetadataRecord(record.schema, 0, record.fields, (((), ((99, b"x"),)),))
    assert encode(woven)[-7:] == b"\x02\x00\x01\x01\x63\x01x"


def test_a_changed_record_is_encoded_anew() -> None:
    padded = b"\x01\x82\x00\x00\x04foo" + bytes(17)
    record = decode(padded)
    assert isinstance(record, MetadataRecord)
    assert record.original == padded
    changed = record.with_fields({"name": "bar"})
    assert encode(changed) == b"\x01\x02\x00\x04bar" + bytes(17)
    assert record.fields["name"] == "foo"


@pytest.mark.parametrize(
    ("type_name", "values", "reason"),
    [
        ("PARTITION_RECORD", {"leader": 1 << 31}, "leader: the int doesn't fit into int32"),
        ("PARTITION_RECORD", {"leader": "3"}, "leader: the str doesn't fit into int32"),
        ("PARTITION_RECORD", {"replicas": None}, "replicas: the NoneType doesn't fit into []int32"),
        ("PARTITION_RECORD", {"replicas": ("a",)}, "doesn't fit into []int32"),
        ("PARTITION_RECORD", {"topicId": "short"}, "UUID"),
        ("PARTITION_RECORD", {"topicId": None}, "topicId: the NoneType doesn't fit into uuid"),
        ("TOPIC_RECORD", {"name": None}, "doesn't fit into string"),
        ("TOPIC_RECORD", {"name": b"raw"}, "name: the bytes doesn't fit into string"),
        ("TOPIC_RECORD", {"name": "\ud800"}, "doesn't fit into string"),
        ("USER_SCRAM_CREDENTIAL_RECORD", {"salt": "text"}, "salt: the str doesn't fit into bytes"),
        ("CLIENT_QUOTA_RECORD", {"entity": ("x",)}, "entity: the str doesn't fit into []struct"),
        ("CLIENT_QUOTA_RECORD", {"entity": ({},)}, "entityType is missing"),
    ],
)
def test_a_value_that_does_not_fit_its_field_is_refused(
    type_name: str, values: dict[str, Value], reason: str
) -> None:
    with pytest.raises(CorruptDataError) as caught:
        encode(new_record(type_name, 0, values))
    assert reason in caught.value.reason


def test_a_refusal_does_not_repeat_the_value() -> None:
    with pytest.raises(CorruptDataError) as caught:
        encode(new_record("USER_SCRAM_CREDENTIAL_RECORD", 0, {"salt": "hunter2"}))
    assert "hunter2" not in str(caught.value)


def test_a_redacted_body_cannot_be_written() -> None:
    record, _ = Redactor(b"key").redact(UnknownRecord(99, 0, b"body"))
    with pytest.raises(CorruptDataError, match="redacted"):
        encode(record)


def test_a_field_or_version_that_does_not_exist_is_the_callers_bug() -> None:
    with pytest.raises(AssertionError):
        new_record("TOPIC_RECORD", 0, {"nmae": "x"})
    with pytest.raises(AssertionError):
        new_record("TOPIC_RECORD", 1, {})
    with pytest.raises(KeyError):
        new_record("TOPICS", 0, {})
