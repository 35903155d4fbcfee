"""The limits of a chunk, and its two tables, which replica.scan.kernels.frames.walk_frames fills.
The last part of the module describes the tables of runs of batches."""

from __future__ import annotations

from replica.format.batch import HEADER

HEADER_BYTES = HEADER.size

ROWS = 32_768
"""The most rows of one chunk. The scalar reader reads a batch that claims more records."""
BATCHES = 16_384
"""The most batches of one chunk."""
CHUNK_BYTES = 8 * 1024 * 1024
"""A chunk of this many bytes takes no more batches."""
LARGEST_BATCH_BYTES = 16 * 1024 * 1024
"""The largest batch (bytes) that kernels read; the scalar reader reads larger batches. Kafka's
metadata batches have at most 8 MiB."""

LARGEST_VALUE_BYTES = 100_000
"""The longest value (bytes) that kernels read; the scalar reader reads longer values. Only a longer
value could have more elements than replica.metadata.codec accepts."""

# Columns of the chunk's two tables. Each table is an int64 array in which one column follows
# another.
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
"""The number of a row's columns. KEY, VALUE: the position of the key or value in the buffer.
KEY_SIZE, VALUE_SIZE: the size of the key or value in bytes; -1 for null."""

# The results of the kernel in `state`.
STATE_POSITION, STATE_EXPECTED, STATE_BATCHES, STATE_ROWS, STATE_WANTED = range(5)
STATE_ITEMS = 5
"""The number of items of `state`. WANTED: after STOP_SHORT, the size in bytes of the incomplete
batch, or of its header if the header is incomplete."""

STOP_FULL = 0
"""The chunk is full. The caller continues with an empty chunk."""
STOP_FRAME = 1
"""The bytes at STATE_POSITION aren't a batch with the expected offset and a valid CRC."""
STOP_RECORDS = 2
"""The next batch has the expected offset and a valid CRC, but the kernel can't read its records."""
STOP_SHORT = 3
"""The bytes end at STATE_POSITION, within the next header, or within a batch whose header is valid
and has the expected offset."""

ENVELOPE_BYTES = 3
"""The bytes before the fields of a value with a program: frame version, api key and version."""
KEYS = 128
VERSIONS = 16
"""The table `program_of` has VERSIONS numbers for each of the KEYS api keys."""

# The tables of replica.scan.kernels.plain_runs.find_run.
DUES = 512
"""The most batches of one run that get an entry in the index."""
DUE_COLUMNS = 4
"""The number of columns of the table `due`: the fields of replica.format.runs.Due, in their
order."""

RUN_POSITION, RUN_EXPECTED, RUN_LATEST, RUN_OFFSET_OF_LATEST = range(4)
RUN_ITEMS = 4
"""The number of items that find_run writes to `state`. POSITION, EXPECTED: the position and the
base offset of the batch behind the run. LATEST: the largest timestamp (ms) in the run.
OFFSET_OF_LATEST: the last offset of the first batch that has this timestamp."""
