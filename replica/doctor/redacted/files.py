"""The files of a metadata directory without secrets, as a capture copies them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from io import BytesIO
from typing import BinaryIO

from replica.doctor.redacted.log_file import Moved, redact_log
from replica.doctor.redacted.record_redactor import RecordRedactor
from replica.errors import DataError, UnreadableFileError, UnwritableFileError
from replica.format import (
    index,
    leader_epoch_checkpoint,
    meta_properties,
    partition_metadata,
    producer_snapshot,
    quorum_properties,
    quorum_state,
)
from replica.format.byte_source import OpenFile, Source, all_bytes, byte_source
from replica.format.content_hash import content_hash
from replica.format.file_names import LOG_KINDS, FileKind, FileName, classify, segment_file_name
from replica.format.java_properties import escape
from replica.format.listing import size_limit
from replica.format.reading import SMALL_BYTES, ReadFile

_UNREADABLE = b"\xff"
_META_KEYS = ("version", "cluster.id", "node.id", "broker.id", "directory.id")


@dataclass(frozen=True, slots=True)
class _Latest:
    """The log that was redacted last. It is kept because a capture copies the log's index before
    the log, and the index needs the positions in the redacted log. size, digest: the size and the
    content_hash of the log before it was redacted. Both are needed, because a stranger can make
    logs of different sizes with one hash."""

    path: str
    size: int
    digest: str
    content: Source
    moved: Moved


class RedactedFiles:
    """Redacts files one by one. read: a function that reads the logs to which indexes point."""

    def __init__(self, records: RecordRedactor, read: ReadFile) -> None:
        self._records = records
        self._read = read
        self._latest: _Latest | None = None

    def content(self, path: str, data: Source) -> Source:
        """The redacted bytes of the file at `path`, whose kind `classify` knows.

        A log of more than SMALL_BYTES becomes an unnamed file in TMPDIR. An offset index gets the
        positions in the redacted log. Any other small file keeps everything except comments and
        keys that Kafka doesn't know. A file that can't be decoded becomes bytes that can't be
        decoded either, because its content is unknown. Raises UnreadableFileError and
        UnwritableFileError.
        """
        name = classify(os.path.basename(path))
        if name.kind in LOG_KINDS:
            return self._log(path, data).content
        small = all_bytes(data)
        if not small:
            return small
        try:
            if name.kind is FileKind.OFFSET_INDEX:
                return self._offset_index(path, name, small)
            return _WRITTEN_ANEW[name.kind](small)
        except (DataError, UnicodeError):
            return _UNREADABLE * len(small)

    def _log(self, path: str, data: Source) -> _Latest:
        digest = content_hash(classify(os.path.basename(path)), data)
        latest, size = self._latest, byte_source(data).size
        if latest is None or (latest.path, latest.size, latest.digest) != (path, size, digest):
            self._latest = None  # so that not both are in memory
            content, moved = self._redacted(data)
            latest = self._latest = _Latest(path, size, digest, content, moved)
        return latest

    def _redacted(self, data: Source) -> tuple[Source, Moved]:
        if byte_source(data).size <= SMALL_BYTES:
            memory = BytesIO()
            moved = redact_log(data, self._records, memory)
            return memory.getvalue(), moved
        try:
            with tempfile.TemporaryFile() as file:
                moved = redact_log(data, self._records, file)
                return _opened(file), moved
        except OSError as error:
            place = tempfile.gettempdir()
            raise UnwritableFileError(place, error.strerror or str(error)) from error

    def _offset_index(self, path: str, name: FileName, data: bytes) -> bytes:
        """The index with positions in the new log. If its log can't be read, the entries get the
        positions 0, 1 and so on, because the old positions would show the sizes of batches."""
        found = index.decode_offset_index(data)
        assert name.base_offset is not None, "an index has its segment's number"
        log_name = segment_file_name(name.base_offset, FileKind.SEGMENT)
        log_path = os.path.join(os.path.dirname(path), log_name + (".deleted" * name.deleted))
        try:
            log = self._log(log_path, self._read(log_path, size_limit(classify(log_name))))
        except UnreadableFileError:
            places = list(range(len(found.entries)))
        else:
            places = [log.moved.position(one.position) for one in found.entries]
        entries = map(_at, found.entries, places)
        return index.encode_offset_index(replace(found, entries=tuple(entries)))


def _at(entry: index.OffsetIndexEntry, position: int) -> index.OffsetIndexEntry:
    return replace(entry, position=position)


def _opened(file: BinaryIO) -> OpenFile:
    file.flush()
    handle = os.dup(file.fileno())
    return OpenFile(tempfile.gettempdir(), handle, os.fstat(handle).st_size)


def _meta(data: bytes) -> bytes:
    meta = meta_properties.decode(data)
    lines = [f"{key}={escape(value)}" for key, value in meta.properties if key in _META_KEYS]
    return meta_properties.encode(replace(meta, lines=(*lines, "")))


def _quorum_state(data: bytes) -> bytes:
    state = quorum_state.decode(data)
    known = quorum_state.new_state(
        version=state.version,
        leader_id=state.leader_id,
        leader_epoch=state.leader_epoch,
        voted_id=state.voted_id,
        voted_directory_id=state.voted_directory_id,
        current_voters=state.current_voters,
    )
    return quorum_state.encode(known)


def _configured_voters(data: bytes) -> bytes:
    """Only the line that names the voters, because people put a whole server.properties into this
    file."""
    voters = quorum_properties.decode(data)
    named = ",".join(f"{one.voter_id}@{_host(one.host)}:{one.port}" for one in voters)
    return f"controller.quorum.voters={named}\n".encode()


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


_WRITTEN_ANEW: dict[FileKind, Callable[[bytes], bytes]] = {
    FileKind.META_PROPERTIES: _meta,
    FileKind.QUORUM_STATE: _quorum_state,
    FileKind.QUORUM_PROPERTIES: _configured_voters,
    FileKind.LEADER_EPOCH_CHECKPOINT: lambda data: leader_epoch_checkpoint.encode(
        leader_epoch_checkpoint.decode(data)
    ),
    FileKind.PARTITION_METADATA: lambda data: partition_metadata.encode(
        partition_metadata.decode(data)
    ),
    FileKind.PRODUCER_SNAPSHOT: lambda data: producer_snapshot.encode(
        producer_snapshot.decode(data)
    ),
    FileKind.TIME_INDEX: lambda data: index.encode_time_index(index.decode_time_index(data)),
}
