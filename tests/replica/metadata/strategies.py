"""Random metadata records of every type and version, for Hypothesis."""

from __future__ import annotations

import struct

from hypothesis import strategies as st

from replica.message.primitives import uuid_text
from replica.message.program import FieldStep, Program
from replica.message.schema import Kind, Path, TaggedFields, Value
from replica.metadata.programs import programs
from replica.metadata.record import MetadataRecord

_RANGES = {
    Kind.INT8: (-(1 << 7), (1 << 7) - 1),
    Kind.INT16: (-(1 << 15), (1 << 15) - 1),
    Kind.UINT16: (0, (1 << 16) - 1),
    Kind.INT32: (-(1 << 31), (1 << 31) - 1),
    Kind.INT64: (-(1 << 63), (1 << 63) - 1),
}
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
_ALL_DOUBLES = st.binary(min_size=8, max_size=8).map(lambda raw: struct.unpack(">d", raw)[0])
_UNKNOWN_TAGS: st.SearchStrategy[TaggedFields] = st.dictionaries(
    st.integers(100, 2**31), st.binary(max_size=200), max_size=2
).map(lambda tags: tuple(sorted(tags.items())))


def _scalars(step: FieldStep) -> st.SearchStrategy[Value]:
    if step.kind in _RANGES:
        low, high = _RANGES[step.kind]
        return st.one_of(st.integers(low, high), st.sampled_from([low, -1 if low else 0, 0, high]))
    if step.kind is Kind.BOOL:
        return st.booleans()
    if step.kind is Kind.UUID:
        return st.binary(min_size=16, max_size=16).map(uuid_text)
    if step.kind is Kind.FLOAT64:
        return st.one_of(st.floats(), _ALL_DOUBLES, st.integers(-(10**9), 10**9).map(float))
    if step.kind is Kind.BYTES:
        return st.binary(max_size=200)
    assert step.kind is Kind.STRING
    return _TEXTS


def _values(program: Program, step: FieldStep) -> st.SearchStrategy[Value]:
    one: st.SearchStrategy[Value]
    one = _fields(program, step.first, step.end) if step.kind is Kind.STRUCT else _scalars(step)
    if step.is_array:
        # Now and then more than 127 elements, whose count takes two bytes.
        many = st.builds(lambda element, count: (element,) * count, one, st.integers(9, 200))
        one = st.one_of(st.lists(one, max_size=5).map(tuple), many)
    if step.nullable:
        one = st.one_of(st.none(), one)
    return st.one_of(st.just(step.default), one) if step.is_tagged else one


def _fields(program: Program, first: int, end: int) -> st.SearchStrategy[dict[str, Value]]:
    steps = program.steps[first:end]
    unordered = st.fixed_dictionaries({step.name: _values(program, step) for step in steps})
    return unordered.map(lambda fields: {step.name: fields[step.name] for step in steps})


def fields_of(program: Program) -> st.SearchStrategy[dict[str, Value]]:
    """The fields of a whole record of any program."""
    return _fields(program, 0, program.width)


def _structures(program: Program, fields: dict[str, Value]) -> list[Path]:
    paths: list[Path] = [()]
    for step in program.steps[: program.width]:
        value = fields[step.name]
        if step.kind is Kind.STRUCT and isinstance(value, tuple):
            paths.extend((step.name, index) for index in range(len(value)))
    return paths


@st.composite
def records_of(draw: st.DrawFn, program: Program) -> MetadataRecord:
    """A record of one type and version, some of its structures with unknown tagged fields."""
    fields = draw(_fields(program, 0, program.width))
    unknown = {}
    for path in _structures(program, fields)[:4]:
        tags = draw(_UNKNOWN_TAGS)
        if tags:
            unknown[path] = tags
    # The reader meets a structure's own tags before those of the structure around it.
    ordered = sorted(unknown.items(), key=lambda item: (item[0] == (), _rank(program, item[0])))
    return MetadataRecord(program.schema, program.version, fields, tuple(ordered))


def _rank(program: Program, path: Path) -> tuple[int, int]:
    if not path:
        return (0, 0)
    names = [step.name for step in program.steps[: program.width]]
    assert isinstance(path[1], int)
    return names.index(str(path[0])), path[1]


def records() -> st.SearchStrategy[MetadataRecord]:
    """A record of any type and version."""
    return st.sampled_from(programs()).flatmap(records_of)
