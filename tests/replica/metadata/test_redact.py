"""Secrets are never shown, and other values stay as they are."""

from __future__ import annotations

import base64
import re
from dataclasses import replace

import pytest
from hypothesis import given

from replica.message.schema import Value
from replica.metadata.codec import decode
from replica.metadata.json_text import json_text, to_plain
from replica.metadata.record import MetadataRecord, UnknownRecord, new_record
from replica.metadata.records import RECORDS, RECORDS_BY_NAME
from replica.metadata.redact import (
    SECRET_FIELDS,
    Redactor,
    holds_secret,
    is_secret_config,
)
from tests.replica.metadata.password_configs import PASSWORD_CONFIGS
from tests.replica.metadata.strategies import records

REDACTOR = Redactor(b"a key of this lake")
UNKNOWN_CONFIGS = (
    "connection.url",
    "datadog.api.key",
    "db.pwd",
    "my.credential",
    "basic.auth.user.info",
    "aws.access.key.id",
    "signing.private.key",
    "http.auth.header",
    "ssl.key",
    "",
    "retention",
    "listener.name.external.db.pwd",
    "listener.name.retention",
    "Retention.MS",
    "größe",
)
"""Names that no release of Kafka has."""
FINGERPRINT = r"\*\*\*:[0-9a-f]{12}"


def config(name: str, value: str | None) -> MetadataRecord:
    fields: dict[str, Value] = {"resourceType": 4, "name": name, "value": value}
    return new_record("CONFIG_RECORD", 0, fields)


def shown(
    record: MetadataRecord | UnknownRecord, redactor: Redactor = REDACTOR
) -> dict[str, object]:
    return dict(to_plain(redactor.redact(record)[0]))


def scram(salt: bytes = b"salt") -> MetadataRecord:
    secrets: dict[str, Value] = {"salt": salt, "storedKey": b"stored", "serverKey": b"server"}
    fields: dict[str, Value] = {"name": "alice", "mechanism": 1, "iterations": 4096, **secrets}
    return new_record("USER_SCRAM_CREDENTIAL_RECORD", 0, fields)


def test_a_scram_credential_keeps_user_and_iterations_only() -> None:
    record, was_secret = REDACTOR.redact(scram())
    assert was_secret
    assert holds_secret(scram())
    plain = to_plain(record)
    assert (plain["name"], plain["mechanism"], plain["iterations"]) == ("alice", 1, 4096)
    assert list(plain) == list(to_plain(scram()))
    text = json_text(record)
    for secret in (b"salt", b"stored", b"server"):
        assert base64.b64encode(secret).decode() not in text
    fingerprints = {plain[name] for name in SECRET_FIELDS["USER_SCRAM_CREDENTIAL_RECORD"]}
    assert len(fingerprints) == 3


@pytest.mark.parametrize("field", ["salt", "storedKey", "serverKey"])
def test_a_redacted_value_is_a_mark_and_a_short_fingerprint(field: str) -> None:
    assert re.fullmatch(FINGERPRINT, str(shown(scram())[field]))


def test_a_change_shows_and_an_equal_value_looks_equal() -> None:
    assert shown(scram()) == shown(scram())
    assert shown(scram(b"other"))["salt"] != shown(scram())["salt"]
    assert shown(scram(b"other"))["storedKey"] == shown(scram())["storedKey"]


def test_another_key_gives_other_fingerprints() -> None:
    assert shown(scram(), Redactor(b"another key"))["salt"] != shown(scram())["salt"]


def test_equal_secrets_in_unlike_places_do_not_look_equal() -> None:
    # Names of equal length, so that only their text tells them apart.
    twins = scram().with_fields({"storedKey": b"x", "serverKey": b"x"})
    assert shown(twins)["storedKey"] != shown(twins)["serverKey"]
    first, second = config("ssl.key.password", "x"), config("sasl.jaas.config", "x")
    assert shown(first)["value"] != shown(second)["value"]


def test_the_removal_of_a_token_still_finds_its_creation() -> None:
    made = new_record("DELEGATION_TOKEN_RECORD", 0, {"owner": "User:a", "tokenId": "id-1"})
    gone = new_record("REMOVE_DELEGATION_TOKEN_RECORD", 0, {"tokenId": "id-1"})
    assert shown(made)["tokenId"] == shown(gone)["tokenId"] != "id-1"
    assert shown(made)["owner"] == "User:a"
    assert holds_secret(made)
    assert holds_secret(gone)


@pytest.mark.parametrize(
    "name",
    [
        *sorted(PASSWORD_CONFIGS),
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config",
        "listener.name.internal.ssl.key.password",
        "my.plugin.PassWord",
        "remote.storage.secret.access",
        "AUTH_TOKEN",
        "ssl.keystore.location",
        "ssl.truststore.type",
        "key.passphrase",
        *UNKNOWN_CONFIGS,
    ],
)
def test_configs_that_hold_or_point_to_secrets_are_secret(name: str) -> None:
    assert is_secret_config(name)
    assert holds_secret(config(name, "hunter2"))
    record, was_secret = REDACTOR.redact(config(name, "hunter2"))
    assert was_secret
    assert "hunter2" not in json_text(record)
    assert to_plain(record)["name"] == name


@pytest.mark.parametrize(
    "name",
    [
        "retention.ms",
        "cleanup.policy",
        "ssl.protocol",
        "message.format.version",
        "follower.replication.throttled.rate",
        "consumer.session.timeout.ms",
        "match",
        "listener.name.external.ssl.protocol",
        "listener.name.a.gssapi.sasl.kerberos.kinit.cmd",
    ],
)
def test_other_configs_are_untouched(name: str) -> None:
    record = config(name, "hunter2")
    assert REDACTOR.redact(record) == (record, False)
    assert not holds_secret(record)


@pytest.mark.parametrize("name", ["db.pwd", "ssl.key", "listener.name.a.db.pwd"])
def test_a_config_that_kafka_does_not_know_is_shown_where_it_is_named(name: str) -> None:
    naming = Redactor(b"a key of this lake", shown_configs=frozenset({name}))
    assert naming.redact(config(name, "plain")) == (config(name, "plain"), False)
    assert naming.redact(config(name.upper(), "hunter2"))[1]
    assert naming.redact(config(name, "db://u:hunter2@host"))[1]
    assert holds_secret(config(name, "plain")), "what a lake keys does not hang on an option"


@pytest.mark.parametrize("name", ["ssl.key.password", "my.token", "SASL.JAAS.CONFIG"])
def test_a_secret_config_stays_hidden_though_the_user_names_it(name: str) -> None:
    naming = Redactor(b"a key of this lake", shown_configs=frozenset({name}))
    assert naming.redact(config(name, "hunter2"))[1]


@pytest.mark.parametrize(
    "value",
    [
        "jdbc:postgresql://u:hunter2@db/x",
        "https://hunter2@example.org/token",
        "http://a/,http://u:hunter2@b/",
        "x://u:hun/ter2@b",
        "see\nHTTP://u:hunter2@b",
    ],
)
def test_user_info_in_a_url_is_secret_whatever_the_config_is_called(value: str) -> None:
    record = config("sasl.oauthbearer.jwks.endpoint.url", value)
    assert holds_secret(record)
    assert "hunter2" not in json_text(REDACTOR.redact(record)[0])


@pytest.mark.parametrize(
    "value", ["https://example.org/x", "a@b", "SSL://:9093,SASL_SSL://:9094", "a@b://c", "://", "@"]
)
def test_a_url_without_user_info_is_shown(value: str) -> None:
    record = config("sasl.oauthbearer.jwks.endpoint.url", value)
    assert REDACTOR.redact(record) == (record, False)


def test_unknown_tagged_fields_are_withheld_with_the_bytes_that_hold_them() -> None:
    record = replace(scram(), schema=RECORDS_BY_NAME["NO_OP_RECORD"], fields={})
    for plain in (record, config("retention.ms", "1")):
        tagged = replace(plain, unknown_tags=(((), ((33, b"hunter2"),)),))
        assert holds_secret(tagged)
        assert not holds_secret(plain)
        redacted, was_secret = REDACTOR.redact(tagged)
        assert was_secret
        assert isinstance(redacted, MetadataRecord)
        assert redacted.unknown_tags == ()
        assert json_text(redacted) == json_text(plain)


def test_a_removed_secret_config_stays_null_and_holds_no_secret() -> None:
    record = config("ssl.key.password", None)
    assert REDACTOR.redact(record) == (record, False)
    assert not holds_secret(record)


def test_an_empty_secret_is_redacted_too() -> None:
    assert shown(config("ssl.key.password", ""))["value"] != ""


def test_the_body_of_an_unknown_record_is_secret() -> None:
    record = decode(b"\x01\x63\x00hunter2")
    redacted, was_secret = REDACTOR.redact(record)
    assert was_secret
    assert holds_secret(record)
    assert isinstance(redacted, UnknownRecord)
    assert redacted.original is None
    assert str(to_plain(redacted)["body"]).startswith("***:")
    assert (redacted.api_key, redacted.version) == (99, 0)
    assert REDACTOR.redact(redacted) == (redacted, True)


def test_nothing_of_a_secret_record_stays_in_its_raw_parts() -> None:
    padded = b"\x01\x84\x00\x00\x04\x02r\x11ssl.key.password\x08hunter2\x01\x63\x02hi"
    record = decode(padded)
    assert isinstance(record, MetadataRecord)
    assert record.original == padded
    assert record.unknown_tags
    redacted, _ = REDACTOR.redact(record)
    assert isinstance(redacted, MetadataRecord)
    assert redacted.original is None
    assert redacted.unknown_tags == ()


@given(records())
def test_redaction_and_holds_secret_agree_on_every_record(record: MetadataRecord) -> None:
    redacted, was_secret = REDACTOR.redact(record)
    assert was_secret == holds_secret(record)
    if not was_secret:
        assert redacted is record
    assert isinstance(redacted, MetadataRecord)
    assert list(redacted.fields) == list(record.fields)
    may_be_secret = {*SECRET_FIELDS, "CONFIG_RECORD"}
    assert not was_secret or record.type in may_be_secret or record.unknown_tags


def test_the_number_that_replaces_a_crc_depends_on_the_key_the_offset_and_the_crc() -> None:
    numbers = {REDACTOR.batch_crc(offset, crc) for offset in range(50) for crc in range(50)}
    assert len(numbers) == 2500
    assert all(0 <= number < 2**32 for number in numbers)
    assert REDACTOR.batch_crc(7, 2**32 - 1) == REDACTOR.batch_crc(7, 2**32 - 1)
    assert REDACTOR.batch_crc(-1, 1) != Redactor(b"another key").batch_crc(-1, 1)


def test_secret_fields_exist_in_the_schema() -> None:
    names = {schema.name: {f.name for f in schema.fields} for schema in RECORDS}
    for type_name, fields in SECRET_FIELDS.items():
        assert set(fields) <= names[type_name]


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(AssertionError):
        Redactor(b"")
