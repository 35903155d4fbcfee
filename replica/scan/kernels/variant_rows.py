"""The kernel that writes the values of a chunk's rows as VARIANT, each with its dictionary."""

from __future__ import annotations

from replica.scan import frames, tables
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import is_telling_config, program_item
from replica.scan.kernels.memory import item, long, popcount, set_item, store_8
from replica.scan.kernels.rows import cell
from replica.scan.kernels.straight import renderer
from replica.scan.kernels.text import copy
from replica.scan.kernels.variant_values import REFUSED, put_unsigned, width_of
from replica.scan.native import Bytes, Longs

_render = renderer("variant")

_VERSION_SORTED = 0x11


@inner
def _put_dictionary(output: Bytes, to: int, program: int, names: int) -> int:
    """Write the metadata of a VARIANT, which is a dictionary of names. Returns the position after
    the dictionary. names: a bit for each name of the program, which is 1 for a name in the
    dictionary."""
    first = program_item(program, tables.PROGRAM_NAMES)
    known = program_item(program, tables.PROGRAM_NAME_COUNT)
    count = popcount(names)
    total = 0
    for k in range(known):
        if names >> k & 1:
            total += item(tables.NAME_PLACES, (first + k) * 2 + 1)
    width = width_of(max(total, count))
    store_8(output, to, _VERSION_SORTED | (width - 1) << 6)
    offsets = put_unsigned(output, to + 1, count, width)
    begin = offsets + (count + 1) * width
    put_unsigned(output, offsets, 0, width)
    at = begin
    for k in range(known):
        if names >> k & 1:
            place, size = (
                item(tables.NAME_PLACES, (first + k) * 2),
                item(tables.NAME_PLACES, (first + k) * 2 + 1),
            )
            at = copy(output, at, tables.NAMES, place, size)
            offsets += width
            put_unsigned(output, offsets, at - begin, width)
    return at


@inner
def _put_known(
    program: int, names: int, known: Longs, known_bytes: Bytes, output: Bytes, to: int
) -> int:
    """Write a dictionary. If the dictionary is in `known_bytes`, copy it; otherwise make the
    dictionary, and store it in `known_bytes`. Returns the position after the dictionary in
    `output`."""
    slot = (names ^ names >> 8 ^ program * 37) & (tables.KNOWN - 1)
    entry = slot * tables.KNOWN_COLUMNS
    if item(known, entry) != program + 1 or item(known, entry + 1) != names:
        begin = slot * tables.DICTIONARY_ROOM
        set_item(known, entry, program + 1)
        set_item(known, entry + 1, names)
        behind = _put_dictionary(known_bytes, begin, program, names)
        set_item(known, entry + 2, behind - begin)
    return copy(output, to, known_bytes, slot * tables.DICTIONARY_ROOM, item(known, entry + 2))


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
    """Write the rows low <= row < high. Returns the first row that found no room, or `high`.

    guarded: the program whose rows are refused if they may hold a secret; -1 to refuse no row
        because of secrets. offsets: an array with one more item than rows; row low + k gets the
        bytes offsets[k] to offsets[k + 1] of `output`. dictionary_offsets: the same for the row's
        dictionary in `dictionaries`. refused: an array with one more item than rows. Its first item
        is the number of rows that the scalar reader must read; the numbers of these rows follow,
        counted from `low`. A refused row has no bytes in either output. places: an array of 2 *
        tables.MAX_WIDTH items of scratch. known, known_bytes: arrays of KNOWN * KNOWN_COLUMNS items
        and KNOWN * DICTIONARY_ROOM bytes, which are zero before the first call and are kept between
        calls.
    """
    ends = places[places.size // 2 :]
    to = long(0)
    dictionary_to = long(0)
    refusals = 0
    row = low
    while row < high:
        set_item(offsets, row - low, to)
        set_item(dictionary_offsets, row - low, dictionary_to)
        program = cell(rows, frames.ROW_PROGRAM, row)
        behind = REFUSED
        names = long(0)
        if program >= 0:
            position = cell(rows, frames.ROW_VALUE, row)
            size = cell(rows, frames.ROW_VALUE_SIZE, row)
            longest = tables.SLACK + program_item(program, tables.PROGRAM_VARIANT_BASE)
            longest += size * program_item(program, tables.PROGRAM_VARIANT_FACTOR)
            end = position + size
            fields = position + frames.ENVELOPE_BYTES
            if dictionary_to + tables.DICTIONARY_ROOM > dictionaries.size:
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
