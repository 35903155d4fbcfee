"""Decodes a record's value to a MetadataRecord, and encodes it again (Kafka: MetadataRecordSerde,
AbstractApiMessageSerde).

The value begins with an envelope of three unsigned varints: the frame version 1, the api key and
the record's version. Then comes the record. replica.message.reader names the points in which it is
stricter than Kafka. Encoding a decoded record gives its original bytes, even if they are not the
usual encoding.
"""

from __future__ import annotations

from functools import cache

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.message.primitives import Buffer, write_unsigned_varint
from replica.message.reader import Notes, StructReader, left_over, read_varint, record_reader
from replica.message.schema import RecordSchema
from replica.message.writer import StructWriter, record_writer
from replica.metadata.programs import by_key
from replica.metadata.record import FRAME_VERSION, MetadataRecord, UnknownRecord

_MAX_INT16 = 0x7FFF


def decode(value: Buffer) -> MetadataRecord | UnknownRecord:
    """The record in the value of one log record.

    Raises TruncatedDataError or CorruptDataError, whose positions count from the start of `value`,
    and UnsupportedDataError for a frame version other than 1 or too many elements (MAX_ELEMENTS of
    replica.message.reader).
    """
    data = value if type(value) is bytes else bytes(value)
    notes = Notes()
    frame, at = read_varint(data, 0, "frame version", notes)
    if frame != FRAME_VERSION:
        raise UnsupportedDataError(f"frame version {frame}, expected {FRAME_VERSION}", 0)
    api_key, version_at = _int16_varint(data, at, "api key", notes)
    version, body_at = _int16_varint(data, version_at, "record version", notes)
    compiled = _readers().get((api_key, version))
    if compiled is None:
        return UnknownRecord(api_key, version, data[body_at:], data if notes.odd else None)
    schema, read = compiled
    fields, end = read(data, body_at, notes)
    if end != len(data):
        raise left_over(schema, data, end)
    original = data if notes.odd else None
    return MetadataRecord(schema, version, fields, tuple(notes.unknown), original)


@cache
def _readers() -> dict[tuple[int, int], tuple[RecordSchema, StructReader]]:
    return by_key(lambda program: (program.schema, record_reader(program)))


def _int16_varint(data: bytes, position: int, what: str, notes: Notes) -> tuple[int, int]:
    value, end = read_varint(data, position, what, notes)
    if value > _MAX_INT16:
        raise CorruptDataError(f"{what} {value} is above {_MAX_INT16}", position)
    return value, end


def encode(record: MetadataRecord | UnknownRecord) -> bytes:
    """The bytes of a record's value, with the envelope.

    Raises CorruptDataError for a field whose value does not fit its type, such as a secret that
    was redacted.
    """
    if record.original is not None:
        return record.original
    out = bytearray()
    write_unsigned_varint(out, FRAME_VERSION)
    write_unsigned_varint(out, record.api_key)
    write_unsigned_varint(out, record.version)
    if isinstance(record, UnknownRecord):
        if isinstance(record.body, str):
            raise CorruptDataError(f"{record.type} can't be encoded: its body was redacted")
        return bytes(out) + record.body
    write = _writers()[record.api_key, record.version]
    write(out, record.fields, (), dict(record.unknown_tags))
    return bytes(out)


@cache
def _writers() -> dict[tuple[int, int], StructWriter]:
    return by_key(record_writer)
