"""The spool: a private copy of every file that one ingest reads."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.lake_paths import is_remote, local_path
from replica.errors import UnwritableFileError, UsageError
from replica.format.capture import canonical
from replica.format.file_names import FileKind, FileName
from replica.format.known_file import KnownFile, Resumed, resume_segment, resume_snapshot
from replica.format.primitives import Buffer
from replica.format.reading import MAX_LOG_BYTES, open_file, read_file
from replica.scan.segments import scan

FOLDER = "_spool"
"""Below the lake; Delta tables never start with an underscore."""
PLACE_VARIABLE = "KRAFTLAKE_SPOOL"
"""Names a folder for the spools of lakes in object stores."""
ABANDONED_AFTER_S = 24 * 3600
"""Another ingest may be running beside this one, so only old spools are taken for left-overs."""


@dataclass
class BytesRead:
    """Of the files that were looked at: bytes read, and bytes that they hold."""

    read: int = 0
    held: int = 0


@dataclass
class Spool:
    """A folder that lives as long as one ingest. Use as a context manager."""

    root: Path
    lake: Path | None = None
    """The lake around the spool, which is never examined, whatever it lies below."""
    is_shared: bool = False
    """Whether the folder around it is of spools."""
    bytes_read: BytesRead = field(default_factory=BytesRead)
    _count: int = field(default=0)

    @staticmethod
    def below(lake: str) -> Spool:
        """A new spool; what ingests that were killed long ago left behind is removed.

        Its path is absolute, as Spark's workers need not share our working directory.
        """
        folder = (local_place(lake) / FOLDER).absolute()
        with suppress(FileNotFoundError):  # another ingest may be clearing up as well
            for left in folder.iterdir():
                if time.time() - left.stat().st_mtime > ABANDONED_AFTER_S:
                    shutil.rmtree(left, ignore_errors=True)
        root = folder / uuid.uuid4().hex
        return Spool(root, None if is_remote(lake) else Path(local_path(lake)), is_shared=True)

    def not_examined(self) -> tuple[str, ...]:
        """Folders that a search from above must leave out."""
        folders = (self.root.parent if self.is_shared else self.root, self.lake)
        return tuple(str(folder) for folder in folders if folder is not None)

    def __enter__(self) -> Spool:
        self.root.mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        if self.is_shared:
            with suppress(OSError):  # not empty: another ingest is at work
                self.root.parent.rmdir()

    def new_folder(self) -> Path:
        """An empty folder of its own."""
        self._count += 1
        folder = self.root / f"{self._count:05d}"
        folder.mkdir()
        return folder


def local_place(lake: str) -> Path:
    """The folder for what an ingest keeps in files that grow, have holes or are renamed: the lake's
    own, and a local one where it is in an object store. UsageError where that is another user's."""
    if not is_remote(lake):
        return Path(local_path(lake)).absolute()
    named = os.environ.get(PLACE_VARIABLE)
    place = Path(named or Path(tempfile.gettempdir(), f"kraftlake-{os.getuid()}")).absolute()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if place.stat().st_uid != os.getuid():
        raise UsageError(f"{place}: another user's; set {PLACE_VARIABLE} to a folder of your own")
    return place


@dataclass(frozen=True, slots=True)
class Copying:
    """A way to read files that leaves a copy: the `read` and `resume` ports of
    replica.format.directory.

    node_folder: the node's log directory, which relative paths count from. known: what need not be
    read again, by canonical path; snapshot_ends: offsets. The copy of a known file is sparse: what
    was read lies at its place, between holes.
    """

    node_folder: str
    copies: Path
    count: BytesRead
    known: Mapping[str, KnownFile] = field(default_factory=dict)
    snapshot_ends: Sequence[int] = ()

    def __call__(self, path: str, limit: int) -> bytes:
        data = read_file(path, limit)
        relative = os.path.relpath(path, self.node_folder)
        self._write(relative, [(0, data)], len(data))
        return data

    def resume(self, relative: str, path: str, name: FileName) -> Resumed | None:
        """See replica.format.directory.Resume."""
        known = self.known.get(canonical(relative))
        if known is None or name.deleted:
            return None
        with open_file(path, MAX_LOG_BYTES) as file:
            if name.kind is FileKind.SEGMENT:
                found = resume_segment(file, known, scan, self.snapshot_ends)
            else:
                found = resume_snapshot(file, known)
        if found is not None:
            self._write(relative, found.pieces, found.size_bytes)
        return found

    def _write(self, relative: str, pieces: Sequence[tuple[int, Buffer]], size: int) -> None:
        target = self.copy_of(relative)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as out:
                for position, data in pieces:
                    out.seek(position)
                    out.write(data)
                    self.count.read += len(data)
                out.truncate(size)
        except OSError as error:
            hint = "make room on that disk and ingest again"
            raise UnwritableFileError(str(target), f"{error.strerror or error}; {hint}") from error

    def copy_of(self, relative: str) -> Path:
        """Where the copy of a file lies, by its path below the node's log directory."""
        return self.copies / relative
