"""The programs of replica.message.program as arrays of int64, which kernels can read.

STEPS has STEP_COLUMNS numbers for each step, and PROGRAMS has PROGRAM_COLUMNS numbers for each
program. The steps of all programs follow each other, and a step's number counts from the start of
STEPS. NAMES holds the texts to which steps point. The arrays are made once, from the schema.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from replica.message.program import NO_TAG, FieldStep, Program
from replica.message.schema import Kind
from replica.metadata.programs import programs
from replica.metadata.redact import SECRET_FIELDS
from replica.scan.frames import KEYS, VERSIONS
from replica.scan.native import Bytes, Longs

# The kinds as numbers. Values of the kinds below TEXT have a fixed size.
_KINDS = (
    Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64, Kind.UINT16, Kind.UINT32,
    Kind.BOOL, Kind.UUID, Kind.FLOAT64,
    Kind.STRING, Kind.BYTES, Kind.STRUCT,
)  # fmt: skip
(INT8, INT16, INT32, INT64, UINT16, UINT32, BOOL, UUID, FLOAT64, STRING, BYTES, STRUCT) = range(12)
TEXT = STRING
"""The first kind whose values begin with their size."""

(
    STEP_KIND,
    STEP_IS_ARRAY,
    STEP_TAG,
    STEP_NULLABLE,
    STEP_DEFAULT,
    STEP_SIZE,
    STEP_FIRST,
    STEP_END,
    STEP_LABEL,
    STEP_LABEL_SIZE,
    STEP_NAME_BIT,
    STEP_INNER_NAMES,
    STEP_BY_NAME,
) = range(13)
STEP_COLUMNS = 13
"""The number of columns of STEPS. DEFAULT: the default of a tagged number; for a tagged array or
text, the length byte of its default. SIZE: the size in bytes of one value; 0 for a text or
structure. LABEL, LABEL_SIZE: the position and size in NAMES of the text `,"name":`. NAME_BIT: the
rank of the name among the program's names. INNER_NAMES: the bits of the names in the structure.
BY_NAME: in the k-th step of a range, the step whose name is the k-th of the range."""

(
    PROGRAM_FIRST,
    PROGRAM_END,
    PROGRAM_JSON_BASE,
    PROGRAM_JSON_FACTOR,
    PROGRAM_VARIANT_BASE,
    PROGRAM_VARIANT_FACTOR,
    PROGRAM_NAMES,
    PROGRAM_NAME_COUNT,
) = range(8)
PROGRAM_COLUMNS = 8
"""The number of columns of PROGRAMS. BASE, FACTOR: a value of n bytes gives at most BASE + FACTOR *
n bytes of JSON or VARIANT. NAMES: the number of the program's first name in NAME_PLACES."""

LINES_WRITTEN, LINES_REFUSED = range(2)
LINES_ITEMS = 2
"""The number of results of the kernel of json_lines. WRITTEN: the number of bytes that the kernel
wrote. REFUSED: 1 if the kernel stopped at a row that it refused, 0 if it stopped behind the last
row or for lack of room."""

VARIANT_DEPTH = 16
"""The deepest nesting of containers for the kernel of variant_texts. Kafka's records have a depth
of at most 3."""
VARIANT_COLUMNS = 8
"""How many numbers the kernel of variant_texts keeps for each open container."""

JSON_DEPTH = 16
"""The deepest nesting of containers for the kernel of json_texts."""
JSON_COLUMNS = 3
"""How many numbers the kernel of json_texts keeps for each open container."""

MAX_WIDTH = 24
"""The most fields of one structure, for which kernels have scratch."""
MAX_NAMES = 60
"""The most names of one program. A set of names is the bits of one int64."""

_JSON_SIZES = (4, 6, 11, 20, 5, 10, 5, 24, 12, 4, 4)
"""The size in bytes of the longest JSON of each kind. The content of a text isn't counted."""
_JSON_PER_BYTE = 6
_VARIANT_SIZES = (2, 3, 5, 9, 5, 9, 1, 23, 9, 5, 9)
_OFFSET_SIZE = 4
_VARIANT_PER_BYTE = 2


@dataclass(slots=True)
class _Tables:
    steps: list[list[int]] = field(default_factory=list)
    programs: list[list[int]] = field(default_factory=list)
    names: bytearray = field(default_factory=bytearray)
    name_places: list[int] = field(default_factory=list)

    def add(self, program: Program) -> None:
        first = len(self.steps)
        for step in program.steps:
            self.steps.append(self._row(program, step, first))
        ranges = {(0, program.width)}
        ranges |= {(step.first, step.end) for step in program.steps if step.kind is Kind.STRUCT}
        for low, high in ranges:
            by_name = sorted(range(low, high), key=lambda k: program.steps[k].name.encode())
            for place, k in zip(range(low, high), by_name, strict=True):
                self.steps[first + place][STEP_BY_NAME] = first + k
            assert high - low <= MAX_WIDTH, program.schema.name
        assert len(program.names) <= MAX_NAMES, program.schema.name
        line = [first, first + program.width, *_bounds(program), len(self.name_places) // 2]
        self.programs.append([*line, len(program.names)])
        for name in program.names:
            self.name_places += (len(self.names), len(name.encode()))
            self.names += name.encode()

    def _row(self, program: Program, step: FieldStep, first: int) -> list[int]:
        row = [0] * STEP_COLUMNS
        label = f',"{step.name}":'.encode()
        row[STEP_KIND] = _KINDS.index(step.kind)
        row[STEP_IS_ARRAY] = step.is_array
        row[STEP_TAG] = step.tag
        row[STEP_NULLABLE] = step.nullable
        row[STEP_DEFAULT] = default_of(step)
        row[STEP_SIZE] = step.least_size if row[STEP_KIND] < TEXT else 0
        row[STEP_FIRST], row[STEP_END] = first + step.first, first + step.end
        row[STEP_LABEL], row[STEP_LABEL_SIZE] = len(self.names), len(label)
        row[STEP_NAME_BIT] = program.names.index(step.name)
        inner = program.steps[step.first : step.end]
        row[STEP_INNER_NAMES] = sum({1 << program.names.index(s.name) for s in inner})
        self.names += label
        return row


def default_of(step: FieldStep) -> int:
    """The number for the default of a tagged field, which is the column DEFAULT of STEPS; 0 for a
    field without a tag."""
    if not step.is_tagged:
        return 0
    if step.is_array or step.kind in (Kind.STRING, Kind.BYTES):
        assert step.default in (None, (), "", b""), f"{step.name}: a default with content"
        return 0 if step.default is None else 1
    assert isinstance(step.default, int), f"{step.name}: a default that is no integer"
    return int(step.default)


def _bounds(program: Program) -> tuple[int, int, int, int]:
    """The columns BASE and FACTOR of PROGRAMS for JSON, and then for VARIANT."""
    json_base, variant_base = 2, 16
    json_factor, variant_factor = _JSON_PER_BYTE, _VARIANT_PER_BYTE
    for step in program.steps[: program.width]:
        label = len(step.name.encode()) + 4
        if not step.is_array:
            json_base += label + _JSON_SIZES[_KINDS.index(step.kind)]
            variant_base += 1 + _OFFSET_SIZE + _VARIANT_SIZES[_KINDS.index(step.kind)]
            continue
        json_base += label + 4
        variant_base += 1 + _OFFSET_SIZE + 16
        json_size, variant_size = _element_bounds(program, step)
        json_factor = max(json_factor, -(-json_size // step.least_size))
        variant_factor = max(variant_factor, -(-variant_size // step.least_size))
    return json_base, json_factor, variant_base, variant_factor


def _element_bounds(program: Program, step: FieldStep) -> tuple[int, int]:
    """The most bytes of one array element as JSON and as VARIANT, without the contents of its
    texts."""
    if step.kind is not Kind.STRUCT:
        kind = _KINDS.index(step.kind)
        return _JSON_SIZES[kind] + 1, _VARIANT_SIZES[kind] + _OFFSET_SIZE
    json_size, variant_size = 3, 8 + 2 * _OFFSET_SIZE
    for inner in program.steps[step.first : step.end]:
        kind = _KINDS.index(inner.kind)
        json_size += len(inner.name.encode()) + 4 + _JSON_SIZES[kind]
        variant_size += 1 + _OFFSET_SIZE + _VARIANT_SIZES[kind]
    return json_size, variant_size


def _is_flat(program: Program) -> bool:
    """Whether kernels can run the program: its structures have no arrays and no tagged fields."""
    inside = program.steps[program.width :]
    return not any(step.is_array or step.tag != NO_TAG for step in inside)


KERNEL_PROGRAMS: tuple[Program, ...] = tuple(p for p in programs() if _is_flat(p))
"""The programs that kernels know, in the order of their numbers."""


def _build() -> tuple[Longs, Longs, Bytes, Longs]:
    tables = _Tables()
    for program in KERNEL_PROGRAMS:
        tables.add(program)
    return (
        np.array(tables.steps, np.int64).ravel(),
        np.array(tables.programs, np.int64).ravel(),
        # Eight bytes are copied at a time.
        np.frombuffer(bytes(tables.names) + bytes(8), np.uint8),
        np.array(tables.name_places, np.int64),
    )


STEPS, PROGRAMS, NAMES, NAME_PLACES = _build()

MAX_DICTIONARY = max(
    1 + 2 * (2 + len(p.names)) + sum(len(name.encode()) for name in p.names)
    for p in KERNEL_PROGRAMS
)
"""The size in bytes of the longest dictionary of a VARIANT."""

SLACK = 64
"""The number of bytes behind its output that a kernel may overwrite."""

KNOWN = 256
"""The number of VARIANT dictionaries that are cached. The records of one type have few different
dictionaries."""
KNOWN_COLUMNS = 3
"""The numbers that are cached for a dictionary: its program + 1, the bits of its names, and its
size in bytes."""
DICTIONARY_ROOM = MAX_DICTIONARY + SLACK
"""The number of bytes that must be free before a dictionary is written, and the room of each cached
dictionary."""

CONFIG_PROGRAM = next(
    number for number, p in enumerate(KERNEL_PROGRAMS) if p.schema.name == "CONFIG_RECORD"
)


NO_PROGRAM = -1
"""The number for no program: the scalar reader reads the record, or no program is guarded."""


def program_table(*, keep_secrets: bool) -> Longs:
    """The number of the program for each api key and version; NO_PROGRAM if the scalar reader reads
    the record.

    Unless secrets are kept, the scalar reader reads every record of a type that always holds a
    secret. Kernels decide by the name of a config whether they read the record.
    """
    table = np.full(KEYS * VERSIONS, -1, np.int64)
    for number, program in enumerate(KERNEL_PROGRAMS):
        schema = program.schema
        if not keep_secrets and schema.name in SECRET_FIELDS:
            continue
        if schema.api_key < KEYS and program.version < VERSIONS:
            table[schema.api_key * VERSIONS + program.version] = number
    return table
