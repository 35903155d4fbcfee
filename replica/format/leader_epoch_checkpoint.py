"""leader-epoch-checkpoint: the start offset of each leader epoch (Kafka:
LeaderEpochCheckpointFile).

0              version
2              number of entries
3 0            epoch, start offset
5 378

A new log has this file with 0 bytes until its first epoch begins.
"""

from __future__ import annotations

from replica.errors import CorruptDataError, TruncatedDataError, UnsupportedDataError
from replica.format.text_file import integer, text_of
from replica.model.epochs import EpochStart

FILE_NAME = "leader-epoch-checkpoint"
_VERSION = 0
_MAX_EPOCH = 2**31 - 1
_MAX_OFFSET = 2**63 - 1


def decode(data: bytes) -> tuple[EpochStart, ...]:
    """The entries in the order of the file, which isn't checked.

    Raises DataError with the byte of the wrong line.
    """
    lines = _lines(data)
    if not lines:
        raise TruncatedDataError("no version line", 0)
    version = integer(lines[0][1], lines[0][0], "version", _MAX_EPOCH)
    if version != _VERSION:
        raise UnsupportedDataError(f"version {version}, expected {_VERSION}", 0)
    if len(lines) < 2:
        raise TruncatedDataError("no line with the number of entries", len(data))
    expected = integer(lines[1][1], lines[1][0], "number of entries", _MAX_EPOCH)
    entries = tuple(_entry(position, line) for position, line in lines[2:])
    if len(entries) != expected:
        raise CorruptDataError(f"{expected} entries announced, {len(entries)} found", lines[1][0])
    return entries


def encode(entries: tuple[EpochStart, ...]) -> bytes:
    """The file's bytes."""
    lines = [f"{_VERSION}", f"{len(entries)}"]
    lines += [f"{entry.epoch} {entry.start_offset}" for entry in entries]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _lines(data: bytes) -> list[tuple[int, str]]:
    """(byte position, line) of each line. As in Java, a line ends with CRLF or LF."""
    text = text_of(data)
    lines = []
    position = 0
    for line in text.removesuffix("\n").split("\n") if text else []:
        lines.append((position, line.removesuffix("\r")))
        position += len(line.encode("utf-8")) + 1
    return lines


def _entry(position: int, line: str) -> EpochStart:
    words = line.split()
    if len(words) != 2:
        raise CorruptDataError(f"{line[:40]!r} is not an epoch and an offset", position)
    epoch = integer(words[0], position, "epoch", _MAX_EPOCH)
    return EpochStart(epoch, integer(words[1], position, "start offset", _MAX_OFFSET))
