"""How much memory one file of a log may take while it is examined.

An examination of a directory holds a header for each batch of the logs, and the bytes of small
files. The bytes of large files are read when they are needed. A bundle of a few KB may unpack to
millions of batches, so the memory for one file is bounded. By default Kafka keeps some 100 MiB of a
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
"""The memory (bytes) for one batch in columns, as measured. The columns take some 30 bytes; for a
while, some of them are copied as 64-bit numbers."""
MOST_OPEN = 128
"""The number of files that stay open. Any other file is opened again when it is read."""
MOST_KEPT_BYTES = 64 * 1024 * 1024
"""The number of bytes of small files that stay in memory. The bytes of further files are read when
they are needed."""
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
    """A limit of memory."""

    mib: int = DEFAULT_MIB
    """The number of MiB that one file may take."""
    _kept: _Kept = field(default_factory=_Kept, compare=False, repr=False)

    @staticmethod
    def of_environment() -> FileRoom:
        """The room that KRAFTLAKE_FILE_MIB sets. Raises UsageError where that is no number of
        MiB."""
        text = os.environ.get(VARIABLE)
        if text is None:
            return FileRoom()
        if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text)):
            raise UsageError(f"{VARIABLE}={text}: expected a number of MiB, such as {DEFAULT_MIB}")
        return FileRoom(int(text))

    def read(self, path: str, limit: int) -> Source:
        """Open a file that the user named. It is the `read` port of replica.format.directory, and
        raises what reading.open_file raises."""
        return self._keep(open_file(path, limit))

    def read_own(self, path: str, limit: int) -> Source:
        """Open a file that was found in a directory. It is the same port, and opens as
        open_own_file does."""
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
        without a path, where the batches don't fit. Many more of them fit if `compact`."""
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
        """The memory that work on this number of batches may take. Their headers are in memory
        already."""
        left = self.mib * _MIB - batches * BATCH_BYTES
        most = max(left * 2 // 3, self.mib * _MIB // 4)  # Arrays grow in steps.
        return Growth(self, most, _resident())

    @staticmethod
    def _spare(wanted: int) -> int:
        """The bytes that one file may take: `wanted`, or the free memory of the machine if that is
        less."""
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
    """Some work took more memory than it may take. The text says so in one line."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How much memory some work may take: `most` bytes more than the `before` bytes that the
    process had at the beginning."""

    room: FileRoom
    most: int
    before: int

    def check_limit(self) -> None:
        """Raises TooMuchMemoryError if the work has taken more memory by now."""
        if _resident() - self.before > self.most:
            raise TooMuchMemoryError(
                f"more than {self.room.mib} MiB of memory for one log and its replay: "
                f"{VARIABLE} sets how many MiB they may take"
            )


def _available() -> int:
    """The bytes of memory that this process may still take, as the system reports."""
    words = _words(_MEMINFO)
    free = 1 << 62  # for another system than Linux
    if _AVAILABLE in words:
        free = int(words[words.index(_AVAILABLE) + 1]) * 1024
    most, used = _number(f"{_GROUP}/memory.max"), _number(f"{_GROUP}/memory.current")
    return free if most is None or used is None else min(free, most - used)


def _resident() -> int:
    """The bytes of memory that this process has."""
    words = _words(_STATM)
    return int(words[1]) * mmap.PAGESIZE if words else 0


def _number(path: str) -> int | None:
    try:
        return int(_words(path)[0])
    except (ValueError, LookupError):  # no control group, or a group without a limit
        return None


def _words(path: str) -> list[str]:
    """The words of a small file; none where there is no such file, as on another system."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []
