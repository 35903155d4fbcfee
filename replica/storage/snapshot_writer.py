"""Writes one snapshot of the local state machine (KIP-630; Kafka: RecordsSnapshotWriter)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replica.format import control
from replica.format.whole_batch import control_batch, value_batch
from replica.model.control import ControlRecord
from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import SnapshotFacts
from replica.storage.batches import message_of
from replica.storage.filesystem import FileSystem

BATCH_BYTES = 1024 * 1024
"""A batch ends with the value at which its values reach this size (bytes). Kafka's limit for a
batch of metadata is 8 MiB."""
_VERSION = 0


class FileSnapshotWriter:
    """A snapshot that is being written. The snapshot isn't visible before `freeze`.

    Each batch has the timestamp of the header. So replicas that take a snapshot of the same state
    at the same offset write the same bytes.
    """

    def __init__(
        self,
        files: FileSystem,
        path: str,
        snapshot_id: OffsetAndEpoch,
        timestamp: int,
        facts: Sequence[ControlRecord],
        complete: Callable[[], SnapshotFacts],
        add: Callable[[SnapshotFacts], None],
    ) -> None:
        """path: the .part file.
        complete: a function that checks, syncs and renames this file.
        add: SnapshotFiles.add, which makes the snapshot visible."""
        self._files = files
        self._file = files.create(path)
        self._epoch = snapshot_id.epoch
        self._timestamp = timestamp
        self._complete = complete
        self._add = add
        self._values: list[bytes] = []
        self._bytes = 0
        self._position = 0
        self._next_offset = 0
        self._is_open = True
        messages = [message_of(record) for record in facts]
        self._put_control(control.SnapshotHeader(_VERSION, timestamp), *messages)

    def append(self, records: Sequence[bytes]) -> None:
        """Add records. records: the encoded value of each record."""
        assert self._is_open, "a frozen snapshot takes no more records"
        for value in records:
            self._values.append(value)
            self._bytes += len(value)
            if self._bytes >= BATCH_BYTES:
                self._put_values()

    def freeze(self) -> SnapshotFacts:
        """Durable: write the footer, sync the file and rename the file. After that the snapshot is
        visible."""
        facts = self.complete()
        self._add(facts)
        return facts

    def complete(self) -> SnapshotFacts:
        """Durable: the part of `freeze` that only works on the file. Another thread may call this
        method. The snapshot isn't visible before SnapshotFiles.add."""
        assert self._is_open, "a snapshot is completed once"
        self._put_values()
        self._put_control(control.SnapshotFooter(_VERSION))
        self._is_open = False
        self._file.close()
        return self._complete()

    def close(self) -> None:
        """Close the file. A forked copy of this process may have completed the file. A second call
        does nothing."""
        self._file.close()

    def abort(self) -> None:
        """Remove the .part file. After `complete` this method does nothing."""
        if self._is_open:
            self._is_open = False
            self._file.close()
            self._files.remove(self._file.path)

    def _put_values(self) -> None:
        if self._values:
            batch = value_batch(self._next_offset, self._epoch, self._timestamp, self._values)
            self._put(batch, len(self._values))
            self._values, self._bytes = [], 0

    def _put_control(self, *messages: control.ControlMessage) -> None:
        batch = control_batch(self._next_offset, self._epoch, self._timestamp, messages)
        self._put(batch, len(messages))

    def _put(self, batch: bytes, records: int) -> None:
        self._file.write(self._position, batch)
        self._position += len(batch)
        self._next_offset += records
