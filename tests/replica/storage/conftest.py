"""Every behaviour test of storage runs on the real disk and on the simulated one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from replica.simulate.disk import SimulatedDisk
from replica.storage.filesystem import FileSystem, LocalDisk, read_whole
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig


@dataclass
class Place:
    """A disk and a folder in it."""

    files: FileSystem
    folder: str

    def open(self, **settings: int) -> FileLog:
        return open_log(self.files, self.folder, LogConfig(**settings))

    def names(self) -> tuple[str, ...]:
        return self.files.names(self.folder)

    def content(self, name: str) -> bytes:
        return read_whole(self.files, f"{self.folder}/{name}", 2**31)

    def put(self, name: str, data: bytes) -> None:
        """Writes a file, as a crash or a person may have left it."""
        with self.files.create(f"{self.folder}/{name}") as file:
            file.write(0, data)
            file.sync()
        self.files.sync_directory(self.folder)


@pytest.fixture(params=["local", "simulated"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    folder = f"{tmp_path}/__cluster_metadata-0"
    files: FileSystem = LocalDisk() if request.param == "local" else SimulatedDisk(Random(1))
    files.make_directory(folder)
    return Place(files, folder)
