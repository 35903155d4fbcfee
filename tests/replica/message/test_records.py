"""Records of any table, to bytes and JSON and back: those of the Raft layer, and one with every
kind of field that a table may have."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import CorruptDataError, DataError
from replica.format.control_records import CONTROL_PROGRAMS
from replica.message.json_text import plain_maker, text_of
from replica.message.plain_reader import plain_reader
from replica.message.program import compile_program
from replica.message.reader import Notes, record_reader
from replica.message.schema import RecordSchema, declare
from replica.message.writer import record_writer
from tests.replica.metadata.strategies import fields_of

SHAPES = RecordSchema(
    "SHAPES",
    api_key=99,
    newest=0,
    fields=(
        declare("flag", "bool"),
        declare(
            "one", "struct", declare("id", "uuid"), declare("inner", "struct", declare("n", "int8"))
        ),
        declare("many", "[]struct", declare("one", "struct", declare("texts", "[]string"))),
        declare("later", "struct", declare("n", "int64"), tag=3),
    ),
)
PROGRAMS = [*CONTROL_PROGRAMS.values(), compile_program(SHAPES, 0)]
every_program = pytest.mark.parametrize(
    "program", PROGRAMS, ids=lambda each: f"{each.schema.name}-v{each.version}"
)


def encoded(program, fields, unknown=()):
    out = bytearray()
    record_writer(program)(out, fields, (), dict(unknown))
    return bytes(out)


@every_program
@given(data=st.data())
def test_a_record_comes_back_from_its_bytes_and_from_its_json(program, data):
    fields = data.draw(fields_of(program))
    notes, raw = Notes(), encoded(program, fields)
    assert record_reader(program)(raw, 0, notes) == (fields, len(raw))
    assert (notes.odd, notes.unknown) == (False, [])
    plain = plain_maker(program)(fields)
    assert json.loads(text_of(plain)) == plain
    assert plain_reader(program)(plain) == fields


@every_program
@given(data=st.data())
def test_a_record_that_is_cut_short_is_a_data_error(program, data):
    raw = encoded(program, data.draw(fields_of(program)))
    with pytest.raises(DataError):
        record_reader(program)(raw[: data.draw(st.integers(0, len(raw) - 1))], 0, Notes())


def test_unknown_tagged_fields_stay_in_their_structure():
    program = PROGRAMS[-1]
    fields = {
        "flag": True,
        "one": {"id": "A" * 22, "inner": {"n": 1}},
        "many": ({"one": {"texts": ("a",)}},),
        "later": {"n": 0},
    }
    unknown = (
        (("one", "inner"), ((7, b"x"),)),
        (("one",), ((8, b"y"),)),
        (("many", 0, "one"), ((9, b"z"),)),
        ((), ((1, b""), (5, b"w"))),
    )
    notes, raw = Notes(), encoded(program, fields, unknown)
    assert record_reader(program)(raw, 0, notes) == (fields, len(raw))
    assert tuple(notes.unknown) == unknown


@pytest.mark.parametrize("value", [None, 1, ({},)])
def test_a_structure_is_written_of_its_fields_alone(value):
    fields = {"flag": True, "one": value, "many": (), "later": {"n": 0}}
    with pytest.raises(CorruptDataError, match="fit into struct"):
        encoded(PROGRAMS[-1], fields)
