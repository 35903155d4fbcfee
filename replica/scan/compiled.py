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
"""(source, position, expected, with_records, program_of, batches, rows, state) -> STOP code."""

write_variants = Kernel(
    "variant_rows", "write_variants",
    _INPUT, _LONGS, _LONG, _LONG, _LONG,
    _OUTPUT, _LONGS, _OUTPUT, _LONGS,
    _LONGS, _LONGS, _LONGS, _OUTPUT,
)  # fmt: skip
"""(source, rows, low, high, guarded, output, offsets, dictionaries, dictionary_offsets, refused,
places, known, known_bytes) -> row behind the last."""

write_lines = Kernel(
    "json_lines", "write_lines",
    _INPUT, _LONGS, _LONGS, _LONGS, _LONG, _LONG, _LONG, _LONGS, _INPUT,
    _OUTPUT, _LONGS, _LONGS,
)  # fmt: skip
"""(source, batches, rows, chosen, low, high, guarded, shown, prefix, output, places, state) ->
where in `chosen` it stopped."""

write_variant_texts = Kernel(
    "variant_texts", "write_variant_texts",
    _INPUT, _LONGS, _INPUT, _LONGS, _INPUT, _LONG, _LONG,
    _OUTPUT, _LONGS, _LONGS, _LONGS,
)  # fmt: skip
"""(values, value_offsets, names, name_offsets, present, low, high, output, offsets, refused,
stack) -> row behind the last."""

find_doubtful_texts = Kernel(
    "json_texts", "find_doubtful_texts",
    _INPUT, _LONGS, _INPUT, _LONG, _LONG, _LONGS, _LONGS,
)  # fmt: skip
"""(texts, offsets, present, low, high, doubtful, stack) -> rows in `doubtful`."""

gather_values = Kernel(
    "rows", "gather_values",
    _INPUT, _LONGS, _LONG, _LONG, _OUTPUT, _LONGS,
)  # fmt: skip
"""(source, rows, low, high, output, offsets) -> bytes."""

find_odd_rows = Kernel(
    "rows", "find_odd_rows",
    _INPUT, _LONGS, _LONG, _LONG, _LONGS, _LONGS, _LONGS,
)  # fmt: skip
"""(source, rows, count, guarded, sought, odd, places) -> rows in `odd`."""

index_slots = Kernel(
    "slots", "index_slots",
    _LONGS, _LONGS, _OUTPUT, _LONGS, _LONG,
)  # fmt: skip
"""(slots, index, arena, state, with_hashes) -> slots in use."""

replay_rows = Kernel(
    "replay_rows", "replay_rows",
    _INPUT, _LONGS, _LONG, _LONG, _LONG,
    _LONGS, _LONGS, _OUTPUT, _LONGS, _LONGS, _LONGS,
)  # fmt: skip
"""(source, rows, low, high, base, slots, index, arena, puts, state, places) -> row where it
stopped."""

write_versions = Kernel(
    "version_rows", "write_versions",
    _INPUT, _LONGS, _LONG, _LONG,
    _LONGS, _LONGS, _OUTPUT, _OUTPUT, _LONGS, _LONGS, _LONGS,
)  # fmt: skip
"""(source, rows, low, high, slots, index, arena, texts, numbers, state, places) -> row where it
stopped."""

open_versions = Kernel(
    "version_rows", "open_versions",
    _LONGS, _LONGS, _OUTPUT, _OUTPUT, _LONGS, _LONGS, _LONG,
)  # fmt: skip
"""(slots, index, arena, texts, numbers, state, first) -> slot where it stopped."""

find_run = Kernel(
    "plain_runs", "find_run",
    _INPUT, _LONG, _LONG, _LONG, _LONG, _LONG, _LONG, _LONGS, _LONGS,
)  # fmt: skip
"""(source, position, expected, end_offset, epoch, limit, interval, due, state) -> how many batches
`due` has."""

KERNELS = tuple(made for made in list(globals().values()) if isinstance(made, Kernel))
"""All kernels of this module."""
