"""How much memory one file of a log may take while it is examined as a whole.

Who examines a directory keeps the bytes of its logs, zeros aside, and a header for each batch. A
few KB of a bundle unpack to millions of batches, so what one file takes is bounded; Kafka deletes
all but some 100 MiB of a metadata log by default (metadata.max.retention.bytes).
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass

from replica.errors import UnreadableFileError, UsageError
from replica.format.batch import HEADER
from replica.format.byte_source import OpenFile, TooMuchContentError, parts_with_content
from replica.format.reading import open_file, open_own_file
from replica.format.segment import SegmentScan, TooManyBatchesError
from replica.message.primitives import Buffer
from replica.scan.segments import scan

VARIABLE = "KRAFTLAKE_FILE_MIB"
DEFAULT_MIB = 800
"""With what a command takes besides, less than 1 GiB."""
SEGMENT_MIB = 1056
"""A full segment of a metadata log: metadata.log.segment.bytes is 1 GiB by default, and the last
batch may go beyond. Where KRAFTLAKE_FILE_MIB isn't set, the bytes of one are read, too."""
BATCH_BYTES = 560
"""As measured: of a batch's header, as a scan and the rules of check hold it."""
_MIB = 1024 * 1024
_RESERVE_BYTES = 64 * _MIB
_MEMINFO, _STATM, _GROUP = "/proc/meminfo", "/proc/self/statm", "/sys/fs/cgroup"


@dataclass(frozen=True, slots=True)
class FileRoom:
    """mib: how many MiB one file may take. content_mib: how many MiB of bytes it may hold; those
    above `mib` leave two fifths of `mib` to its batches' headers."""

    mib: int = DEFAULT_MIB
    content_mib: int = SEGMENT_MIB

    @staticmethod
    def of_environment() -> FileRoom:
        """As KRAFTLAKE_FILE_MIB says. UsageError where that is no number of MiB."""
        text = os.environ.get(VARIABLE)
        if text is None:
            return FileRoom()
        if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text)):
            raise UsageError(f"{VARIABLE}={text}: expected a number of MiB, such as {DEFAULT_MIB}")
        return FileRoom(int(text), int(text))

    def read(self, path: str, limit: int) -> Buffer:
        """As reading.read_file, the `read` port of replica.format.directory.

        UnreadableFileError, too, where the file holds more bytes than fit.
        """
        with open_file(path, limit) as file:
            return self.read_open(file)

    def read_own(self, path: str, limit: int) -> Buffer:
        """The same of a file that was found in a directory, opened as open_own_file does."""
        with open_own_file(path, limit) as file:
            return self.read_open(file)

    def read_open(self, file: OpenFile) -> Buffer:
        """All bytes of a file; as read."""
        if not self._may_exceed(file.size):
            return file.read_sparse()
        try:
            return file.read_sparse(most_content=self._spare(self.content_mib * _MIB))
        except TooMuchContentError as error:
            detail = f"it is one of {file.size} bytes"
            raise UnreadableFileError(file.path, self._reason(detail)) from error

    def scan(
        self, data: Buffer, *, start: int = 0, expected_offset: int | None = None
    ) -> SegmentScan:
        """segment.scan. UnreadableFileError without a path where the batches don't fit."""
        most: int | None = None
        if self._may_exceed(len(data)):
            content = sum(end - begin for begin, end in parts_with_content(data))
            most = max(0, self._left(content)) // BATCH_BYTES
        try:
            return scan(data, start=start, expected_offset=expected_offset, most_batches=most)
        except TooManyBatchesError as error:
            raise UnreadableFileError("", self._reason(str(error))) from error

    def growing(self, used: int) -> Growth:
        """Of work on a file that has taken so many bytes already."""
        most = max((self.mib * _MIB - used) * 2 // 3, self.mib * _MIB // 4)  # arrays grow by leaps
        return Growth(self, most, _resident())

    def _may_exceed(self, size: int) -> bool:
        """Whether a file of so many bytes can need more than there is."""
        return size // HEADER.size * (HEADER.size + BATCH_BYTES) > self._left(0)

    def _left(self, used: int) -> int:
        """Bytes for a file that has taken so many already."""
        whole = self.mib * _MIB
        least = whole * 2 // 5 if self.content_mib > self.mib else 0
        return self._spare(max(whole - used, least))

    @staticmethod
    def _spare(wanted: int) -> int:
        """So many bytes, or what the machine has left of them."""
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
    """Work took more memory than there is for it; the text says so in one line."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How much memory some work may take: `most` bytes more than the `before` it began with."""

    room: FileRoom
    most: int
    before: int

    def look(self) -> None:
        """TooMuchMemoryError where the work has taken more by now."""
        if _resident() - self.before > self.most:
            raise TooMuchMemoryError(
                f"more than {self.room.mib} MiB of memory for one log and its replay: "
                f"{VARIABLE} sets how many MiB they may take"
            )


def _available() -> int:
    """Bytes of memory that this process may still take, as the system says."""
    free = _meminfo("MemAvailable")
    most, used = _number(f"{_GROUP}/memory.max"), _number(f"{_GROUP}/memory.current")
    return free if most is None or used is None else min(free, most - used)


def _resident() -> int:
    """Bytes of memory that this process has."""
    try:
        with open(_STATM, encoding="ascii") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except OSError:  # another system than Linux
        return 0


def _meminfo(name: str) -> int:
    try:
        with open(_MEMINFO, encoding="ascii") as file:
            rows = dict(line.split(":", 1) for line in file)
        return int(rows[name].split()[0]) * 1024
    except (OSError, ValueError, LookupError):  # another system than Linux
        return 1 << 62


def _number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):  # no group, or one without a limit
        return None
