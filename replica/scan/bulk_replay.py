"""Replays whole chunks by compiled code, with the same result as replica.metadata.image.Replay.

    bulk = BulkReplay(image)
    taken = bulk.take(chunk, source, 0, chunk.row_count, explain=True)

A kernel keeps the facts that decide about refusals, and the place of the newest record of each
entity. The replay's tables are written only when an image, the reason of the first refusal, or the
scalar replay of a record needs them. Some records may change any entity (markers of transactions,
CLEAR_ELR). The records after such a record are replayed one by one, until their replay has taken as
long as filling the kernel's tables again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replica.errors import DataError
from replica.format.byte_source import ByteSource
from replica.metadata.image.image import EMPTY, Image
from replica.metadata.image.replay import (
    RecordReader,
    Refusal,
    Replay,
    ReplayedRecord,
    meaning,
)
from replica.metadata.image.state import State
from replica.metadata.record import MetadataRecord
from replica.scan import frames, tables
from replica.scan import replay_tables as t
from replica.scan.compiled import replay_rows
from replica.scan.log_bytes import LogBytes
from replica.scan.native import Longs
from replica.scan.regions import Chunk
from replica.scan.replay_slots import ReplaySlots
from replica.scan.replay_state import write_changes, write_puts

_REFILL_SHARE = 8
"""The number of entities whose entry into the kernel's tables takes as long as replaying one
record."""


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """The outcome of a run of rows."""

    row: int
    """The first row that was not replayed: the end of the run, or a record that can't be
    decoded."""
    refused: int
    """The number of rows that can't be applied."""
    first: tuple[int, Refusal] | None
    """The first refused row and its reason; None if no row was refused, or if the caller didn't ask
    for the reason."""


class BulkReplay:
    """A Replay that also takes rows of chunks. This replay reads bytes of the chunks' files again
    later. Each method raises MovedError if these bytes have changed.

    read: decodes the records that the kernel leaves to the scalar replay.
    """

    def __init__(self, image: Image = EMPTY, read: RecordReader = meaning) -> None:
        self._begin(Replay(image), read)

    @classmethod
    def going_on(cls, replay: Replay) -> BulkReplay:
        """Continue a replay. The replay's own tables are up to date only after a call of `state`.
        Before that call, nobody else may apply records to the replay."""
        bulk = cls.__new__(cls)
        bulk._begin(replay, meaning)
        return bulk

    def _begin(self, replay: Replay, read: RecordReader) -> None:
        self._replay = replay
        self._read = read
        self._log = LogBytes()
        self._places: Longs = np.zeros(tables.MAX_WIDTH, np.int64)
        # records are replayed one by one while this is None
        self._slots: ReplaySlots | None = None
        if not replay.in_transaction:
            self._slots = ReplaySlots(replay.state)
        self._one_by_one = 0

    @property
    def state(self) -> State:
        """The state after all records so far, in the form of Replay.state."""
        if self._slots is not None:
            write_changes(self._slots, self._log, self._replay)
        return self._replay.state

    def image(self) -> Image:
        """An image of the state after all records so far. Making the image takes about 5 us for
        each entity that has changed since the last image."""
        if self._slots is not None:
            write_changes(self._slots, self._log, self._replay)
        return self._replay.image()

    def apply(self, offset: int, record: ReplayedRecord) -> Refusal | None:
        """Apply one record by the scalar replay. What the kernel has changed is written into the
        replay first. Returns a Refusal if the record can't be applied, else None."""
        if isinstance(record, MetadataRecord):
            self._leave_kernel()
        return self._replay.apply(offset, record)

    def take(
        self, chunk: Chunk, source: ByteSource, low: int, high: int, *, explain: bool
    ) -> ReplayOutcome:
        """Replay the rows low <= row < high of a chunk, and return the outcome. source: the whole
        file of the chunk.
        explain: whether to find the reason of the first refusal, which takes as long as making an
            image.
        """
        first: tuple[int, Refusal] | None = None
        refused = 0
        row, base = low, self._log.add(source) + chunk.start
        while row < high:
            explained = not explain or first is not None
            stop = t.STOP_BARRIER
            self._enter_kernel()
            if self._slots is not None:
                run = row, high, base
                row, stop, more = self._by_kernel(self._slots, chunk, run, explained)
                refused += more
                if stop == t.STOP_DONE:
                    break
            try:
                refusal = self._one(chunk, row, stop)
            except DataError:
                break
            if refusal is not None:
                refused += 1
                if not explained:
                    first = row, refusal
            row += 1
        return ReplayOutcome(row, refused, first)

    def _by_kernel(
        self, slots: ReplaySlots, chunk: Chunk, run: tuple[int, int, int], explained: bool
    ) -> tuple[int, int, int]:
        """(the row at which the kernel stopped, its STOP code, the number of rows that can't be
        applied).

        run: (the first row, the row behind the last, the place of the chunk's first byte).
        """
        low, high, base = run
        sizes = chunk.rows[frames.ROW_VALUE_SIZE, low:high]
        slots.reserve(high - low, int(np.maximum(sizes, 0).sum()))
        slots.state[[t.STATE_REFUSED, t.STATE_EXPLAINED]] = 0, explained
        row = replay_rows(
            chunk.array, chunk.rows.reshape(-1), low, high, base,
            slots.slots, slots.index, slots.arena, slots.puts, slots.state, self._places,
        )  # fmt: skip
        return row, int(slots.state[t.STATE_STOP]), int(slots.state[t.STATE_REFUSED])

    def _one(self, chunk: Chunk, row: int, stop: int) -> Refusal | None:
        """Replay one row by the scalar replay. Returns a Refusal if the record can't be applied,
        else None. Raises DataError if the row can't be decoded."""
        record = chunk.record(row)
        message = self._read(record, is_control=chunk.is_control(row))
        if self._slots is None:
            self._one_by_one += 1
        elif stop == t.STOP_APPLY:
            write_puts(self._slots, self._log, self._replay)
        elif stop == t.STOP_REFUSED:
            write_changes(self._slots, self._log, self._replay)
        elif isinstance(message, MetadataRecord):
            self._leave_kernel()
        refusal = self._replay.apply(record.offset, message)
        assert stop != t.STOP_REFUSED or refusal is not None, "the kernel refuses what Replay does"
        return refusal

    def _leave_kernel(self) -> None:
        if self._slots is not None:
            write_changes(self._slots, self._log, self._replay)
            self._slots = None
            self._one_by_one = 0

    def _enter_kernel(self) -> None:
        """Use the kernel again, if enough records have been replayed one by one."""
        state = self._replay.state
        entities = len(state.topics.values) + len(state.partitions.values)
        if (
            self._slots is None
            and not self._replay.in_transaction
            and self._one_by_one * _REFILL_SHARE >= entities
        ):
            self._slots = ReplaySlots(state)
