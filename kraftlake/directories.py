"""Questions about directories of nodes, which the commands of the same names answer; and the
records of one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from jobs.cli.directories.dump_files import READERS
from jobs.cli.record_lines import opaque_content, records_in, undecodable
from jobs.cli.redacting import make_redactor
from jobs.cli.rows import Value, rows_of
from replica.doctor.check.partition import partition_of_file
from replica.errors import DataError
from replica.format.byte_source import OpenFile
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.damage import Damage
from replica.format.file_names import LOG_KINDS, FileKind, classify
from replica.format.reading import (
    MAX_LOG_BYTES,
    MAX_STATE_BYTES,
    in_memory_if_small,
    open_file,
)
from replica.format.record import Record
from replica.metadata.log_record import LogRecordReader
from replica.metadata.redact import Redactor
from replica.scan.segments import walk

Place = str | os.PathLike[str]
Row = dict[str, Any]


def check(*paths: Place, **options: Value) -> list[Row]:
    """What is wrong with a cluster, by the metadata directories of its nodes.

    The rows of `kraftlake check --json`, among them those whose kind is verdict or finding; the
    last row is the summary. options: those of the command, such as order="live,final" or
    partitions=True. Lines on stderr name what can't be read. Raises KraftlakeError.
    """
    return rows_of("check", paths, options)


def state(*paths: Place, **options: Value) -> list[Row]:
    """The entities of a cluster's metadata, by the directories of its nodes.

    The rows of `kraftlake state --json`: entity (its kind), key, value, and the offset of the
    record that it is from. options: those of the command, such as entity="topic", at_offset=1000 or
    at_time="2026-11-21T03:00:00Z". Raises KraftlakeError.
    """
    return rows_of("state", paths, options)


def timeline(*paths: Place, **options: Value) -> list[Row]:
    """What happened by clock time: the rows of `kraftlake timeline --json`. options: those of the
    command. Raises KraftlakeError."""
    return rows_of("timeline", paths, options)


def what_happened(*paths: Place, **options: Value) -> list[Row]:
    """The verdict, what led to it, and the next steps: the rows of `kraftlake what-happened
    --json`. options: those of the command. Raises KraftlakeError."""
    return rows_of("what-happened", paths, options)


def decode(
    path: Place, *, keep_secrets: bool = False, redact_key: Place | None = None
) -> Iterator[Row]:
    """The content of one file of a directory: a segment, a snapshot, or a small file.

    A segment or snapshot gives a row for each record: offset, epoch, timestamp (ms since 1970,
    UTC), type, version and data, as kafka-dump-log shows the record. For a partition that is no
    metadata log, the row has key, value and headers instead of type, version and data. After the
    records comes a row for each damage: position (byte), size (bytes), damage and detail. Any other
    file gives one row, with kind and data. keep_secrets: whether secrets are shown. redact_key: the
    file with the key of their fingerprints; None for a random key. Raises KraftlakeError, also for
    a small file that can't be decoded.
    """
    name = os.fspath(path)
    kind = classify(os.path.basename(name))
    redactor = make_redactor(keep_secrets, None if redact_key is None else os.fspath(redact_key))
    is_log = kind.kind in LOG_KINDS
    with open_file(name, MAX_LOG_BYTES if is_log else MAX_STATE_BYTES) as opened:
        if is_log:
            first = kind.base_offset if kind.kind is FileKind.SEGMENT else 0
            yield from _Decoding(name, redactor).rows(opened, first)
        else:
            yield {"kind": str(kind.kind), "data": _small_file(name, kind.kind, opened.read_all())}


def _small_file(path: str, kind: FileKind, data: bytes) -> Any:
    if kind not in READERS:
        raise DataError("no segment, snapshot or other file of a metadata directory").in_file(path)
    try:
        return READERS[kind](data)
    except DataError as error:
        raise error.in_file(path) from None


class _Decoding:
    """The decoding of one segment or snapshot. damages: the records that could not be decoded so
    far."""

    def __init__(self, path: str, redactor: Redactor | None) -> None:
        partition = partition_of_file(path)
        self._is_metadata = partition.is_metadata
        self._hiding = None if partition.is_proven else redactor
        self._reader = LogRecordReader(redactor)
        self._damages: list[Damage] = []

    def rows(self, opened: OpenFile, expected_offset: int | None) -> Iterator[Row]:
        data = in_memory_if_small(opened)
        file, found = FileContent(data), walk(data, expected_offset=expected_offset)
        inflation = Inflation(opened.size)
        for batch in found:
            if not batch.crc_valid:
                continue
            header, whole = batch.header, file.batch(batch)
            for record in records_in(batch, whole, inflation, self._damages.append):
                content, error = self._content(record, is_control=header.is_control)
                if error is not None:
                    self._damages.append(undecodable(batch.position, record.offset, error))
                    continue
                row = {"offset": record.offset, "epoch": header.leader_epoch}
                yield {**row, "timestamp": record.timestamp, **content}
        for damage in (*found.damages, *self._damages):
            yield {
                "position": damage.position,
                "size": damage.length,
                "damage": str(damage.kind),
                "detail": damage.detail,
            }

    def _content(self, record: Record, *, is_control: bool) -> tuple[Row, str | None]:
        """The fields of a row that hold a record's content, and the reason why the content could
        not be decoded; None where it could."""
        if not (self._is_metadata or is_control):
            return opaque_content(record, self._hiding), None
        read = self._reader.read(record, is_control=is_control)
        content = {"type": read.record_type, "version": read.version, "data": read.data}
        return content, read.error
