"""One version of a record schema as a flat program, which readers and writers run.

A program is a tuple of steps. The record's own steps are `steps[:width]`. A step of kind STRUCT
names the range of its structure's steps, which come later in the tuple. The steps of a range are in
declared order, the order of Kafka's JSON; `wire_order` gives the order of the bytes. Steps refer to
other steps by their indexes in the tuple, so a bulk reader can lay a program out as arrays.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from replica.message.schema import Field, Kind, RecordSchema, Value, fields_at

NO_TAG = -1

FIXED_LAYOUTS: dict[Kind, str] = {
    Kind.BOOL: "B",
    Kind.INT8: "b",
    Kind.INT16: "h",
    Kind.UINT16: "H",
    Kind.INT32: "i",
    Kind.UINT32: "I",
    Kind.INT64: "q",
    Kind.FLOAT64: "d",
    Kind.UUID: "16s",
}
"""Kind of fixed size -> its letter of Python's struct. All are big-endian on the wire."""

_SIZES = {kind: struct.calcsize(f">{letter}") for kind, letter in FIXED_LAYOUTS.items()}


@dataclass(frozen=True, slots=True)
class FieldStep:
    """One field."""

    name: str
    kind: Kind
    is_array: bool
    nullable: bool
    tag: int
    """The tag of the field; NO_TAG for a field that is always written."""
    default: Value
    first: int
    """The index of the first step of a structure; 0 for other kinds."""
    end: int
    """The index after the last step of a structure; 0 for other kinds."""
    least_size: int
    """The fewest bytes of one value of `kind`. With it a reader checks a count of elements before
    it allocates memory."""

    @property
    def is_tagged(self) -> bool:
        return self.tag != NO_TAG


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of one version of a record type. The first `width` steps are the record's own."""

    schema: RecordSchema
    version: int
    steps: tuple[FieldStep, ...]
    width: int
    names: tuple[str, ...]
    """All field names in the program, sorted by their UTF-8 bytes, each once."""

    def wire_order(
        self, first: int, end: int
    ) -> tuple[tuple[FieldStep, ...], tuple[FieldStep, ...]]:
        """(untagged steps in declared order, tagged steps by rising tag) of one range."""
        inside = self.steps[first:end]
        untagged = tuple(step for step in inside if not step.is_tagged)
        tagged = sorted((step for step in inside if step.is_tagged), key=lambda step: step.tag)
        return untagged, tuple(tagged)


def compile_program(schema: RecordSchema, version: int) -> Program:
    """The program of one version of the schema."""
    assert version in schema.versions, (schema.name, version)
    steps: list[FieldStep | None] = []
    width = _lay_out(schema.fields, version, steps)[1]
    done = tuple(step for step in steps if step is not None)
    assert len(done) == len(steps)
    names = tuple(sorted({step.name for step in done}, key=lambda name: name.encode()))
    return Program(schema, version, done, width, names)


def _lay_out(
    fields: tuple[Field, ...], version: int, steps: list[FieldStep | None]
) -> tuple[int, int, int]:
    """Append the steps of a structure. Returns (first, end) of its range, and its least size."""
    present = fields_at(fields, version)
    first = len(steps)
    end = first + len(present)
    steps.extend([None] * len(present))
    struct_size = 1  # The byte for the count of tagged fields.
    for index, f in enumerate(present):
        inner_first = inner_end = 0
        least = _SIZES.get(f.kind, 1)
        if f.kind is Kind.STRUCT:
            inner_first, inner_end, least = _lay_out(f.fields, version, steps)
        nullable, tag = f.is_nullable(version), NO_TAG if f.tag is None else f.tag
        steps[first + index] = FieldStep(
            f.name, f.kind, f.is_array, nullable, tag, f.default, inner_first, inner_end, least
        )
        if f.tag is None:
            struct_size += 1 if f.is_array else least
    return first, end, struct_size
