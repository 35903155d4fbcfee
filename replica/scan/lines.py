"""Makes lines of JSON of records, without Arrow: the lines that `kraftlake dump --json` prints for
large files.

found = LineScan(file, prefix=b'{"file":"x","offset":', expected_offset=0)
for piece in found:
    ...      # bytes of whole lines, a record or a batch for the scalar reader
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from replica.format.byte_source import Source
from replica.format.record import Record
from replica.format.walk import LocatedBatch
from replica.scan import frames, tables
from replica.scan.compiled import write_lines
from replica.scan.native import Bytes, Longs
from replica.scan.regions import Chunk, Regions

OUTPUT_BYTES = 1024 * 1024
"""The most bytes of lines that are written at a time. The scalar reader reads a record whose line
might be longer."""

Choose: TypeAlias = Callable[[Longs, Longs, Longs], npt.NDArray[np.bool_]]
"""A function that chooses rows. The function takes arrays of the rows' offsets, timestamps (ms) and
leader epochs, and gives an array that is true for the wanted rows."""


@dataclass(frozen=True, slots=True)
class ScalarRecord:
    """A record that the kernel refused."""

    position: int
    """The byte of the file at which the batch of the record begins."""
    leader_epoch: int
    is_control: bool
    record: Record


Piece: TypeAlias = "memoryview | ScalarRecord | LocatedBatch"
"""A piece of the output: lines, whose bytes are valid until the next piece; or a record or a batch
that the caller must read by the scalar reader, and whose rows the caller must choose."""


class LineScan(Regions):
    """Iterates once over the pieces of a segment or snapshot, in the order of the file.

    data, expected_offset: the arguments of JudgedWalk.
    prefix: the beginning of each line, up to the offset.
    choose: chooses rows; None for all rows.
    takes_type: a function that says whether a record type has lines. A record that can't be decoded
        goes to the scalar reader, whatever its type is.
    """

    def __init__(
        self,
        data: Source,
        *,
        prefix: bytes,
        expected_offset: int | None,
        keep_secrets: bool,
        choose: Choose | None = None,
        takes_type: Callable[[str], bool] = lambda record_type: True,
    ) -> None:
        super().__init__(data, 0, expected_offset)
        self._keep_secrets = keep_secrets
        self._choose = choose
        self._prefix: Bytes = np.frombuffer(prefix, np.uint8)
        taken = [takes_type(program.schema.name) for program in tables.KERNEL_PROGRAMS]
        self._shown: Longs = np.array(taken, np.int64)
        self._every_row: Longs = np.arange(frames.ROWS, dtype=np.int64)
        self._output: Bytes = np.empty(OUTPUT_BYTES, np.uint8)
        self._places: Longs = np.zeros(tables.MAX_WIDTH, np.int64)

    def __iter__(self) -> Iterator[Piece]:
        for region in self.read(tables.program_table(keep_secrets=self._keep_secrets)):
            if isinstance(region, Chunk):
                yield from self._of_chunk(region)
            elif region.crc_valid:
                yield region

    def _of_chunk(self, chunk: Chunk) -> Iterator[Piece]:
        chosen = self._chosen(chunk)
        batches, rows = chunk.batches.reshape(-1), chunk.rows.reshape(-1)
        guarded = tables.NO_PROGRAM if self._keep_secrets else tables.CONFIG_PROGRAM
        state = np.zeros(tables.LINES_ITEMS, np.int64)
        at = 0
        while at < chosen.size:
            at = write_lines(
                chunk.array, batches, rows, chosen, at, chosen.size, guarded,
                self._shown, self._prefix, self._output, self._places, state,
            )  # fmt: skip
            if state[tables.LINES_WRITTEN]:
                yield self._output.data[: state[tables.LINES_WRITTEN]]
            if state[tables.LINES_REFUSED]:
                yield _for_the_scalar_reader(chunk, int(chosen[at]))
                at += 1

    def _chosen(self, chunk: Chunk) -> Longs:
        """The numbers of the rows of the chunk that `choose` wants."""
        if self._choose is None:
            return self._every_row[: chunk.row_count]
        rows = chunk.rows[:, : chunk.row_count]
        epochs = chunk.batches[frames.BATCH_EPOCH][rows[frames.ROW_BATCH]]
        wanted = self._choose(rows[frames.ROW_OFFSET], rows[frames.ROW_TIME], epochs)
        return np.flatnonzero(wanted)


def _for_the_scalar_reader(chunk: Chunk, row: int) -> ScalarRecord:
    batch = chunk.rows[frames.ROW_BATCH, row]
    position = chunk.start + int(chunk.batches[frames.BATCH_POSITION, batch])
    epoch = int(chunk.batches[frames.BATCH_EPOCH, batch])
    return ScalarRecord(position, epoch, chunk.is_control(row), chunk.record(row))
