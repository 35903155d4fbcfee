"""A record of a log or snapshot, redacted, as the tables and dump show it.

Such a record is a control record of the Raft layer (replica.format.control) or a metadata record of
the controller (replica.metadata.codec).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from replica.errors import CorruptDataError, DataError
from replica.format import control
from replica.format.batch import BatchHeader
from replica.format.compression import Inflation
from replica.format.control import ControlMessage, UnknownControl, decode_control
from replica.format.record import Record, records_of
from replica.message.json_text import Plain, text_of
from replica.message.primitives import Buffer
from replica.metadata.codec import decode
from replica.metadata.json_text import to_plain
from replica.metadata.record import MetadataRecord, UnknownRecord
from replica.metadata.redact import Redactor, holds_secret

UNREADABLE = "UNREADABLE"
"""The record_type of a record whose bytes can't be decoded."""

_Message: TypeAlias = MetadataRecord | UnknownRecord | ControlMessage | None


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of a log with its decoded content."""

    message: _Message
    """The decoded and redacted record. None if the record can't be decoded, for the reason in
    `error`."""
    value: bytes | None
    """The record's bytes; None if the bytes are absent or hold a secret. For a record that can't be
    decoded: a fingerprint of the bytes, or the bytes if secrets are kept.
    """
    has_secret: bool
    """Whether the record holds a secret, hidden or not. A record that can't be decoded counts as a
    record with a secret."""
    error: str | None = None

    @property
    def record_type(self) -> str:
        """Kafka's name of the record's type, such as TOPIC_RECORD or LEADER_CHANGE; UNREADABLE if
        the record can't be decoded."""
        if self.message is None:
            return UNREADABLE
        if isinstance(self.message, MetadataRecord | UnknownRecord):
            return self.message.type
        return control.type_name(self.message)

    @property
    def version(self) -> int | None:
        """The record's version; None if the record can't be decoded or has no version."""
        return None if self.message is None else self.message.version

    @property
    def data(self) -> dict[str, Plain] | None:
        """The record's fields as kafka-dump-log shows them, as JSON values; None if the record
        can't be decoded."""
        if self.message is None:
            return None
        if isinstance(self.message, MetadataRecord | UnknownRecord):
            return to_plain(self.message)
        return control.to_plain(self.message)

    def json_text(self) -> str:
        """`data` as JSON text, byte for byte as kafka-dump-log prints it; null if the record can't
        be decoded."""
        return text_of(self.data)

    @property
    def is_harmless(self) -> bool:
        """Whether the raw bytes may be shown: the record is decoded, known and free of secrets."""
        return self.message is not None and not self.has_secret


class LogRecordReader:
    """Decodes records one by one. redactor: replaces secrets; None to keep them."""

    def __init__(self, redactor: Redactor | None) -> None:
        self.redactor = redactor

    def read(self, record: Record, *, is_control: bool) -> LogRecord:
        """The decoded record. A record that can't be decoded becomes UNREADABLE, with `error`
        set."""
        try:
            if is_control:
                return self._control(decode_control(record.key, record.value), record.value)
            if record.value is None:
                raise CorruptDataError("a metadata record without a value", 0)
            message = decode(record.value)
        except DataError as error:
            return LogRecord(None, self.unreadable_value(record.value), True, str(error))
        return self._redacted(message, record.value)

    def _control(self, message: ControlMessage, value: bytes | None) -> LogRecord:
        if control.has_unknown_tags(message):
            return LogRecord(message, value if self.redactor is None else None, True)
        if not isinstance(message, UnknownControl) or message.is_marker:
            return LogRecord(message, value, False)
        if self.redactor is None or isinstance(message.value, str):
            return LogRecord(message, value, True)
        text = self.redactor.fingerprint(f"control {message.type_code}", message.value)
        return LogRecord(replace(message, value=text), None, True)

    def _redacted(self, message: MetadataRecord | UnknownRecord, value: bytes) -> LogRecord:
        if self.redactor is None:
            return LogRecord(message, value, holds_secret(message))
        shown, has_secret = self.redactor.redact(message)
        return LogRecord(shown, None if has_secret else value, has_secret)

    def unreadable_value(self, value: bytes | None) -> bytes | None:
        """What is kept of a record that can't be decoded: a fingerprint, or all bytes if secrets
        are kept. None for a record without a value."""
        if self.redactor is None or value is None:
            return value
        return self.redactor.fingerprint("unreadable", value).encode("ascii")


_PLAIN = LogRecordReader(None)


def is_harmless(record: Record, *, is_control: bool) -> bool:
    """Whether the record can be decoded, has a known type and version, and has no secret. The value
    of a config that Kafka doesn't know counts as a secret here."""
    return _PLAIN.read(record, is_control=is_control).is_harmless


def may_hold_secret(header: BatchHeader, whole: Buffer, inflation: Inflation | None = None) -> bool:
    """Whether a batch can't be decoded, or holds a record that isn't harmless. inflation: the limit
    of decompression for the batch's file."""
    try:
        records = records_of(header, whole, inflation)
        return not all(is_harmless(record, is_control=header.is_control) for record in records)
    except DataError:
        return True
