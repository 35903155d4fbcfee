"""Limits the memory for one file of a log while the file is examined.

An examination of a directory holds a header for each batch of the logs, and the bytes of small
files. The bytes of large files are read when they are needed. An archive of a few KB may unpack to
millions of batches, so the memory for one file is limited. By default Kafka keeps 100 MiB of a
metadata log (metadata.max.retention.bytes).
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field

from replica.errors import UnreadableFileError, UsageError
from replica.format.batch import HEADER
from replica.format.byte_source import OpenFile, Source, byte_source
from replica.format.reading import in_memory_if_small, open_file, open_own_file
from replica.format.segment import SegmentScan, TooManyBatchesError
from replica.scan.segments import is_large, scan

VARIABLE = "KRAFTLAKE_FILE_MIB"
DEFAULT_MIB = 800
"""The MiB for one file by default. Together with the other memory of a command, this is less than 1
GiB."""
BATCH_BYTES = 560
"""The memory (bytes) for the header of one batch in a scan and in the rules of check, as
measured."""
COMPACT_BYTES = 150
"""The memory (bytes) for one batch in columns, as measured. The columns take about 30 bytes; some
are temporarily copied as 64-bit numbers."""
MOST_OPEN = 128
"""The most files that stay open. Any other file is opened again when it is read."""
MOST_KEPT_BYTES = 64 * 1024 * 1024
"""The most bytes of small files that stay in memory. The bytes of further files are read when they
are needed."""
_MIB = 1024 * 1024
_RESERVE_BYTES = 64 * _MIB
_MEMINFO, _STATM, _GROUP = "/proc/meminfo", "/proc/self/statm", "/sys/fs/cgroup"
_AVAILABLE = "MemAvailable:"


@dataclass
class _Kept:
    """The bytes in memory, and the open files, of all files together."""

    size: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class FileRoom:
    """A limit of the memory for one file, and the bytes and open files that are kept within it."""

    mib: int = DEFAULT_MIB
    """The most memory (MiB) for one file."""
    _kept: _Kept = field(default_factory=_Kept, compare=False, repr=False)

    @staticmethod
    def of_environment() -> FileRoom:
        """The limit in KRAFTLAKE_FILE_MIB. Raises UsageError if its value isn't a number of MiB."""
        text = os.environ.get(VARIABLE)
        if text is None:
            return FileRoom()
        if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text)):
            raise UsageError(f"{VARIABLE}={text}: expected a number of MiB, such as {DEFAULT_MIB}")
        return FileRoom(int(text))

    def read(self, path: str, limit: int) -> Source:
        """Open a file that the user named, as a ReadFile. Raises UnreadableFileError or
        VanishedFileError if reading.open_file can't open the file."""
        return self._keep(open_file(path, limit))

    def read_own(self, path: str, limit: int) -> Source:
        """Open a file that was found in a directory, as a ReadFile. Raises UnreadableFileError or
        VanishedFileError if reading.open_own_file can't open the file."""
        return self._keep(open_own_file(path, limit))

    def _keep(self, file: OpenFile) -> Source:
        kept = self._kept
        if kept.size + file.size <= MOST_KEPT_BYTES:
            found = in_memory_if_small(file)
            if found is not file:
                kept.size += file.size
                return found
        kept.files += 1
        if kept.files > MOST_OPEN:
            file.close_between_reads()
        return file

    def scan(
        self,
        data: Source,
        *,
        start: int = 0,
        expected_offset: int | None = None,
        compact: bool = False,
    ) -> SegmentScan:
        """The result of segments.scan, within this limit of memory. Raises UnreadableFileError,
        without a path, if the batches don't fit. With `compact`, many more batches fit."""
        source = byte_source(data)
        each = COMPACT_BYTES if compact and is_large(source.size) else BATCH_BYTES
        most: int | None = None
        if source.size // HEADER.size * each > self._spare(self.mib * _MIB):
            most = max(0, self._spare(self.mib * _MIB)) // each
        try:
            return scan(
                source,
                start=start,
                expected_offset=expected_offset,
                most_batches=most,
                compact=compact,
            )
        except TooManyBatchesError as error:
            raise UnreadableFileError("", self._reason(str(error))) from error

    def growing(self, batches: int) -> Growth:
        """The limit of memory for work on this number of batches, whose headers are in memory
        already."""
        left = self.mib * _MIB - batches * BATCH_BYTES
        most = max(left * 2 // 3, self.mib * _MIB // 4)  # arrays grow in steps
        return Growth(self, most, _resident())

    @staticmethod
    def _spare(wanted: int) -> int:
        """The bytes that one file may take: `wanted`, or the free memory of the machine if less
        memory is free."""
        return min(wanted, _available() - _RESERVE_BYTES)

    def _reason(self, detail: str) -> str:
        if _available() - _RESERVE_BYTES < self.mib * _MIB // 2:
            return f"{detail}: no memory is left for it; name fewer directories at a time"
        return (
            f"more than {self.mib} MiB of memory for one file ({detail}): "
            f"{VARIABLE} sets how many MiB a file may take"
        )


DEFAULT_ROOM = FileRoom()


class TooMuchMemoryError(Exception):
    """Some work took more memory than its limit."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The limit of memory for some work: `most` bytes more than the `before` bytes of the process
    at the beginning."""

    room: FileRoom
    most: int
    before: int

    def check_limit(self) -> None:
        """Raises TooMuchMemoryError if the work has taken more than `most` bytes."""
        if _resident() - self.before > self.most:
            raise TooMuchMemoryError(
                f"more than {self.room.mib} MiB of memory for one log and its replay: "
                f"{VARIABLE} sets how many MiB they may take"
            )


def _available() -> int:
    """The bytes of memory that the operating system still gives to this process."""
    words = _words(_MEMINFO)
    free = 1 << 62  # for another system than Linux
    if _AVAILABLE in words:
        free = int(words[words.index(_AVAILABLE) + 1]) * 1024
    most, used = _number(f"{_GROUP}/memory.max"), _number(f"{_GROUP}/memory.current")
    return free if most is None or used is None else min(free, most - used)


def _resident() -> int:
    """The resident memory of this process in bytes."""
    words = _words(_STATM)
    return int(words[1]) * mmap.PAGESIZE if words else 0


def _number(path: str) -> int | None:
    try:
        return int(_words(path)[0])
    except (ValueError, LookupError):  # no control group, or a group without a limit
        return None


def _words(path: str) -> list[str]:
    """The words of a small file; empty if the file can't be read, as on a system without /proc."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []
