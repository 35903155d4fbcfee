"""Replays stored batches in bulk for a state machine that is far behind, with the same result as
record by record."""

from __future__ import annotations

from collections.abc import Callable

from replica.errors import CorruptDataError, DataError
from replica.format.content import MovedError
from replica.format.record import Record, records_of
from replica.format.stored_batches import BatchFile, StoredBatches
from replica.format.walk import LocatedBatch
from replica.metadata.image.replay import Replay, ReplayedRecord
from replica.scan import store
from replica.scan.bulk_replay import BulkReplay
from replica.scan.compiled import index_slots, replay_rows, walk_frames
from replica.scan.regions import Chunk, Regions
from replica.scan.tables import program_table

ReadRecord = Callable[[Record, bool], ReplayedRecord | None]
"""(record, whether it is a control record) -> the decoded record; None for a record without
content. Such a function raises DataError for a record that can't be decoded."""


_KERNELS = (walk_frames, index_slots, replay_rows)


def is_compiled() -> bool:
    """Whether the kernels are compiled already, so that `load` needs no compiler."""
    return all(store.find(kernel.name) is not None for kernel in _KERNELS)


def load() -> None:
    """Load the kernels. Raises UsageError if a kernel must be compiled and numba isn't installed,
    and KraftlakeError if the compiler fails."""
    for kernel in _KERNELS:
        kernel.load()


def replay_stored(replay: Replay, stored: StoredBatches, read: ReadRecord) -> None:
    """Apply all records of the batches, in their order. read: decodes the records that the kernels
    refuse.

    Raises DataError, which names file and byte, for a damaged batch, and for a record for which
    `read` raises DataError. The tables of `replay` are then inconsistent.
    """
    bulk = BulkReplay.going_on(replay)
    for file in stored.files:
        try:
            _replay_file(bulk, file, read)
        except DataError as error:
            raise error.in_file(file.path) from error
        except MovedError as error:
            raise CorruptDataError("bytes changed while they were read", 0, file.path) from error
    assert bulk.state is replay.state


def _replay_file(bulk: BulkReplay, file: BatchFile, read: ReadRecord) -> None:
    regions = Regions(file.source.part(file.begin), file.begin, file.base_offset)
    for region in regions.read(program_table(keep_secrets=True)):
        if isinstance(region, Chunk):
            _replay_chunk(bulk, region, file, read)
        elif region.crc_valid:
            _replay_batch(bulk, region, regions, read)
        if regions.damages:
            break
    for damage in regions.damages:
        raise CorruptDataError(damage.detail, damage.position)
    if file.end_offset not in (None, regions.next_offset):
        raise CorruptDataError(
            f"the batches' end offset is {regions.next_offset}", file.source.size
        )


def _replay_chunk(bulk: BulkReplay, chunk: Chunk, file: BatchFile, read: ReadRecord) -> None:
    row = 0
    while row < chunk.row_count:
        row = bulk.take(chunk, file.source, row, chunk.row_count, explain=False).row
        if row < chunk.row_count:
            record = chunk.record(row)
            _apply(bulk, record, read(record, chunk.is_control(row)))
            row += 1


def _replay_batch(
    bulk: BulkReplay, batch: LocatedBatch, regions: Regions, read: ReadRecord
) -> None:
    data = regions.bytes_of(batch)
    try:
        for record in records_of(batch.header, data):
            _apply(bulk, record, read(record, batch.header.is_control))
    except DataError as error:
        raise error.shifted(batch.position) from error


def _apply(bulk: BulkReplay, record: Record, message: ReplayedRecord | None) -> None:
    if message is not None:
        bulk.apply(record.offset, message)
