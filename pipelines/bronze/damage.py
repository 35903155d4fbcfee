"""Rows of bronze.damage: places from which no record can be read. The driver makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pipelines.bronze.captured import Captured
from pipelines.bronze.files import source_of
from pipelines.capture.capture import Capture
from pipelines.sources.ranges import RangePartition, end_of, range_source
from pipelines.tables.keys import replica_of
from replica.errors import DataError
from replica.format.batch import decode_header
from replica.format.byte_source import all_bytes
from replica.format.damage import MAX_RAW_BYTES, Damage, DamageKind
from replica.format.directory import DirectoryFile
from replica.format.file_names import LOG_KINDS, classify
from replica.format.record import records_of
from replica.metadata.log_record import LogRecordReader
from replica.metadata.redact import Redactor
from replica.model.keys import ReplicaId

Row = dict[str, Any]
HideRaw = Callable[[str, bytes], bytes]
"""(file name, damaged bytes) -> the bytes to store: a fingerprint where they may hold a secret."""


def damage_rows(captured: Captured, hide: HideRaw) -> Iterator[Row]:
    """The rows of bronze.damage for the damage that reading the directory found."""
    capture = captured.capture
    files = {file.path: file for file in capture.directory.files}
    for damage in capture.directory.damages:
        raw = None
        if damage.length and damage.file in files:
            raw = hide(damage.file, _bytes_of(capture, files[damage.file], damage))
        yield damage_row(capture.capture_id, damage.in_file(capture.shown_file(damage.file)), raw)


def _bytes_of(capture: Capture, file: DirectoryFile, damage: Damage) -> bytes:
    source = source_of(capture, file)
    end = min(damage.position + min(damage.length, MAX_RAW_BYTES), end_of(source))
    part = RangePartition(source.path, source.shown, damage.position, end, None, stamp=source.stamp)
    with range_source(part) as data:
        return all_bytes(data)


def damage_row(capture_id: str | None, damage: Damage, raw: bytes | None = None) -> Row:
    """A row of bronze.damage. The damage already has the file's name in the user's words.
    capture_id: None for a damage without a replica. raw: the damaged bytes; None where none are
    stored."""
    return {
        "capture_id": capture_id,
        "file": damage.file,
        "position": damage.position,
        "length": damage.length,
        "kind": damage.kind.value,
        "detail": damage.detail,
        "raw": raw,
    }


def unreadable(
    records: Iterable[Mapping[str, Any]], captures: Mapping[ReplicaId, str]
) -> list[Row]:
    """Rows of bronze.damage for records that did not decode. Such records are few, so the driver
    makes these rows.

    records: rows with REPLICA_KEYS, file, position, error and value.
    captures: the capture_id of each replica. A file's name doesn't show its replica, because a URI
        is shown without its query.
    """
    found = []
    for row in records:
        raw = None if row["value"] is None else bytes(row["value"])[:MAX_RAW_BYTES]
        damage = Damage(row["position"], 0, DamageKind.RECORD, row["error"], row["file"])
        found.append(damage_row(captures[replica_of(row)], damage, raw))
    return found


class RawBytes:
    """Decides which damaged bytes are stored. redactor: None to store all bytes."""

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self._reader = LogRecordReader(self._redactor)

    def hide(self, file: str, raw: bytes) -> bytes:
        """The bytes, or a fingerprint where they are bytes of a log and may hold a secret."""
        kind = classify(file.rsplit("/", 1)[-1]).kind
        if self._redactor is None or kind not in LOG_KINDS or self._is_harmless(raw):
            return raw
        return self._redactor.fingerprint("damaged", raw).encode("ascii")

    def _is_harmless(self, raw: bytes) -> bool:
        """Whether the bytes are a whole batch whose records all decode, and none is of a secret
        type."""
        try:
            header = decode_header(raw)
            if header.size_bytes != len(raw):
                return False
            records = list(records_of(header, raw))
        except DataError:
            return False
        return all(
            self._reader.read(record, is_control=header.is_control).is_harmless
            for record in records
        )
