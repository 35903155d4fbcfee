"""The leader-epoch cache and its file, leader-epoch-checkpoint (Kafka: LeaderEpochFileCache)."""

from __future__ import annotations

from itertools import pairwise

from replica.errors import DataError
from replica.format import leader_epoch_checkpoint
from replica.format.leader_epoch_checkpoint import FILE_NAME
from replica.history import epochs
from replica.model.epochs import Epochs
from replica.storage.filesystem import FileSystem, read_whole, replace_durably

_MAX_BYTES = 16 * 1024 * 1024


class EpochCheckpoint:
    """The leader-epoch cache. `entries` has the entries in memory. `save` writes the entries
    durably if they have changed."""

    def __init__(self, files: FileSystem, folder: str, entries: Epochs, saved: Epochs | None):
        self.entries = entries
        self._files = files
        self._folder = folder
        self._saved = saved

    @property
    def latest_epoch(self) -> int:
        """The newest epoch; -1 without entries."""
        return self.entries[-1].epoch if self.entries else -1

    def assign(self, epoch: int, start_offset: int) -> None:
        self.entries = epochs.assign(self.entries, epoch, start_offset)

    def truncate_from_end(self, end_offset: int) -> None:
        self.entries = epochs.truncate_from_end(self.entries, end_offset)

    def truncate_from_start(self, start_offset: int) -> None:
        self.entries = epochs.truncate_from_start(self.entries, start_offset)

    def save(self, entries: Epochs | None = None) -> None:
        """Durable: write the file. After a crash the file has either the old entries or the new
        entries.
        entries: the entries to write; None for all entries in memory.
        """
        entries = self.entries if entries is None else entries
        if self._saved != entries:
            data = leader_epoch_checkpoint.encode(entries)
            replace_durably(self._files, self._folder, FILE_NAME, data)
            self._saved = entries


def read_checkpoint(files: FileSystem, folder: str) -> Epochs | None:
    """The file's entries. None if the file is missing or damaged, or if its epochs or its offsets
    don't rise.

    The file can be rebuilt from the batches of the log, except for the log start.
    """
    if FILE_NAME not in files.names(folder):
        return None
    try:
        entries = leader_epoch_checkpoint.decode(
            read_whole(files, f"{folder}/{FILE_NAME}", _MAX_BYTES)
        )
    except DataError:
        return None
    for before, after in pairwise(entries):
        if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
            return None
    return entries
