"""`kraftlake dump`: what segments, snapshots and the small files of a directory hold.

One file is in memory at a time, its lines are printed batch by batch. What can't be decoded is
named on stderr and everything else is printed.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass

from jobs import dump_bulk
from jobs.dump_files import DumpFile, Wanted, find_files
from jobs.output import Progress, complain, ms_text, one_line, write_json, write_line
from jobs.redacting import make_redactor
from jobs.selection import Selection
from jobs.state_files import EMPTY_IS_LEGAL, READERS, plain_content
from replica.errors import DataError, UnreadableFileError, UsageError
from replica.format.damage import Damage, DamageKind
from replica.format.file_names import FileKind
from replica.format.reading import MAX_LOG_BYTES, MAX_STATE_BYTES, VanishedFileError, read_file
from replica.format.record import records_of
from replica.format.segment import LocatedBatch, scan
from replica.format.snapshot import SnapshotState
from replica.metadata.log_record import LogRecordReader

_LOG_KINDS = (FileKind.SEGMENT, FileKind.SNAPSHOT, FileKind.BOOTSTRAP)
_EVERY_BATCHES = 64


@dataclass(frozen=True, slots=True)
class Options:
    """What `dump` was asked for, the selection of records aside."""

    json_output: bool = False
    batches: bool = False
    logs: bool = True
    snapshots: bool = True
    all_files: bool = False
    keep_secrets: bool = False
    redact_key: str | None = None


def run(paths: list[str], selection: Selection, options: Options) -> int:
    """Print what the paths hold; 0, or 1 where something could not be decoded."""
    if not options.logs and not options.snapshots:
        raise UsageError("--logs-only and --snapshots-only exclude each other: drop one")
    if options.batches and selection.types:
        raise UsageError("--type selects records, --batches shows none: drop one")
    # a range of log offsets says nothing about snapshots, whose offsets count their own records
    snapshots = options.snapshots and not (selection.has_offsets and options.logs)
    wanted = Wanted(options.logs, snapshots, options.all_files)
    dumping = _Dumping(selection, options)
    with ExitStack() as stack:
        found = find_files(paths, wanted, stack)
        for damage in found.damages:
            dumping.name(damage)
        for file in found.files:
            dumping.file(file)
    dumping.progress.clear()
    return 1 if dumping.damaged else 0


class _Dumping:
    """One run: what it has been asked for, and whether anything was damaged so far."""

    def __init__(self, selection: Selection, options: Options) -> None:
        self.selection = selection
        self.options = options
        self.reader = LogRecordReader(make_redactor(options.keep_secrets, options.redact_key))
        self.progress = Progress()
        self.damaged = False
        self.headed: DumpFile | None = None
        self.log_end: tuple[str, int] | None = None

    def name(self, damage: Damage) -> None:
        """A line on stderr for what could not be read."""
        self.damaged = True
        self.progress.clear()
        complain(str(damage))

    def file(self, file: DumpFile) -> None:
        """One file, whatever its kind."""
        is_log = file.name.kind in _LOG_KINDS
        try:
            data = read_file(file.path, MAX_LOG_BYTES if is_log else MAX_STATE_BYTES)
        except UnreadableFileError as error:
            vanished = isinstance(error, VanishedFileError)
            kind = DamageKind.CHANGED if vanished else DamageKind.UNREADABLE
            self.name(Damage(0, 0, kind, error.reason, file.shown))
            return
        if is_log:
            self._log(file, data)
        else:
            self._small_file(file, data)

    def _small_file(self, file: DumpFile, data: bytes) -> None:
        kind = file.name.kind
        if kind not in READERS:
            detail = "no segment, snapshot or other file of a metadata directory"
            self.name(Damage(0, len(data), DamageKind.NOT_KAFKA, detail, file.shown))
            return
        if not data and kind not in EMPTY_IS_LEGAL:
            self.name(Damage(0, 0, DamageKind.EMPTY_FILE, f"a {kind} of 0 bytes", file.shown))
            return
        try:
            content = plain_content(kind, data)
        except DataError as error:
            position = error.position or 0
            damage = Damage(position, len(data) - position, DamageKind.CONTENT, error.reason)
            self.name(damage.in_file(file.shown))
            return
        plain = {"file": file.shown, "kind": str(kind), "data": content}
        if self.options.json_output:
            write_json(plain)
        else:
            write_line(json.dumps(plain, indent=2, ensure_ascii=False))

    def _log(self, file: DumpFile, data: bytes) -> None:
        name = file.name
        is_segment = name.kind is FileKind.SEGMENT
        if not data and not is_segment:
            self.name(Damage(0, 0, DamageKind.EMPTY_FILE, "a snapshot of 0 bytes", file.shown))
            return
        expected = name.base_offset if is_segment else 0
        if self.options.json_output and not self.options.batches and dump_bulk.pays_off(data):
            self._bulk(file, data, expected)
            return
        found = scan(data, expected_offset=expected)
        self._damages(file, found.damages)
        self._joint(file, found.next_offset)
        view = memoryview(data)
        for number, batch in enumerate(found.batches):
            if number % _EVERY_BATCHES == 0:
                done = 100 * batch.position // len(data)
                self.progress.show(f"{file.shown}: {done}% of {len(data)} bytes")
            if self.options.batches:
                self._batch(file, batch)
            elif batch.crc_valid and self.selection.may_hold(batch.header):
                end = batch.position + batch.header.size_bytes
                self._records(file, batch, view[batch.position : end])

    def _bulk(self, file: DumpFile, data: bytes, expected: int | None) -> None:
        """A large file by the bulk reader: the same lines, tens of times faster."""
        from replica.scan.arrow import RecordScan, scan_batches

        next_offset = None
        for batches in scan_batches(data, expected_offset=expected):
            next_offset = batches["last_offset"][-1].as_py() + 1
        self._joint(file, next_offset)
        redactor = self.reader.redactor
        found = RecordScan(data, expected_offset=expected, redactor=redactor, with_value=False)
        for table in found:
            rows = dump_bulk.selected(table, self.selection)
            for position, offset, reason in dump_bulk.unreadable(rows):
                self._undecodable(file, position, offset, reason)
            sys.stdout.flush()
            sys.stdout.buffer.write(dump_bulk.lines(rows, file.shown))
            self.progress.show(f"{file.shown}: {100 * found.end_position // len(data)}%")
        self._damages(file, found.damages)

    def _damages(self, file: DumpFile, damages: tuple[Damage, ...]) -> None:
        snapshot = file.name.snapshot
        being_written = snapshot is not None and snapshot.state is SnapshotState.PART
        for damage in damages:
            if not (being_written and damage.kind is DamageKind.TORN_TAIL):
                self.name(damage.in_file(file.shown))

    def _joint(self, file: DumpFile, end: int | None) -> None:
        """Names a gap between this segment and the one before it in the same directory.

        end: the offset after the segment's last batch, None where it has none.
        """
        is_live = file.name.kind is FileKind.SEGMENT and not file.name.deleted
        if file.log_folder is None or not is_live:
            return
        start, before = file.name.base_offset, self.log_end
        if before is not None and before[0] == file.log_folder and before[1] != start:
            detail = f"segment starts at {start}, the one before ends at {before[1]}"
            self.name(Damage(0, 0, DamageKind.OFFSET_GAP, detail, file.shown))
        if end is not None:
            self.log_end = (file.log_folder, end)

    def _records(self, file: DumpFile, batch: LocatedBatch, whole: memoryview) -> None:
        header, selection = batch.header, self.selection
        is_control, epoch = header.is_control, header.leader_epoch
        lines: list[str] = []
        place = json.dumps(file.shown, ensure_ascii=False)
        next_offset = header.base_offset
        try:
            for record in records_of(header, whole):
                next_offset = record.offset + 1
                if not selection.takes(record.offset, record.timestamp):
                    continue
                read = self.reader.read(record, is_control=is_control)
                if read.error is not None:
                    self._undecodable(file, batch.position, record.offset, read.error)
                    continue
                kind = read.record_type
                if not selection.takes_type(kind):
                    continue
                if self.options.json_output:
                    lines.append(
                        f'{{"file":{place},"offset":{record.offset},"epoch":{epoch},'
                        f'"timestamp":{record.timestamp},"type":"{kind}",'
                        f'"version":{read.version},"data":{read.json_text()}}}\n'
                    )
                else:
                    lines.append(
                        f"{record.offset:>10}  {epoch:>4}  {ms_text(record.timestamp)}  "
                        f"{kind} v{read.version}  {_shown(read.json_text())}\n"
                    )
        except DataError as error:
            self._undecodable(file, batch.position, next_offset, str(error))
        if lines:
            self._head(file)
            sys.stdout.write("".join(lines))

    def _undecodable(self, file: DumpFile, position: int, offset: int, reason: str) -> None:
        detail = f"record at offset {offset} of the batch at this byte: {reason}"
        self.name(Damage(position, 0, DamageKind.RECORD, detail, file.shown))

    def _batch(self, file: DumpFile, batch: LocatedBatch) -> None:
        header = batch.header
        if not self.selection.overlaps(header):
            return
        if self.options.json_output:
            write_json(
                {
                    "file": file.shown,
                    "position": batch.position,
                    "base_offset": header.base_offset,
                    "last_offset": header.last_offset,
                    "epoch": header.leader_epoch,
                    "is_control": header.is_control,
                    "count": header.record_count,
                    "size": header.size_bytes,
                    "crc": header.crc,
                    "crc_valid": batch.crc_valid,
                }
            )
            return
        self._head(file)
        kind = "control" if header.is_control else "data"
        crc = "valid" if batch.crc_valid else "WRONG"
        offsets = f"{header.base_offset}-{header.last_offset}"
        write_line(
            f"{batch.position:>10}  {offsets:<17}  epoch {header.leader_epoch:<4}  {kind:<7}  "
            f"{header.record_count} records  {header.size_bytes} bytes  crc {header.crc} {crc}"
        )

    def _head(self, file: DumpFile) -> None:
        """The file's name above its first line of text."""
        if self.options.json_output or self.headed is file:
            return
        self.headed = file
        write_line(f"# {one_line(file.shown)}")


def _shown(text: str) -> str:
    """Kafka escapes control characters below 0x20 only; a terminal obeys those above 0x7f too."""
    return text if text.isprintable() else one_line(text)
