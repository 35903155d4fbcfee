"""Whole batches in files, for a reader in another thread while the files' owner continues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from replica.format.byte_source import InMemory, OpenFile
from replica.model.batch import Batch


@dataclass(frozen=True, slots=True)
class BatchFile:
    """Whole batches of one file, one after another.

    path: the file's name, for errors.
    source: the file up to the end of the last batch.
    begin: the byte at which the first batch begins.
    base_offset: the first offset (inclusive).
    end_offset: the end offset of the last batch (exclusive); None if the caller doesn't know it.
    """

    path: str
    source: InMemory | OpenFile
    begin: int
    base_offset: int
    end_offset: int | None

    @property
    def size_bytes(self) -> int:
        """The size of the batches in bytes."""
        return max(0, self.source.size - self.begin)


@runtime_checkable
class StoredBatches(Protocol):
    """Batches that follow each other in files. Any thread may read them, and their files may be
    removed meanwhile. Iteration checks each CRC; it raises DataError, which names file and byte,
    for a damaged batch."""

    @property
    def files(self) -> tuple[BatchFile, ...]: ...

    @property
    def size_bytes(self) -> int: ...

    def __iter__(self) -> Iterator[Batch]: ...
