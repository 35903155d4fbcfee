"""Snapshot files beside the log (KIP-630; Kafka: FileRawSnapshotWriter, Snapshots).

A snapshot is written with the suffix .part, which is removed when the snapshot is complete, checked
and synced. Before a snapshot is deleted, it gets the suffix .deleted. So after a crash, every file
with the name of a complete snapshot is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from replica.errors import CorruptDataError, DataError
from replica.format import control
from replica.format.snapshot import SnapshotName, SnapshotState, format_name, parse_name
from replica.format.stored_batches import BatchFile
from replica.format.whole_batch import messages_in
from replica.message.primitives import Buffer
from replica.model.batch import Batch
from replica.model.control import ControlRecord, KRaftVersion, KRaftVoters
from replica.model.epochs import OffsetAndEpoch, election_order
from replica.model.stored import SnapshotFacts
from replica.storage.batch_walk import walk
from replica.storage.batches import batch_in, record_of
from replica.storage.filesystem import File, FileSystem
from replica.storage.snapshot_writer import FileSnapshotWriter
from replica.storage.stored_batches import FileBatches

_FETCHED, _WRITTEN = "-1", "-2"
"""What stands between the epoch and `.checkpoint.part` in the name of an incomplete snapshot: -1
for a snapshot that is fetched from the leader, -2 for a snapshot that this replica writes."""


class SnapshotFiles:
    """The complete snapshots in a folder. Iterating gives their ids, from the oldest to the
    newest."""

    def __init__(self, files: FileSystem, folder: str) -> None:
        """Raises DataError if a complete snapshot's header can't be read."""
        self._files = files
        self._folder = folder
        self._facts: dict[OffsetAndEpoch, SnapshotFacts] = {}
        for name in files.names(folder):
            parsed = parse_name(name)
            if parsed is not None and parsed.state is SnapshotState.COMPLETE:
                self.add(_facts_of_complete(files, f"{folder}/{name}", parsed.id))

    def __iter__(self) -> Iterator[OffsetAndEpoch]:
        return iter(self._facts)

    def __contains__(self, snapshot_id: object) -> bool:
        return snapshot_id in self._facts

    @property
    def newest(self) -> OffsetAndEpoch | None:
        return next(reversed(self._facts), None)

    def facts(self) -> tuple[SnapshotFacts, ...]:
        """The facts of each snapshot, from the oldest to the newest."""
        return tuple(self._facts.values())

    def write_part(self, snapshot_id: OffsetAndEpoch, position: int, data: bytes) -> None:
        """Write bytes at byte `position` of a snapshot that is being fetched. Position 0 starts the
        file again."""
        path = self._path(snapshot_id, SnapshotState.PART, _FETCHED)
        with self._files.create(path) if position == 0 else self._files.open(path) as file:
            assert position == file.size(), "a snapshot is fetched from its beginning to its end"
            file.write(position, data)

    def freeze(self, snapshot_id: OffsetAndEpoch) -> SnapshotFacts:
        """Durable: check a fetched snapshot (header, footer, framing, CRC), sync and rename its
        file. If the file isn't a whole snapshot, this method removes the file and raises
        DataError."""
        facts = self._complete(snapshot_id, self._path(snapshot_id, SnapshotState.PART, _FETCHED))
        self.add(facts)
        return facts

    def write(
        self, snapshot_id: OffsetAndEpoch, timestamp: int, facts: Sequence[ControlRecord]
    ) -> FileSnapshotWriter:
        """Begin a snapshot of the local state machine: write the header, then the control records
        `facts`. Returns the writer for the further records. timestamp: the append time (ms) of the
        last record in the snapshot, which the header names.

        Another thread may use the writer until `complete`, which changes nothing in this object.
        The snapshot is visible as soon as its facts are given to `add`.
        """
        path = self._path(snapshot_id, SnapshotState.PART, _WRITTEN)
        return FileSnapshotWriter(
            self._files,
            path,
            snapshot_id,
            timestamp,
            facts,
            lambda: self._complete(snapshot_id, path),
            self.add,
        )

    def read(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        """At most `max_bytes` of a complete snapshot, from byte `position` on. The slice may begin
        and end within a batch (KIP-630: unaligned records)."""
        with self._files.open(self._path(snapshot_id)) as file:
            return file.read(position, max_bytes)

    def batches(self, snapshot_id: OffsetAndEpoch) -> Iterable[Batch]:
        """All batches of a complete snapshot. Raises DataError, which names file and byte, for a
        damaged file."""
        with self._files.open(self._path(snapshot_id)) as file:
            for frame, data in walk(file, expected_offset=0):
                yield batch_in(data, frame, frame.position)

    def size(self, snapshot_id: OffsetAndEpoch) -> int:
        """The size of a complete snapshot in bytes."""
        return self._facts[snapshot_id].size

    def stored(self, snapshot_id: OffsetAndEpoch) -> FileBatches:
        """All batches of a complete snapshot, for a reader in another thread. The caller closes the
        result."""
        path = self._path(snapshot_id)
        source = self._files.reader(path, self.size(snapshot_id))
        return FileBatches((BatchFile(path, source, 0, 0, None),))

    def delete(self, snapshot_ids: Sequence[OffsetAndEpoch]) -> None:
        """Durable: delete complete snapshots. A snapshot that doesn't exist is ignored."""
        there = [id for id in snapshot_ids if self._facts.pop(id, None) is not None]
        for snapshot_id in there:
            deleted = self._path(snapshot_id, SnapshotState.DELETED)
            self._files.rename(self._path(snapshot_id), deleted)
        if there:
            self._files.sync_directory(self._folder)
        for snapshot_id in there:
            self._files.remove(self._path(snapshot_id, SnapshotState.DELETED))

    def delete_before(self, snapshot_id: OffsetAndEpoch) -> None:
        """Durable: delete every snapshot that is older than this one."""
        self.delete([id for id in self if election_order(id) < election_order(snapshot_id)])

    def _path(
        self,
        snapshot_id: OffsetAndEpoch,
        state: SnapshotState = SnapshotState.COMPLETE,
        unique: str = "",
    ) -> str:
        return f"{self._folder}/{format_name(SnapshotName(snapshot_id, state, unique))}"

    def _complete(self, snapshot_id: OffsetAndEpoch, part: str) -> SnapshotFacts:
        try:
            with self._files.open(part) as file:
                facts = check_snapshot(file, snapshot_id)
                file.sync()
        except DataError:
            self._files.remove(part)
            raise
        self._files.rename(part, self._path(snapshot_id))
        self._files.sync_directory(self._folder)
        return facts

    def add(self, facts: SnapshotFacts) -> None:
        """Note a snapshot that is complete and durable."""
        kept = [*self._facts.values(), facts]
        kept.sort(key=lambda each: election_order(each.snapshot_id))
        self._facts = {each.snapshot_id: each for each in kept}


def check_snapshot(file: File, snapshot_id: OffsetAndEpoch) -> SnapshotFacts:
    """Read and check a whole snapshot: it must begin with a header and end with a footer, every
    batch must have the snapshot's epoch, and every CRC must be valid. Returns the facts of the
    snapshot.

    Raises DataError, which names file and byte, if a check fails.
    """
    head: list[control.ControlMessage] = []
    messages: tuple[control.ControlMessage, ...] = ()
    position = 0
    for frame, data in walk(file, expected_offset=0):
        if frame.epoch != snapshot_id.epoch:
            reason = f"a batch of epoch {frame.epoch} in a snapshot of epoch {snapshot_id.epoch}"
            raise CorruptDataError(reason, frame.position, file.path)
        messages = _messages(file, frame.position, data) if frame.is_control else ()
        if not head:
            _check_header(file, messages)
        head.extend(messages)
        position = frame.position
    if not head or not isinstance(messages[-1] if messages else None, control.SnapshotFooter):
        raise CorruptDataError("the last record must be a snapshot footer", position, file.path)
    return _facts(file, snapshot_id, head)


def _facts_of_complete(files: FileSystem, path: str, id: OffsetAndEpoch) -> SnapshotFacts:
    """The facts of a complete snapshot. Only the first batch is read, because the whole file was
    checked before it got its name."""
    with files.open(path) as file:
        for frame, data in walk(file, expected_offset=0):
            messages = _messages(file, frame.position, data) if frame.is_control else ()
            _check_header(file, messages)
            return _facts(file, id, messages)
        raise CorruptDataError("the first record is no snapshot header", 0, path)


def _messages(file: File, position: int, data: Buffer) -> tuple[control.ControlMessage, ...]:
    try:
        return messages_in(data)
    except DataError as error:
        raise error.shifted(position).in_file(file.path) from error


def _check_header(file: File, messages: Sequence[control.ControlMessage]) -> None:
    if not messages or not isinstance(messages[0], control.SnapshotHeader):
        raise CorruptDataError("the first record is no snapshot header", 0, file.path)


def _facts(
    file: File, snapshot_id: OffsetAndEpoch, messages: Sequence[control.ControlMessage]
) -> SnapshotFacts:
    header = messages[0]
    assert isinstance(header, control.SnapshotHeader)
    voters, kraft_version = None, 0
    try:
        records = [*map(record_of, messages)]
    except CorruptDataError as error:
        raise error.in_file(file.path) from error
    for record in records:
        if isinstance(record, KRaftVoters):
            voters = record.voters
        elif isinstance(record, KRaftVersion):
            kraft_version = record.kraft_version
    return SnapshotFacts(
        snapshot_id, file.size(), header.last_contained_log_timestamp, voters, kraft_version
    )
