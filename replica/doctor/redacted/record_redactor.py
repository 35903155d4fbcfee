"""Redacts one record: its key and value lose their secrets, and can be decoded as before."""

from __future__ import annotations

from dataclasses import replace

from replica.doctor.redacted.names import NameHasher
from replica.errors import DataError
from replica.format.control import UnknownControl, decode_control, encode_control, has_unknown_tags
from replica.format.record import Record, RecordHeader
from replica.message.primitives import read_unsigned_varint
from replica.message.schema import TaggedFields
from replica.metadata.codec import decode, encode
from replica.metadata.record import MetadataRecord, UnknownRecord
from replica.metadata.redact import Redactor

FILL = b"\xff" * 16
"""A varint of more than ten bytes, with which no record begins and no value ends."""
_CONTROL_KEY_BYTES = 4
"""The bytes of a control record's key: the version and the type. Readers ignore further bytes."""
_MARKER_BYTES = 6
"""The bytes of a transaction marker's value: its version, and the coordinator's epoch."""


class RecordRedactor:
    """Redacts records. hashes_names: whether users' names are hashed too
    (replica.doctor.redacted.names)."""

    def __init__(self, redactor: Redactor, *, hashes_names: bool = False) -> None:
        self._redactor = redactor
        self._names = NameHasher(redactor) if hashes_names else None

    def redacted(self, record: Record, *, is_control: bool) -> Record:
        """The record with fingerprints in place of secrets, and of bytes whose meaning is unknown
        (headers, the key of a metadata record, the body of an unknown type); with hashes_names also
        of users' names. The same object if nothing had to be replaced.

        A record that can't be decoded stays one that can't be decoded.
        """
        key, value = record.key, record.value
        if is_control:
            key, value = self._control(key, value)
        else:
            key = None if key is None else self._print("key of a record", key)
            value = None if value is None else self._value(value)
        headers = tuple(map(self._header, record.headers))
        if (key, value, headers) == (record.key, record.value, record.headers):
            return record
        return replace(record, key=key, value=value, headers=headers)

    def _value(self, value: bytes) -> bytes:
        try:
            record = decode(value)
        except DataError:
            return _still_unreadable(_envelope(value))
        if isinstance(record, UnknownRecord):
            assert isinstance(record.body, bytes)
            label = f"body of {record.api_key} version {record.version}"
            body = self._print(label, record.body)
            return encode(UnknownRecord(record.api_key, record.version, body))
        shown = self._without_secrets(record)
        if self._names is not None:
            shown = self._names.hashed(shown)
        return value if shown is record else encode(shown)

    def _without_secrets(self, record: MetadataRecord) -> MetadataRecord:
        redacted, has_secret = self._redactor.redact(record)
        if not has_secret:
            return record
        assert isinstance(redacted, MetadataRecord)
        changes = {
            name: text.encode()
            for name, text in redacted.fields.items()
            if isinstance(text, str) and isinstance(record.fields[name], bytes)
        }
        tags = tuple((path, self._tags(found)) for path, found in record.unknown_tags)
        return replace(redacted.with_fields(changes), unknown_tags=tags)

    def _control(self, key: bytes | None, value: bytes | None) -> tuple[bytes | None, bytes | None]:
        key = None if key is None else key[:_CONTROL_KEY_BYTES]
        try:
            message = decode_control(key, value)
        except DataError:  # a reader needs the version to say why the record can't be decoded
            return key, None if value is None else value[:2] + FILL
        if isinstance(message, UnknownControl):
            assert isinstance(message.value, bytes)
            if message.is_marker and len(message.value) <= _MARKER_BYTES:
                return key, value
            shown = self._print(f"control {message.type_code}", message.value[2:])
            return key, message.value[:2] + shown
        if not has_unknown_tags(message):
            return key, value  # the known fields hold no secrets
        assert not isinstance(message, UnknownControl)
        tags = tuple((path, self._tags(found)) for path, found in message.unknown_tags)
        return encode_control(replace(message, unknown_tags=tags, original=None))

    def _tags(self, tags: TaggedFields) -> TaggedFields:
        return tuple((tag, self._print(f"tag {tag}", content)) for tag, content in tags)

    def _header(self, header: RecordHeader) -> RecordHeader:
        key = self._print("key of a header", header.key.encode()).decode()
        value = None if header.value is None else self._print("header", header.value)
        return RecordHeader(key, value)

    def _print(self, label: str, value: bytes) -> bytes:
        return self._redactor.fingerprint(label, value).encode()


def _envelope(value: bytes) -> bytes:
    """Frame version, api key and version of a value, as far as they can be read."""
    at = 0
    for what in ("frame version", "api key", "version"):
        try:
            number, end = read_unsigned_varint(value, at, what)
        except DataError:
            break
        if number >= 1 << 15:  # Kafka has no such number, so the bytes may be part of a secret
            break
        at = end
    return value[:at]


def _still_unreadable(value: bytes) -> bytes:
    """Bytes that can't be decoded: `value` alone, or with FILL behind it; empty if both can be
    decoded."""
    for candidate in (value, value + FILL):
        try:
            decode(candidate)
        except DataError:
            return candidate
    return b""
