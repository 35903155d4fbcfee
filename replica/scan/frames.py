"""What the frame kernel fills, a chunk's two tables, and the limits of a chunk.

See replica.scan.kernels.frames.walk_frames, which is the kernel.
"""

from __future__ import annotations

from replica.format.batch import HEADER

HEADER_BYTES = HEADER.size

ROWS = 32_768
"""Rows in one chunk. A batch that claims more records is read by the scalar reader."""
BATCHES = 16_384
"""Batches in one chunk."""
CHUNK_BYTES = 8 * 1024 * 1024
"""A chunk that holds as many bytes takes no further batch."""
LARGEST_BATCH_BYTES = 16 * 1024 * 1024
"""A larger batch is read by the scalar reader. Kafka's metadata batches have at most 8 MiB."""

LARGEST_VALUE_BYTES = 100_000
"""A longer value is read by the scalar reader. Only a longer value could have more elements than
replica.metadata.reader takes."""

# Columns of the chunk's two tables, each an int64 array of columns one behind another.
(
    BATCH_POSITION,
    BATCH_BASE_OFFSET,
    BATCH_LAST_OFFSET,
    BATCH_EPOCH,
    BATCH_CRC,
    BATCH_ATTRIBUTES,
    BATCH_COUNT,
    BATCH_SIZE,
    BATCH_BASE_TIME,
    BATCH_MAX_TIME,
) = range(10)
BATCH_COLUMNS = 10
(
    ROW_BATCH,
    ROW_OFFSET,
    ROW_TIME,
    ROW_KEY,
    ROW_KEY_SIZE,
    ROW_VALUE,
    ROW_VALUE_SIZE,
    ROW_PROGRAM,
) = range(8)
ROW_COLUMNS = 8
"""A key or value is told by its position in the buffer and its size. A size of -1 is null."""

# What the kernel leaves in `state`.
STATE_POSITION, STATE_EXPECTED, STATE_BATCHES, STATE_ROWS, STATE_WANTED = range(5)
STATE_ITEMS = 5
"""WANTED: bytes of the batch (or of its header) that STOP_SHORT found cut off."""

STOP_FULL = 0
"""The chunk is full; go on with an empty one."""
STOP_FRAME = 1
"""No batch with a right CRC is in its place here."""
STOP_RECORDS = 2
"""A batch that is in its place and has a right CRC, but whose records aren't plain."""
STOP_SHORT = 3
"""The bytes end here, or inside a batch whose header is sound and in its place."""

ENVELOPE_BYTES = 3
"""Bytes before the fields of a value that has a program: frame version, api key and version."""
KEYS = 128
VERSIONS = 16
"""The table `program_of` has VERSIONS numbers for each of KEYS api keys."""
