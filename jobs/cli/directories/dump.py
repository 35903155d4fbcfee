"""`kraftlake dump`: the content of segments, snapshots and the small files of a directory.

A small file is read into memory as a whole, a large file part by part. What can't be decoded is
named on stderr; everything else is printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import lru_cache
from typing import TYPE_CHECKING

from jobs.cli.commands.directories import DumpOptions
from jobs.cli.directories.dump_files import (
    READERS,
    DumpFile,
    DumpPartitions,
    WantedFiles,
    find_files,
)
from jobs.cli.directories.selection import Selection, select
from jobs.cli.output import ProgressLine, complain, write_bytes, write_json, write_line, write_text
from jobs.cli.record_lines import opaque_line, record_line, records_in, undecodable
from jobs.cli.redacting import make_redactor
from replica.errors import DataError, UnreadableFileError
from replica.format.byte_source import OpenFile, Source
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.damage import Damage, DamageKind
from replica.format.file_names import INDEX_KINDS, LOG_KINDS, FileKind
from replica.format.reading import (
    MAX_LOG_BYTES,
    MAX_STATE_BYTES,
    VanishedFileError,
    in_memory_if_small,
    open_file,
    open_own_file,
)
from replica.format.record import Record
from replica.format.segment import AnyWalk
from replica.format.snapshot import SnapshotState
from replica.format.walk import LocatedBatch
from replica.metadata.log_record import LogRecordReader
from replica.scan.segments import is_large, walk
from replica.terminal_text import safe_json

if TYPE_CHECKING:
    from replica.scan.lines import LineScan

_EVERY_BATCHES = 64


def run(options: DumpOptions) -> int:
    """Prints the content of the paths. Returns 0, or 1 where something could not be decoded."""
    selection, logs = select(options), not options.snapshots_only
    # A range of log offsets says nothing about snapshots, whose offsets count their own records.
    snapshots = not options.logs_only and not (selection.has_offsets and logs)
    wanted = WantedFiles(logs, snapshots, options.all_files)
    dumping = _Dumping(selection, options)
    with ExitStack() as stack:
        found = find_files(options.paths, wanted, stack)
        for damage in found.damages:
            dumping.name(damage)
        for file in found.files:
            dumping.file(file)
    dumping.progress.clear()
    return 1 if dumping.damaged else 0


class _Rising:
    """A set of numbers that come in ascending order, each read only when a search needs it. `hold`
    must be called with ascending numbers, too."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = iter(numbers)
        self._next = next(self._numbers, None)

    def hold(self, number: int) -> bool:
        """Whether the number is in the set."""
        while self._next is not None and self._next < number:
            self._next = next(self._numbers, None)
        return self._next == number


class _Dumping:
    """One run: its options, and whether anything was damaged so far."""

    def __init__(self, selection: Selection, options: DumpOptions) -> None:
        self.selection = selection
        self.options = options
        self.reader = LogRecordReader(
            make_redactor(options.keep_secrets, options.redact_key, options.show_config or ())
        )
        self.progress = ProgressLine()
        self.damaged = False
        self.headed: DumpFile | None = None
        self.partitions = DumpPartitions(self._tell, self.reader.redactor)
        self.log_end: tuple[str, int] | None = None
        self.inflation = Inflation(0)

    def name(self, damage: Damage) -> None:
        """Names on stderr a place that could not be read."""
        self.damaged = True
        self._tell(str(damage))

    def _tell(self, text: str) -> None:
        self.progress.clear()
        complain(text)

    def file(self, file: DumpFile) -> None:
        """Prints one file of any kind."""
        is_log = file.name.kind in LOG_KINDS
        try:
            opener = open_file if file.log_folder is None else open_own_file
            with opener(file.path, MAX_LOG_BYTES if is_log else MAX_STATE_BYTES) as opened:
                if is_log:
                    self._log(file, opened)
                else:
                    self._small_file(file, opened.read_all())
        except UnreadableFileError as error:
            vanished = isinstance(error, VanishedFileError)
            kind = DamageKind.CHANGED if vanished else DamageKind.UNREADABLE
            self.name(Damage(0, 0, kind, error.reason, file.shown))

    def _small_file(self, file: DumpFile, data: bytes) -> None:
        kind = file.name.kind
        if kind not in READERS:
            detail = "no segment, snapshot or other file of a metadata directory"
            self.name(Damage(0, len(data), DamageKind.NOT_KAFKA, detail, file.shown))
            return
        if not data and kind not in INDEX_KINDS:  # Kafka leaves indexes of 0 bytes
            self.name(Damage(0, 0, DamageKind.EMPTY_FILE, f"a {kind} of 0 bytes", file.shown))
            return
        try:
            content = READERS[kind](data)
        except DataError as error:
            position = error.position or 0
            damage = Damage(position, len(data) - position, DamageKind.CONTENT, error.reason)
            self.name(damage.in_file(file.shown))
            return
        plain = {"file": file.shown, "kind": str(kind), "data": content}
        if self.options.json_output:
            write_json(plain)
        else:
            write_text(safe_json(json.dumps(plain, indent=2, ensure_ascii=False)) + "\n")

    def _log(self, file: DumpFile, opened: OpenFile) -> None:
        name = file.name
        self.inflation = Inflation(opened.size)
        is_segment = name.kind is FileKind.SEGMENT
        if not opened.size and not is_segment:
            self.name(Damage(0, 0, DamageKind.EMPTY_FILE, "a snapshot of 0 bytes", file.shown))
            return
        expected = name.base_offset if is_segment else 0
        # computed for each file with records, however it is read, because the result is printed on
        # stderr
        shows_records = opened.size > 0 and not self.options.batches
        is_metadata = shows_records and self.partitions.of(file).is_metadata
        if is_metadata and self.options.json_output and is_large(opened.size):
            self._bulk(file, opened, expected)
        else:
            self._by_batches(file, in_memory_if_small(opened), expected)

    def _by_batches(self, file: DumpFile, data: Source, expected: int | None) -> None:
        """Print a file batch by batch. The damages of a small file are named first."""
        content = FileContent(data)
        found = walk(data, expected_offset=expected)
        batches: Iterable[LocatedBatch] = found
        if not isinstance(data, OpenFile):
            batches = list(found)
            self._end(file, found)
        secret = _Rising(self._secret_batches(file, data, expected))
        for number, batch in enumerate(batches):
            if number % _EVERY_BATCHES == 0:
                self._show_progress(file, batch.position, content.size)
            if self.options.batches:
                self._batch(file, batch, is_secret=secret.hold(batch.position))
            elif batch.crc_valid and self.selection.may_hold(batch.header):
                self._records(file, batch, content.batch(batch))
        if isinstance(data, OpenFile):
            self._end(file, found)

    def _bulk(self, file: DumpFile, opened: OpenFile, expected: int | None) -> None:
        """Prints the JSON of a large file while the bulk reader reads it. The lines are the same as
        by the scalar reader, but come tens of times faster."""
        from replica.scan.lines import LineScan  # loads numpy and the compiled kernels

        found = LineScan(
            opened,
            prefix=_line_start(file.shown).encode("utf-8", "surrogateescape"),
            expected_offset=expected,
            keep_secrets=self.options.keep_secrets,
            choose=self.selection.chosen_rows(),
            takes_type=self.selection.takes_type,
        )
        for piece in found:
            if isinstance(piece, memoryview):
                write_bytes(piece)
            elif isinstance(piece, LocatedBatch):
                if self.selection.may_hold(piece.header):
                    self._records(file, piece, found.bytes_of(piece))
            else:
                epoch, is_control = piece.leader_epoch, piece.is_control
                line = self._line(file, piece.position, epoch, is_control, piece.record)
                write_text(line)
            self._show_progress(file, found.end_position, opened.size)
        self._end(file, found)

    def _end(self, file: DumpFile, found: AnyWalk | LineScan) -> None:
        """Names the damage that a reader found in a file, after it has read the whole file."""
        self._damages(file, found.damages)
        self._joint(file, found.next_offset)

    def _show_progress(self, file: DumpFile, position: int, size: int) -> None:
        self.progress.show(f"{file.shown}: {100 * position // max(size, 1)}% of {size} bytes")

    def _damages(self, file: DumpFile, damages: tuple[Damage, ...]) -> None:
        snapshot = file.name.snapshot
        being_written = snapshot is not None and snapshot.state is SnapshotState.PART
        legal = {DamageKind.TORN_TAIL} if being_written else set()
        if damages and self.partitions.of(file).is_ordinary:
            legal.add(DamageKind.OFFSET_GAP)  # Compaction removes records, and whole batches.
        for damage in damages:
            if damage.kind not in legal:
                self.name(damage.in_file(file.shown))

    def _joint(self, file: DumpFile, end: int | None) -> None:
        """Names a gap between this segment and the segment before it in the same directory.

        end: the offset after the segment's last batch; None where it has no batch.
        """
        is_live = file.name.kind is FileKind.SEGMENT and not file.name.deleted
        if file.log_folder is None or not is_live:
            return
        start, before = file.name.base_offset, self.log_end
        is_gap = before is not None and before[0] == file.log_folder and before[1] != start
        if before is not None and is_gap and not self.partitions.of(file).is_ordinary:
            detail = f"segment starts at {start}, the one before has end offset {before[1]}"
            self.name(Damage(0, 0, DamageKind.OFFSET_GAP, detail, file.shown))
        if end is not None:
            self.log_end = (file.log_folder, end)

    def _records(self, file: DumpFile, batch: LocatedBatch, whole: memoryview) -> None:
        place = (file, batch.position, batch.header.leader_epoch, batch.header.is_control)
        for record in records_in(batch, whole, self.inflation, self._naming(file)):
            if line := self._line(*place, record):
                self._head(file)
                write_text(line)

    def _naming(self, file: DumpFile) -> Callable[[Damage], None]:
        return lambda damage: self.name(damage.in_file(file.shown))

    def _line(
        self, file: DumpFile, position: int, epoch: int, is_control: bool, record: Record
    ) -> str:
        """The line of a record of the batch at `position`; "" where it isn't selected."""
        if not self.selection.takes(record.offset, record.timestamp):
            return ""
        partition = self.partitions.of(file)
        if not (partition.is_metadata or is_control):
            if self.selection.types:  # such a record has no type
                return ""
            hiding = self.partitions.hiding(partition)
            return opaque_line(record, epoch, hiding, self._json_start(file))
        read = self.reader.read(record, is_control=is_control)
        if read.error is not None:
            self._naming(file)(undecodable(position, record.offset, read.error))
            return ""
        if not self.selection.takes_type(read.record_type):
            return ""
        return record_line(record, epoch, read, self._json_start(file))

    def _json_start(self, file: DumpFile) -> str | None:
        return _line_start(file.shown) if self.options.json_output else None

    def _secret_batches(self, file: DumpFile, data: Source, expected: int | None) -> Iterable[int]:
        """The positions of the batches whose CRC is hidden, because the CRC would help to guess a
        secret."""
        if not self.options.batches:
            return ()
        redactor, partition = self.reader.redactor, self.partitions.of(file)
        if redactor is None or (not partition.is_metadata and partition.is_proven):
            return ()
        from replica.scan.secret_batches import secret_positions  # loads numpy, too

        return secret_positions(data, expected_offset=expected)

    def _batch(self, file: DumpFile, batch: LocatedBatch, *, is_secret: bool) -> None:
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
                    "crc": None if is_secret else header.crc,
                    "crc_valid": batch.crc_valid,
                }
            )
            return
        self._head(file)
        kind = "control" if header.is_control else "data"
        crc = f"{'***' if is_secret else header.crc} {'valid' if batch.crc_valid else 'WRONG'}"
        offsets = f"{header.base_offset}-{header.last_offset}"
        write_line(
            f"{batch.position:>10}  {offsets:<17}  epoch {header.leader_epoch:<4}  {kind:<7}  "
            f"{header.record_count} records  {header.size_bytes} bytes  crc {crc}"
        )

    def _head(self, file: DumpFile) -> None:
        """Print the file's name above its first line of text."""
        if self.options.json_output or self.headed is file:
            return
        self.headed = file
        write_line(f"# {file.shown}")


@lru_cache(maxsize=1)
def _line_start(shown: str) -> str:
    """The beginning of each JSON line of the file, up to the offset of the record."""
    return f'{{"file":{safe_json(json.dumps(shown, ensure_ascii=False))},"offset":'
