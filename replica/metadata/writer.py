"""A record -> its value's bytes, the inverse of replica.metadata.reader.

A decoded record gives back the bytes it came from, also where these are not the usual encoding.
"""

from __future__ import annotations

from functools import cache

from replica.errors import CorruptDataError
from replica.message.primitives import write_unsigned_varint
from replica.message.writer import StructWriter, record_writer
from replica.metadata.programs import by_key
from replica.metadata.record import FRAME_VERSION, MetadataRecord, UnknownRecord


def encode(record: MetadataRecord | UnknownRecord) -> bytes:
    """The value's bytes, with the envelope.

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
