"""Single records without their secrets: what stays, what goes, and what still doesn't decode."""

from __future__ import annotations

import pytest
from hypothesis import given

from replica.doctor.redacted.record_redactor import RecordRedactor
from replica.errors import DataError
from replica.format.control import UnknownControl, decode_control
from replica.format.record import Record, RecordHeader
from replica.metadata.codec import decode, encode
from replica.metadata.record import MetadataRecord, UnknownRecord, new_record
from replica.metadata.redact import Redactor
from tests.replica.metadata.strategies import records

KEY = b"a key of these tests"
SECRET = b"hunter2"


def record_of(value: bytes | None, *, key: bytes | None = None) -> Record:
    return Record(7, 1_700_000_000_000, key, value)


def redacted(value: bytes, *, hashes_names: bool = False) -> bytes:
    redactor = RecordRedactor(Redactor(KEY), hashes_names=hashes_names)
    made = redactor.redacted(record_of(value), is_control=False)
    assert (made.offset, made.timestamp, made.key) == (7, 1_700_000_000_000, None)
    assert made.value is not None
    return made.value


@given(records())
def test_a_record_keeps_its_type_and_all_that_is_no_secret(record: MetadataRecord) -> None:
    value = encode(record)
    made = decode(redacted(value))
    shown, has_secret = Redactor(KEY).redact(record)
    assert isinstance(made, MetadataRecord)
    assert isinstance(shown, MetadataRecord)
    assert (made.type, made.version) == (record.type, record.version)
    as_bytes = {
        name: text.encode() if isinstance(record.fields[name], bytes) else text
        for name, text in shown.fields.items()
    }
    assert repr(made.fields) == repr(as_bytes), "NaN is not equal to itself"
    assert [(path, [tag for tag, _ in tags]) for path, tags in made.unknown_tags] == [
        (path, [tag for tag, _ in tags]) for path, tags in record.unknown_tags
    ]
    if not has_secret:
        assert redacted(value) == value


def test_a_redacted_scram_credential_keeps_user_and_mechanism_and_loses_salt_and_keys() -> None:
    fields = {"name": "alice", "mechanism": 1, "iterations": 8192}
    secret = {"salt": SECRET, "storedKey": SECRET + b"1", "serverKey": SECRET + b"2"}
    made = redacted(encode(new_record("USER_SCRAM_CREDENTIAL_RECORD", 0, {**fields, **secret})))
    assert SECRET not in made
    read = decode(made)
    assert isinstance(read, MetadataRecord)
    assert {name: read.fields[name] for name in fields} == fields


def test_an_unknown_record_keeps_its_type_and_version() -> None:
    made = decode(redacted(b"\x01\x78\x03" + SECRET))
    assert isinstance(made, UnknownRecord)
    assert (made.api_key, made.version) == (0x78, 3)
    assert isinstance(made.body, bytes)
    assert SECRET not in made.body


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x01",
        b"\x01\x04\x00\x02\x08" + SECRET,
        b"\x07\x04\x00" + SECRET,
        b"\x01\x14\x00\x00" + SECRET,
        b"\xff\xff\xff\xff\xff\xff" + SECRET,
    ],
)
def test_an_undecodable_record_stays_so_and_shows_only_its_type(value: bytes) -> None:
    with pytest.raises(DataError):
        decode(value)
    made = redacted(value)
    with pytest.raises(DataError):
        decode(made)
    assert SECRET not in made
    assert made[:3] == value[:3] or value[:1] in (b"", b"\xff")


def test_keys_and_headers_of_records_are_withheld() -> None:
    record = Record(0, 0, SECRET, encode(new_record("NO_OP_RECORD", 0, {})))
    header = RecordHeader("hunter2", SECRET)
    with_header = Record(0, 0, None, record.value, (header,))
    for one in (record, with_header):
        assert SECRET.decode() not in repr(
            RecordRedactor(Redactor(KEY)).redacted(one, is_control=False)
        )


def test_an_unknown_control_record_keeps_its_type_and_version() -> None:
    record = Record(0, 0, b"\0\0\0\x09", b"\0\x05" + SECRET)
    made = RecordRedactor(Redactor(KEY)).redacted(record, is_control=True)
    message = decode_control(made.key, made.value)
    assert isinstance(message, UnknownControl)
    assert message.type_code == 9
    assert SECRET.decode() not in repr(made)
    marker = Record(0, 0, b"\0\0\0\x01", b"\0\0\0\0\0\x07")
    assert RecordRedactor(Redactor(KEY)).redacted(marker, is_control=True) is marker


def test_tagged_fields_that_nobody_knows_keep_their_tags_in_control_records_too() -> None:
    footer = Record(0, 0, b"\0\0\0\x04", b"\0\0\x01\x63\x07" + SECRET)
    made = RecordRedactor(Redactor(KEY)).redacted(footer, is_control=True)
    message = decode_control(made.key, made.value)
    assert not isinstance(message, UnknownControl)
    ((path, ((tag, content),)),) = message.unknown_tags
    assert path == ()
    assert tag == 0x63
    assert SECRET not in content


NAMED = [
    new_record("TOPIC_RECORD", 0, {"name": "payroll"}),
    new_record(
        "CONFIG_RECORD",
        0,
        {"resourceType": 2, "resourceName": "payroll", "name": "retention.ms", "value": "1"},
    ),
    new_record("CLEAR_ELR_RECORD", 0, {"topicName": "payroll"}),
    new_record(
        "ACCESS_CONTROL_ENTRY_RECORD",
        0,
        {"resourceType": 2, "resourceName": "payroll", "principal": "User:payroll"},
    ),
]


def test_a_topic_has_one_name_in_all_records() -> None:
    redactor = Redactor(KEY)
    made = [redacted(encode(record), hashes_names=True) for record in NAMED]
    name = "topic-" + redactor.fingerprint("name of a topic", b"payroll").removeprefix("***:")
    for value in made:
        assert b"payroll" not in value
        assert name.encode() in value


@pytest.mark.parametrize(
    ("record", "kept"),
    [
        (new_record("TOPIC_RECORD", 0, {"name": "__consumer_offsets"}), ["__consumer_offsets"]),
        (
            new_record(
                "CONFIG_RECORD",
                0,
                {"resourceType": 4, "resourceName": "12", "name": "retention.ms", "value": "1"},
            ),
            ["12", "retention.ms"],
        ),
        (
            new_record(
                "ACCESS_CONTROL_ENTRY_RECORD",
                0,
                {"resourceType": 4, "resourceName": "kafka-cluster", "principal": "User:*"},
            ),
            ["kafka-cluster", "User:*"],
        ),
    ],
)
def test_names_that_are_kafkas_or_numbers_stay(record: MetadataRecord, kept: list[str]) -> None:
    made = redacted(encode(record), hashes_names=True)
    for text in kept:
        assert text.encode() in made


def test_names_of_users_agree_over_credentials_quotas_tokens_and_acls() -> None:
    quota = {"entity": ({"entityType": "user", "entityName": "alice"},), "key": "k", "value": 1.0}
    tokens = {"owner": "User:alice", "requester": "User:alice", "renewers": ("User:alice",)}
    made = [
        redacted(encode(record), hashes_names=True)
        for record in (
            new_record("USER_SCRAM_CREDENTIAL_RECORD", 0, {"name": "alice", "mechanism": 1}),
            new_record("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", 0, {"name": "alice"}),
            new_record("CLIENT_QUOTA_RECORD", 0, quota),
            new_record("DELEGATION_TOKEN_RECORD", 0, {**tokens, "tokenId": "t"}),
            new_record("ACCESS_CONTROL_ENTRY_RECORD", 0, {"principal": "User:alice"}),
        )
    ]
    digits = Redactor(KEY).fingerprint("name of a user", b"alice").removeprefix("***:")
    for value in made:
        assert b"alice" not in value
        assert f"user-{digits}".encode() in value


@pytest.mark.parametrize("code", [0, 1, 2, 5])
def test_bytes_behind_the_key_and_marker_of_a_control_record_are_withheld(
    code: int,
) -> None:
    redactor, key = RecordRedactor(Redactor(KEY)), bytes((0, 0, 0, code))
    made = redactor.redacted(Record(3, 7, key + SECRET, bytes(6) + SECRET), is_control=True)
    assert SECRET.decode() not in repr(made)
    assert made.key == key


def test_a_transaction_marker_stays_as_it_is() -> None:
    marker = Record(3, 7, bytes((0, 0, 0, 1)), bytes(6))
    assert RecordRedactor(Redactor(KEY)).redacted(marker, is_control=True) is marker


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("errors.deadletterqueue.topic.name", "orders-dlq", "topic-"),
        ("errors.deadletterqueue.topic.name.prefix", "orders-", "topic-prefix-"),
        ("match", "client_id=billing", "client-metrics-match-"),
    ],
)
def test_the_value_of_a_config_that_holds_a_name_is_hashed(
    name: str, value: str, kind: str
) -> None:
    fields = {"resourceType": 16, "resourceName": "", "name": name, "value": value}
    made = decode(redacted(encode(new_record("CONFIG_RECORD", 0, fields)), hashes_names=True))
    assert isinstance(made, MetadataRecord)
    assert str(made.fields["value"]).startswith(kind)
    assert value not in str(made.fields["value"])
