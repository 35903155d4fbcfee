"""Which values of metadata records are secret, and the text that stands in their place.

Secret are
- the salt and both keys of a SCRAM credential: with them a password can be guessed offline, or the
  server be impersonated;
- the token id in both delegation token records. The log holds no token's HMAC; but the HMAC, the
  token's password, is the id signed with the brokers' shared key, so the id is half of the
  credential, and Kafka's own shell prints it as [redacted];
- the value of a config that Kafka types as PASSWORD, or whose name says so (password, passphrase,
  secret, token, jaas, keystore, truststore; any case);
- the value of a config that Kafka doesn't know (replica.metadata.known_configs), unless the user
  has named it: plugins have configs for their passwords, keys and URLs, of any name;
- a config's value with user info in a URL, whatever the config is called;
- the body of a record type or version that this release doesn't know, and tagged fields that it
  doesn't know, as nobody can tell. Such fields are in no text, so only raw bytes are withheld.

In their place stands `***:` and 12 hex digits of HMAC-SHA256 over the field's name and the value.
Equal values of a field give equal fingerprints under one key, so a change still shows, and the
removal of a token still finds its creation; without the key a guess cannot be checked. Null stays
null: that a config was removed is no secret.
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
"""Found in the name of every config that Kafka 3.7 to 4.4 declares as PASSWORD (ConfigDef.Type)."""
_USER_INFO = re.compile("://.*@", re.DOTALL)
"""Matches the password in a URL. It takes more than RFC 3986 allows, because people leave a / in a
password unescaped."""
_CONFIG = "CONFIG_RECORD"
_NONE: frozenset[str] = frozenset()


def is_secret_config(name: str, shown: Collection[str] = _NONE) -> bool:
    """True where the value of a config of this name must not be shown. shown: names of configs that
    Kafka doesn't know and the user does."""
    if _TELLING_NAME.search(name):
        return True
    return name not in shown and not is_known_config(name)


def holds_secret(record: MetadataRecord | UnknownRecord) -> bool:
    """True where the value's raw bytes must be dropped along with the fields, unless the user has
    named the config."""
    if isinstance(record, UnknownRecord):
        return True
    return bool(record.unknown_tags or _secret_fields(record, _NONE))


def _secret_fields(record: MetadataRecord, shown: Collection[str]) -> tuple[str, ...]:
    """The fields of the record that hold a secret; none where they are null."""
    name = record.fields.get("name")
    if record.type != _CONFIG or not isinstance(name, str):
        return SECRET_FIELDS.get(record.type, ())
    value = record.fields["value"]
    if not isinstance(value, str):
        return ()
    is_secret = is_secret_config(name, shown) or _USER_INFO.search(value) is not None
    return ("value",) if is_secret else ()


class Redactor:
    """Puts keyed fingerprints in the place of secrets; equal keys give equal texts.

    key: any number of random bytes, 32 for choice; an empty one would let anybody test guesses.
    shown_configs: names of configs that Kafka doesn't know and whose values are no secrets.
    keeps_crcs: leaves the CRCs of batches with secrets as they are, for a lake that has such.
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
        """(the record fit to be shown, whether it held a secret).

        A record without secrets is returned as it is. A redacted one keeps its type and shape, is
        fit for json_text and to_plain, and has lost its original bytes and unknown tagged fields;
        where a field of bytes was replaced, the writer refuses it.
        """
        if isinstance(record, UnknownRecord):
            return self._redact_unknown(record), True
        secret = _secret_fields(record, self._shown)
        if not secret and not record.unknown_tags:
            return record, False
        changes: dict[str, Value] = {}
        for name in secret:
            value = record.fields[name]
            changes[name] = self.fingerprint(_label(record, name), _raw(value))
        return replace(record.with_fields(changes), unknown_tags=()), True

    def _redact_unknown(self, record: UnknownRecord) -> UnknownRecord:
        if isinstance(record.body, str):
            return record
        label = f"body of {record.api_key} version {record.version}"
        return UnknownRecord(record.api_key, record.version, self.fingerprint(label, record.body))

    def fingerprint(self, field: str, value: bytes) -> str:
        """The text in place of `value`; `field` keeps equal values of unlike fields apart."""
        return REDACTED + keyed_digest(self._key, field, value).hex()[:FINGERPRINT_DIGITS]

    def batch_crc(self, base_offset: int, crc: int) -> int:
        """32 bits, unsigned, in place of the CRC of a batch that holds a secret.

        By a CRC, and all that is shown of a batch, a guess of its secret can be checked. These bits
        are equal where base offset and CRC are, so that equal batches still look equal.
        """
        if self._keeps_crcs:
            return crc
        value = base_offset.to_bytes(8, "big", signed=True) + crc.to_bytes(4, "big")
        return int.from_bytes(keyed_digest(self._key, "CRC of a batch", value)[:4], "big")


def keyed_digest(key: bytes, label: str, value: bytes) -> bytes:
    """32 bytes of HMAC-SHA256; `label` keeps equal values of unlike meaning apart."""
    raw = label.encode()
    return hmac.digest(key, len(raw).to_bytes(4, "big") + raw + value, hashlib.sha256)


def _label(record: MetadataRecord, field: str) -> str:
    """The label that keeps the fingerprints of different fields apart. The values of each config
    name count as a field of their own."""
    if record.type != _CONFIG:
        return field
    name = record.fields["name"]
    assert isinstance(name, str)
    return f"{field} of {name}"


def _raw(value: Value) -> bytes:
    if isinstance(value, bytes):
        return value
    assert isinstance(value, str), "every secret field is text or bytes"
    return value.encode()
