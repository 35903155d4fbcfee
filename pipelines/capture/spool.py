"""The spool: a private copy of every file that one ingest reads."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from replica.format.reading import read_file

FOLDER = "_spool"
"""Below the lake; Delta tables never start with an underscore."""
ABANDONED_AFTER_S = 24 * 3600
"""Another ingest may be running beside this one, so only old spools are taken for left-overs."""


@dataclass
class Spool:
    """A folder that lives as long as one ingest. Use as a context manager."""

    root: Path
    lake: Path | None = None
    """The lake around the spool, which is never examined, whatever it lies below."""
    _count: int = field(default=0)

    @staticmethod
    def below(lake: str) -> Spool:
        """A new spool; what ingests that were killed long ago left behind is removed."""
        folder = Path(lake, FOLDER)
        with suppress(FileNotFoundError):  # another ingest may be clearing up as well
            for left in folder.iterdir():
                if time.time() - left.stat().st_mtime > ABANDONED_AFTER_S:
                    shutil.rmtree(left, ignore_errors=True)
        return Spool(folder / uuid.uuid4().hex, Path(lake))

    def not_examined(self) -> tuple[str, ...]:
        """Folders that a search from above must leave out."""
        folders = (self.root,) if self.lake is None else (self.lake / FOLDER, self.lake)
        return tuple(str(folder) for folder in folders)

    def __enter__(self) -> Spool:
        self.root.mkdir(parents=True)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        if self.lake is not None:
            with suppress(OSError):  # not empty: another ingest is at work
                self.root.parent.rmdir()

    def new_folder(self) -> Path:
        """An empty folder of its own."""
        self._count += 1
        folder = self.root / f"{self._count:05d}"
        folder.mkdir()
        return folder


@dataclass(frozen=True, slots=True)
class Copying:
    """A way to read files that leaves a copy: the `read` port of replica.format.directory.

    node_folder: the node's log directory, which relative paths count from.
    """

    node_folder: str
    copies: Path

    def __call__(self, path: str, limit: int) -> bytes:
        data = read_file(path, limit)
        target = self.copy_of(os.path.relpath(path, self.node_folder))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return data

    def copy_of(self, relative: str) -> Path:
        """Where the copy of a file lies, by its path below the node's log directory."""
        return self.copies / relative
