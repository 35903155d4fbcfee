"""The files of a metadata directory without secrets, each as a capture is about to copy it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from replica.errors import DataError, UnreadableFileError
from replica.format import index, quorum_properties
from replica.format.file_names import LOG_KINDS, FileKind, FileName, classify, segment_file_name
from replica.format.small_files import INDEX_DECODERS, STATE_DECODERS, size_limit
from replica.message.primitives import Buffer
from replica.redacted.log_file import RedactedLog, redacted_log
from replica.redacted.records import RecordRedactor

_UNREADABLE = b"\xff"

ReadFile = Callable[[str, int], Buffer]
"""(path, most bytes) -> the file's bytes; UnreadableFileError."""


@dataclass(frozen=True, slots=True)
class _Latest:
    """The log that was redacted last, as its index comes before it and needs it too."""

    path: str
    data: Buffer
    log: RedactedLog


class RedactedFiles:
    """read: of the logs that indexes point into."""

    def __init__(self, records: RecordRedactor, read: ReadFile) -> None:
        self._records = records
        self._read = read
        self._latest: _Latest | None = None

    def content(self, path: str, data: Buffer) -> Buffer:
        """What stands for the bytes of the file at `path`, of a kind that classify knows.

        A small file that doesn't decode becomes one that doesn't either, as nobody can tell what is
        in it.
        """
        name = classify(os.path.basename(path))
        if name.kind in LOG_KINDS:
            return self._log(path, data).content
        if not len(data):
            return data
        decode = {**STATE_DECODERS, **INDEX_DECODERS}[name.kind]
        try:
            decode(bytes(data))
        except (DataError, UnicodeDecodeError):
            return _UNREADABLE * len(data)
        if name.kind is FileKind.OFFSET_INDEX:
            return self._offset_index(path, name, bytes(data))
        if name.kind is FileKind.QUORUM_PROPERTIES:
            return _configured_voters(bytes(data))
        return data

    def _log(self, path: str, data: Buffer) -> RedactedLog:
        latest = self._latest
        if latest is None or latest.path != path or memoryview(latest.data) != memoryview(data):
            latest = _Latest(path, data, redacted_log(data, self._records))
            self._latest = latest
        return latest.log

    def _offset_index(self, path: str, name: FileName, data: bytes) -> bytes:
        """Its positions are those of the new log; as they were where there is no log."""
        assert name.base_offset is not None, "an index has its segment's number"
        log_name = segment_file_name(name.base_offset, FileKind.SEGMENT)
        log_path = os.path.join(os.path.dirname(path), log_name + (".deleted" * name.deleted))
        try:
            log = self._log(log_path, self._read(log_path, size_limit(classify(log_name))))
        except UnreadableFileError:
            return data
        found = index.decode_offset_index(data)
        entries = (replace(one, position=log.position(one.position)) for one in found.entries)
        return index.encode_offset_index(replace(found, entries=tuple(entries)))


def _configured_voters(data: bytes) -> bytes:
    """The one line that tells who votes: people put whole server.properties into this file."""
    voters = quorum_properties.decode(data)
    named = ",".join(f"{one.voter_id}@{_host(one.host)}:{one.port}" for one in voters)
    return f"controller.quorum.voters={named}\n".encode()


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
