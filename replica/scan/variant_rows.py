"""The kernel that writes the VARIANTs of a chunk's rows: values, and dictionaries beside them."""

from __future__ import annotations

from replica.scan.compilation import INPUT, LONG, LONGS, OUTPUT, Bytes, Longs, inner, kernel
from replica.scan.frames import ENVELOPE_BYTES, ROW_PROGRAM, ROW_VALUE, ROW_VALUE_SIZE, ROWS
from replica.scan.locate import is_telling_config
from replica.scan.memory import item, set_item
from replica.scan.straight import variant_renderer
from replica.scan.tables import (
    MAX_DICTIONARY,
    PROGRAM_COLUMNS,
    PROGRAM_VARIANT_BASE,
    PROGRAM_VARIANT_FACTOR,
    PROGRAMS,
)
from replica.scan.text import SLACK, copy
from replica.scan.variant_values import REFUSED, put_dictionary

_render = variant_renderer()

KNOWN = 256
"""Dictionaries remembered from row to row; records of a type have few."""
KNOWN_COLUMNS = 3
"""Program + 1, bits of the names, bytes of the dictionary."""
KNOWN_STRIDE = MAX_DICTIONARY + SLACK
DICTIONARY_ROOM = MAX_DICTIONARY + SLACK
"""Bytes that must be free for one more row's dictionary."""


@inner
def _put_known(
    program: int, names: int, known: Longs, known_bytes: Bytes, output: Bytes, to: int
) -> int:
    slot = (names ^ names >> 8 ^ program * 37) & (KNOWN - 1)
    entry = slot * KNOWN_COLUMNS
    if item(known, entry) != program + 1 or item(known, entry + 1) != names:
        begin = slot * KNOWN_STRIDE
        set_item(known, entry, program + 1)
        set_item(known, entry + 1, names)
        behind = put_dictionary(known_bytes, begin, program, names)
        set_item(known, entry + 2, behind - begin)
    return copy(output, to, known_bytes, slot * KNOWN_STRIDE, item(known, entry + 2))


@kernel(
    LONG,
    *(INPUT, LONGS, LONG, LONG, LONG),
    *(OUTPUT, LONGS, OUTPUT, LONGS),
    *(LONGS, LONGS, LONGS, OUTPUT),
)
def write_variants(
    source: Bytes,
    rows: Longs,
    low: int,
    high: int,
    guarded: int,
    output: Bytes,
    offsets: Longs,
    dictionaries: Bytes,
    dictionary_offsets: Longs,
    refused: Longs,
    places: Longs,
    known: Longs,
    known_bytes: Bytes,
) -> int:
    """As write_json; a refused row has neither value nor dictionary.

    places: 2 * tables.MAX_WIDTH items of scratch. known, known_bytes: KNOWN * KNOWN_COLUMNS items
    and KNOWN * KNOWN_STRIDE bytes, zero at first, kept between calls.
    """
    ends = places[places.size // 2 :]
    to = 0
    dictionary_to = 0
    refusals = 0
    row = low
    while row < high:
        set_item(offsets, row - low, to)
        set_item(dictionary_offsets, row - low, dictionary_to)
        program = item(rows, ROW_PROGRAM * ROWS + row)
        behind = REFUSED
        names = 0
        if program >= 0:
            position = item(rows, ROW_VALUE * ROWS + row)
            size = item(rows, ROW_VALUE_SIZE * ROWS + row)
            longest = SLACK + item(PROGRAMS, program * PROGRAM_COLUMNS + PROGRAM_VARIANT_BASE)
            longest += size * item(PROGRAMS, program * PROGRAM_COLUMNS + PROGRAM_VARIANT_FACTOR)
            end = position + size
            fields = position + ENVELOPE_BYTES
            if dictionary_to + DICTIONARY_ROOM > dictionaries.size:
                break
            if longest <= output.size and to + longest > output.size:
                break
            if longest <= output.size and not (
                program == guarded and is_telling_config(source, fields, end)
            ):
                behind, names = _render(source, fields, end, program, output, to, places, ends)
        if behind == REFUSED:
            refusals += 1
            set_item(refused, refusals, row - low)
        else:
            to = behind
            dictionary_to = _put_known(
                program, names, known, known_bytes, dictionaries, dictionary_to
            )
        row += 1
    set_item(offsets, row - low, to)
    set_item(dictionary_offsets, row - low, dictionary_to)
    set_item(refused, 0, refusals)
    return row
