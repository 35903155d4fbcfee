"""partition.metadata: the topic id of a partition folder (Kafka: PartitionMetadataFile, KIP-516).

version: 0
topic_id: AAAAAAAAAAAAAAAAAAAAAQ
"""

from __future__ import annotations

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.text_file import integer, text_of
from replica.message.primitives import uuid_bytes

FILE_NAME = "partition.metadata"


def decode(data: bytes) -> str:
    """The topic id, 22 characters. Raises DataError with the byte of the wrong line."""
    lines = text_of(data).removesuffix("\n").split("\n")
    if len(lines) != 2:
        raise CorruptDataError(f"{len(lines)} lines, expected 2", 0)
    version = integer(_value(lines[0], "version", 0), 0, "version", 2**31 - 1)
    if version != 0:
        raise UnsupportedDataError(f"version {version}, expected 0", 0)
    position = len(lines[0].encode("utf-8")) + 1
    topic_id = _value(lines[1], "topic_id", position)
    try:
        uuid_bytes(topic_id)
    except CorruptDataError as error:
        raise CorruptDataError(error.reason, position) from error
    return topic_id


def encode(topic_id: str) -> bytes:
    """The file's bytes."""
    return f"version: 0\ntopic_id: {topic_id}".encode("ascii")


def _value(line: str, key: str, position: int) -> str:
    name, colon, value = line.partition(":")
    if name != key or not colon:
        raise CorruptDataError(f"{line[:40]!r} instead of {key}", position)
    return value.strip()
