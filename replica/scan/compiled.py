"""The kernels as readers call them: their names and signatures. The code is in
replica.scan.kernels."""

from __future__ import annotations

from replica.scan.native import Kernel, Parameter

_INPUT, _OUTPUT = Parameter.INPUT, Parameter.OUTPUT
_LONGS, _LONG = Parameter.LONGS, Parameter.LONG

walk_frames = Kernel(
    "frames", "walk_frames",
    _INPUT, _LONG, _LONG, _LONG, _LONGS, _LONGS, _LONGS, _LONGS,
)  # fmt: skip
"""Fills the tables of a chunk: (source, position, expected, with_records, program_of, batches,
rows, state) -> STOP code."""

write_variants = Kernel(
    "variant_rows", "write_variants",
    _INPUT, _LONGS, _LONG, _LONG, _LONG,
    _OUTPUT, _LONGS, _OUTPUT, _LONGS,
    _LONGS, _LONGS, _LONGS, _OUTPUT,
)  # fmt: skip
"""Writes the values of rows as VARIANT: (source, rows, low, high, guarded, output, offsets,
dictionaries, dictionary_offsets, refused, places, known, known_bytes) -> the first row that is not
written."""

write_lines = Kernel(
    "json_lines", "write_lines",
    _INPUT, _LONGS, _LONGS, _LONGS, _LONG, _LONG, _LONG, _LONGS, _INPUT,
    _OUTPUT, _LONGS, _LONGS,
)  # fmt: skip
"""Writes rows as lines of JSON: (source, batches, rows, chosen, low, high, guarded, shown, prefix,
output, places, state) -> the place in `chosen` at which the kernel stopped."""

write_variant_texts = Kernel(
    "variant_texts", "write_variant_texts",
    _INPUT, _LONGS, _INPUT, _LONGS, _INPUT, _LONG, _LONG,
    _OUTPUT, _LONGS, _LONGS, _LONGS,
)  # fmt: skip
"""Writes VARIANTs as JSON: (values, value_offsets, names, name_offsets, present, low, high, output,
offsets, refused, stack) -> the first row that is not written."""

find_doubtful_texts = Kernel(
    "json_texts", "find_doubtful_texts",
    _INPUT, _LONGS, _INPUT, _LONG, _LONG, _LONGS, _LONGS,
)  # fmt: skip
"""Finds the texts that may be no JSON: (texts, offsets, present, low, high, doubtful, stack) -> the
number of rows in `doubtful`."""

gather_values = Kernel(
    "rows", "gather_values",
    _INPUT, _LONGS, _LONG, _LONG, _OUTPUT, _LONGS,
)  # fmt: skip
"""Copies the values of rows: (source, rows, low, high, output, offsets) -> the number of bytes."""

find_odd_rows = Kernel(
    "rows", "find_odd_rows",
    _INPUT, _LONGS, _LONG, _LONG, _LONGS, _LONGS, _LONGS,
)  # fmt: skip
"""Finds the rows that the scalar reader must check: (source, rows, count, guarded, sought, odd,
places) -> the number of rows in `odd`."""

index_slots = Kernel(
    "slots", "index_slots",
    _LONGS, _LONGS, _OUTPUT, _LONGS, _LONG,
)  # fmt: skip
"""Puts all slots into the index: (slots, index, arena, state, with_hashes) -> the number of
slots."""

replay_rows = Kernel(
    "replay_rows", "replay_rows",
    _INPUT, _LONGS, _LONG, _LONG, _LONG,
    _LONGS, _LONGS, _OUTPUT, _LONGS, _LONGS, _LONGS,
)  # fmt: skip
"""Replays rows: (source, rows, low, high, base, slots, index, arena, puts, state, places) -> the
row at which the kernel stopped."""

write_versions = Kernel(
    "version_rows", "write_versions",
    _INPUT, _LONGS, _LONG, _LONG,
    _LONGS, _LONGS, _OUTPUT, _OUTPUT, _LONGS, _LONGS, _LONGS,
)  # fmt: skip
"""Replays partitions and reports their versions: (source, rows, low, high, slots, index, arena,
texts, numbers, state, places) -> the row at which the kernel stopped."""

open_versions = Kernel(
    "version_rows", "open_versions",
    _LONGS, _LONGS, _OUTPUT, _OUTPUT, _LONGS, _LONGS, _LONG,
)  # fmt: skip
"""Reports the versions that are valid now: (slots, index, arena, texts, numbers, state, first) ->
the slot at which the kernel stopped."""

find_run = Kernel(
    "plain_runs", "find_run",
    _INPUT, _LONG, _LONG, _LONG, _LONG, _LONG, _LONG, _LONGS, _LONGS,
)  # fmt: skip
"""Finds a run of plain batches: (source, position, expected, end_offset, epoch, limit, interval,
due, state) -> the number of batches in `due`."""

KERNELS = tuple(made for made in list(globals().values()) if isinstance(made, Kernel))
"""All kernels of this module."""
