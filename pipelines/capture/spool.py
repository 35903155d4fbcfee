"""The spool: a private copy of every file that one ingest reads."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.capture import private
from pipelines.lake import Lake
from replica.errors import UnwritableFileError, UsageError
from replica.format.byte_source import OpenFile, Source, blocks
from replica.format.capture import canonical
from replica.format.file_names import FileKind, FileName
from replica.format.known_file import KnownFile, Resumed, Resuming, Stretch
from replica.format.reading import MAX_LOG_BYTES, in_memory_if_small, open_file, open_own_file
from replica.scan.file_room import FileRoom

FOLDER = "_spool"
"""The name of the folder below the lake. Delta tables never start with an underscore."""
PLACE_VARIABLE = "KRAFTLAKE_SPOOL"
"""The variable that names a folder for the spools of lakes in object stores."""
_NAME = re.compile("[0-9a-f]{32}")
"""The name of one ingest's spool."""


@dataclass
class BytesRead:
    """How many bytes of the files were read, and how many bytes the files have."""

    read: int = 0
    held: int = 0


@dataclass
class Spool:
    """A folder that exists as long as one ingest. Only its owner may read it. Use it as a context
    manager."""

    root: Path
    lake: Path | None = None
    """The folder of the lake for which the files are read. A search for directories leaves this
    folder out, whether or not the spool lies in it. None where the lake is in an object store, or
    where there is no lake."""
    spools: Path | None = None
    """The folder in which all spools lie, which is removed with the last spool; None for a spool
    outside of such a folder."""
    bytes_read: BytesRead = field(default_factory=BytesRead)
    _count: int = field(default=0)

    @staticmethod
    def below(lake: Lake) -> Spool:
        """A new spool. Its path is absolute, because Spark's workers may have another working
        directory. Raises UsageError where there is a link in the place of the spools' folder."""
        spools = local_place(lake) / FOLDER
        if spools.is_symlink():
            raise UsageError(
                f"{spools}: is a link, but copies of what is read must stay in the lake's own "
                "folder: rename the link"
            )
        root = _folder_of(spools, lake) / uuid.uuid4().hex
        return Spool(root, None if lake.is_remote else lake.folder, spools)

    def not_examined(self) -> tuple[str, ...]:
        """The folders that a search from a folder above must leave out."""
        folders = (self.spools or self.root, self.lake)
        return tuple(str(folder) for folder in folders if folder is not None)

    def __enter__(self) -> Spool:
        private.make_folder(self.root)
        if self.spools is not None:
            self.spools.chmod(private.FOLDER_MODE)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        if self.spools is not None:
            _remove_empty(self.root.parent, self.spools)

    def new_folder(self) -> Path:
        """A new, empty folder."""
        self._count += 1
        folder = self.root / f"{self._count:05d}"
        private.make_folder(folder)
        return folder


def remove_left_over(lake: Lake) -> None:
    """Remove the spools of killed ingests of this lake. The caller must hold the lake's lock, so
    that no ingest runs."""
    spools = _place_of(lake) / FOLDER
    folder = _folder_of(spools, lake)
    if spools.is_symlink() or not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        left = [one for one in entries if _NAME.fullmatch(one.name)]
    for one in left:
        if one.is_dir(follow_symlinks=False):
            shutil.rmtree(one.path, ignore_errors=True)
    _remove_empty(folder, spools)


def _remove_empty(*folders: Path) -> None:
    """Remove empty folders upward, until one holds something, such as the spool of a running
    ingest."""
    with suppress(OSError):
        for folder in dict.fromkeys(folders):
            folder.rmdir()


def _folder_of(spools: Path, lake: Lake) -> Path:
    """The folder of this lake's spools. Lakes in object stores share one place for such folders."""
    if not lake.is_remote:
        return spools
    same = lake.place.replace("s3a://", "s3://", 1).rstrip("/")
    return spools / hashlib.sha256(same.encode()).hexdigest()[:16]


def local_place(lake: Lake) -> Path:
    """The folder for files that an ingest lets grow, fills with holes or renames. It is the lake's
    own folder, or a local folder where the lake is in an object store. Raises UsageError where the
    folder belongs to another user, or is a link that the user did not name."""
    place = _place_of(lake)
    if not lake.is_remote:
        return place
    private.make_folder(place)
    if place.is_symlink() and PLACE_VARIABLE not in os.environ:
        raise UsageError(f"{place}: a link; set {PLACE_VARIABLE} to a folder of your own")
    if place.stat().st_uid != os.getuid():
        raise UsageError(f"{place}: another user's; set {PLACE_VARIABLE} to a folder of your own")
    return place


def _place_of(lake: Lake) -> Path:
    if not lake.is_remote:
        return lake.folder.absolute()
    named = os.environ.get(PLACE_VARIABLE)
    return Path(named or Path(tempfile.gettempdir(), f"kraftlake-{os.getuid()}")).absolute()


@dataclass(frozen=True)
class FileReader(ABC):
    """Reads the files of a directory: the `read` and `resume` ports of replica.format.directory."""

    count: BytesRead
    """Counts the bytes that are read."""
    known: Mapping[str, KnownFile]
    """The files that needn't be read again, by canonical path."""
    snapshot_ends: Sequence[int]
    """The end offsets of the directory's snapshots."""
    room: FileRoom
    """The limit of the memory for one file."""

    @abstractmethod
    def __call__(self, path: str, limit: int) -> Source:
        """The bytes of a file. Raises UnreadableFileError."""

    def resume(self, relative: str, path: str, name: FileName) -> Resumed | None:
        """The known file, without reading all of its bytes; None where it must be read whole. This
        method is the port replica.format.directory.Resume."""
        known = self.known.get(canonical(relative))
        if known is None or name.deleted:
            return None
        ends = self.snapshot_ends if name.kind is FileKind.SEGMENT else None
        with self._opened(path, MAX_LOG_BYTES) as file:
            resuming = Resuming.of(file, known, ends, self.room.scan)
            if resuming is None:
                return None
            with self._kept(relative, file, resuming.stretches) as kept:
                resumed = resuming.read(kept, self.room.scan)
        if resumed is not None:
            self.count.read += sum(size for _, size in resuming.stretches)
        return resumed

    @abstractmethod
    def _opened(self, path: str, limit: int) -> OpenFile:
        """The file at the path. Raises UnreadableFileError."""

    @abstractmethod
    def _kept(
        self, relative: str, file: OpenFile, wanted: Iterable[Stretch]
    ) -> AbstractContextManager[OpenFile]:
        """An open file that has the wanted parts of `file` at their places: `file` itself, or a
        copy of these parts."""


@dataclass(frozen=True)
class Copying(FileReader):
    """Reads files and leaves copies. The copy of a known file is sparse: the bytes that were read
    are at their places, between holes."""

    node_folder: str
    """The node's log directory, from which relative paths start."""
    copies: Path
    follow_links: bool = False
    """Whether this program made the folder's links, to files that the user named."""

    def __call__(self, path: str, limit: int) -> Source:
        """The file's copy, which no other process writes to."""
        relative = os.path.relpath(path, self.node_folder)
        with self._opened(path, limit) as file:
            self.count.read += self._copy(relative, file, [(0, file.size)])
        return in_memory_if_small(open_file(str(self.copy_of(relative)), limit))

    def _opened(self, path: str, limit: int) -> OpenFile:
        return (open_file if self.follow_links else open_own_file)(path, limit)

    def _kept(
        self, relative: str, file: OpenFile, wanted: Iterable[Stretch]
    ) -> AbstractContextManager[OpenFile]:
        self._copy(relative, file, wanted)
        return open_file(str(self.copy_of(relative)), MAX_LOG_BYTES)

    def _copy(self, relative: str, file: OpenFile, wanted: Iterable[Stretch]) -> int:
        """Writes the wanted parts of the file to their places in its copy. Returns the number of
        bytes written. Raises UnwritableFileError."""
        target = self.copy_of(relative)
        count = 0
        try:
            private.make_folder(target.parent)
            # An existing copy is of an earlier capture, during which the directory changed.
            target.unlink(missing_ok=True)
            with private.new_file(target) as out:
                for position, size in wanted:
                    out.seek(position)
                    part = file.part(position, size)
                    whole = part.size
                    for block in blocks(part):
                        private.write_with_holes(out, block)
                        count += len(block)
                    if part.size < whole:  # The file was cut meanwhile.
                        file.size = position + part.size
                out.truncate(file.size)
        except OSError as error:
            hint = "make room on that disk and ingest again"
            raise UnwritableFileError(str(target), f"{error.strerror or error}; {hint}") from error
        return count

    def copy_of(self, relative: str) -> Path:
        """The path of a file's copy, by the file's path below the node's log directory."""
        return self.copies / relative

    def stamp_of(self, relative: str) -> None:
        """None: a copy needs no stamp, because no process writes to it."""
        return None
