"""Finds the secret values in metadata records, and replaces them.

These values are secret:
- the salt and both keys of a SCRAM credential: with them an attacker can guess the password
  offline, or impersonate the server;
- the token id in both delegation token records. A token's password is an HMAC, which the log
  doesn't hold. But this HMAC is made of the id and the brokers' shared key, so the id is half of
  the credential. Kafka's own shell prints the id as [redacted];
- the value of a config with Kafka's type PASSWORD, or whose name suggests a secret (password,
  passphrase, secret, token, jaas, keystore, truststore; any case);
- the value of a config that Kafka doesn't know (replica.metadata.known_configs), unless the user
  has named the config: plugins have configs of any name for their passwords, keys and URLs;
- a config's value with user info in a URL, whatever the config's name;
- the body of a record type or version that this release doesn't know, and unknown tagged fields,
  because their content is unknown. No text shows unknown tagged fields, so only the raw bytes are
  withheld.

A secret is replaced by `***:` and 12 hex digits of HMAC-SHA256 over the field's name and the value.
With one key, equal values of a field give equal fingerprints. So a change stays visible, and the
removal of a token still matches its creation. Without the key nobody can check a guess. Null stays
null, because the removal of a config is no secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection
from dataclasses import replace

from replica.message.schema import REDACTED, Value
from replica.metadata.known_configs import is_known_config
from replica.metadata.record import MetadataRecord, UnknownRecord

FINGERPRINT_DIGITS = 12

SECRET_FIELDS: dict[str, tuple[str, ...]] = {
    "USER_SCRAM_CREDENTIAL_RECORD": ("salt", "storedKey", "serverKey"),
    "DELEGATION_TOKEN_RECORD": ("tokenId",),
    "REMOVE_DELEGATION_TOKEN_RECORD": ("tokenId",),
}
"""Fields that are secret in every record of their type."""

_TELLING_NAME = re.compile(
    "password|passphrase|secret|token|jaas|keystore|truststore", re.IGNORECASE
)
"""A pattern that matches the name of every config with the type PASSWORD (ConfigDef.Type) in Kafka
3.7 to 4.4."""
_USER_INFO = re.compile("://.*@", re.DOTALL)
"""A pattern that matches user info in a URL. The pattern matches more than RFC 3986 allows, because
people often don't escape a / in a password."""
_CONFIG = "CONFIG_RECORD"
_NONE: frozenset[str] = frozenset()


def is_secret_config(name: str, shown: Collection[str] = _NONE) -> bool:
    """Whether the value of a config with this name must not be shown. shown: the names of configs
    that Kafka doesn't know and whose values the user wants to see."""
    if _TELLING_NAME.search(name):
        return True
    return name not in shown and not is_known_config(name)


def is_secret_setting(name: str, value: str, shown: Collection[str] = _NONE) -> bool:
    """Whether this value of a config must not be shown. shown: the names of configs that Kafka
    doesn't know and whose values the user wants to see."""
    return is_secret_config(name, shown) or _USER_INFO.search(value) is not None


def holds_secret(record: MetadataRecord | UnknownRecord) -> bool:
    """Whether the record's raw bytes must not be shown. The value of a config that Kafka doesn't
    know counts as a secret here."""
    if isinstance(record, UnknownRecord):
        return True
    return bool(record.unknown_tags or _secret_fields(record, _NONE))


def _secret_fields(record: MetadataRecord, shown: Collection[str]) -> tuple[str, ...]:
    """The fields of the record that hold a secret, without fields that are null."""
    name = record.fields.get("name")
    if record.type != _CONFIG or not isinstance(name, str):
        return SECRET_FIELDS.get(record.type, ())
    value = record.fields["value"]
    if not isinstance(value, str):
        return ()
    return ("value",) if is_secret_setting(name, value, shown) else ()


class Redactor:
    """Replaces secrets by keyed fingerprints. Equal keys give equal texts.

    key: random bytes, at least one and best 32.
    shown_configs: names of configs that Kafka doesn't know and whose values are no secrets.
    keeps_crcs: whether the CRCs of batches with secrets stay unchanged, for a lake that already
        holds these CRCs.
    """

    __slots__ = ("_keeps_crcs", "_key", "_shown")

    def __init__(
        self, key: bytes, shown_configs: Collection[str] = _NONE, *, keeps_crcs: bool = False
    ) -> None:
        assert key, "an empty key makes fingerprints that anyone can recompute"
        self._key = key
        self._shown = shown_configs
        self._keeps_crcs = keeps_crcs

    def redact(
        self, record: MetadataRecord | UnknownRecord
    ) -> tuple[MetadataRecord | UnknownRecord, bool]:
        """(the record without secrets, whether the record held a secret).

        A record without secrets is returned unchanged. A redacted record keeps its type and its
        fields for json_text and to_plain, but not its original bytes or unknown tagged fields. The
        writer refuses a redacted record if a field of bytes was replaced.
        """
        if isinstance(record, UnknownRecord):
            if isinstance(record.body, bytes):
                label = f"body of {record.api_key} version {record.version}"
                text = self.fingerprint(label, record.body)
                record = UnknownRecord(record.api_key, record.version, text)
            return record, True
        secret = _secret_fields(record, self._shown)
        if not secret and not record.unknown_tags:
            return record, False
        changes: dict[str, Value] = {}
        for name in secret:
            value = record.fields[name]
            raw = value.encode() if isinstance(value, str) else value
            assert isinstance(raw, bytes), "every secret field is text or bytes"
            changes[name] = self.fingerprint(_label(record, name), raw)
        return replace(record.with_fields(changes), unknown_tags=()), True

    def fingerprint(self, field: str, value: bytes) -> str:
        """The text that replaces `value`. Equal values of different fields have different texts."""
        return REDACTED + keyed_digest(self._key, field, value).hex()[:FINGERPRINT_DIGITS]

    def batch_crc(self, base_offset: int, crc: int) -> int:
        """The unsigned 32-bit number that replaces the CRC of a batch with a secret; the CRC itself
        if this redactor keeps CRCs.

        With the CRC and the rest of the batch, a reader could check a guess of the secret. Equal
        base offsets and CRCs give equal numbers, so equal batches stay equal.
        """
        if self._keeps_crcs:
            return crc
        value = base_offset.to_bytes(8, "big", signed=True) + crc.to_bytes(4, "big")
        return int.from_bytes(keyed_digest(self._key, "CRC of a batch", value)[:4], "big")


def keyed_digest(key: bytes, label: str, value: bytes) -> bytes:
    """32 bytes of HMAC-SHA256. Equal values under different labels have different digests."""
    raw = label.encode()
    return hmac.digest(key, len(raw).to_bytes(4, "big") + raw + value, hashlib.sha256)


def _label(record: MetadataRecord, field: str) -> str:
    """The label of a field for its fingerprints. Each config name has its own label."""
    if record.type != _CONFIG:
        return field
    name = record.fields["name"]
    assert isinstance(name, str)
    return f"{field} of {name}"
