"""The texts of a column that may be no JSON, by the kernel: it leaves out none that is none."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.scan import json_texts as module
from replica.scan import readiness
from replica.scan.json_texts import doubtful_texts

_CERTAIN = (
    "{}", "[]", "null", "true", "false", "0", "-1", "1.5e-7", "2E+9", '""', '"a b"',
    ' {"a" : [ 1 , {} , "x" ] , "b" :\t{"a":null}}\n', '{"":0,"a":"\\n\\"\\\\\\/","ab":[[],[{}]]}',
    '{"a":{"b":1},"b":{"b":1}}', "1" * 64, '"' + "x" * 5000 + '"', "[" * 16 + "]" * 16,
    '{"directories":["AAAAAAAAAAAAAAAAAAAAAA"],"isr":[1,2,3],"leader":-1}',
)  # fmt: skip
_GOOD = ('"\\u00e9"', '"é"', '{"b":1,"a":2}', '{"\\n":1}', "1" * 65, "[" * 17 + "]" * 17)
"""JSON that the kernel can't prove."""
_BAD = (
    "", " ", "{", "}", "[", "]", "{]", "[}", "[1,]", "[,1]", "[1 2]", '{"a"}', '{"a":}', '{"a" 1}',
    '{"a":1,}', '{,"a":1}', "{a:1}", "{1:1}", '{"a":1 "b":2}', '{"a":1,"a":2}', '[{"a":1,"a":2}]',
    '{"a":1,"b":2,"a":3}', '{"b":1}{"c":1}', "nul", "nulll", "tru", "fals", "falsy", "NaN", "nan",
    "Infinity", "-Infinity", "01", "-", "-a", "+1", "1.", ".5", "1.e5", "1e", "1e+", "1ee5", "0x1",
    "1 2", '"', '"a', '"a\\', '"a\\"', '"\\x"', '"\t"', '"\x00"', '"\x1f12345678"', '"a"b', "'a'",
    "\ufeff1", "/**/1", "1\x00", '"1234567\x08"', '"\\ud800"',
)  # fmt: skip


@pytest.fixture(autouse=True)
def by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL_BYTES", 0)


def _column(texts: list[str | None]) -> pa.StringArray:
    return pa.array(texts, pa.string())


def test_what_is_certainly_json_is_not_named_and_all_else_is() -> None:
    texts = [*_CERTAIN, *_GOOD, *_BAD]
    assert doubtful_texts(_column(texts)) == [*range(len(_CERTAIN), len(texts))]
    for text in (*_CERTAIN, *_GOOD):
        json.loads(text)
    for text in map(str.strip, _CERTAIN):  # nothing is read behind the end of a text
        if not text.isdigit():
            assert doubtful_texts(_column([text[:-1], text[-1:]]))[:1] == [0], text


def test_a_part_of_a_column_and_its_nulls_have_their_own_rows() -> None:
    column = _column(["x", None, "1", "", None, "[1]", "[1"])
    assert doubtful_texts(column) == [0, 3, 6]
    assert doubtful_texts(column[1:6]) == [2]
    assert doubtful_texts(column[4:5]) == []
    assert doubtful_texts(column[:0]) == []
    assert doubtful_texts(column.cast(pa.string_view())) == [0, 3, 6]


def test_without_the_kernel_every_text_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    column = _column(["1", None, "x"])
    monkeypatch.setattr(module, "expect", lambda size: False)
    assert doubtful_texts(column) == [0, 2]
    monkeypatch.setattr(module, "expect", readiness.expect)
    monkeypatch.setattr(module, "SMALL_BYTES", 1 << 20)
    assert doubtful_texts(column) == [0, 2]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
_SIGNS = st.text(st.sampled_from('{}[]:,"\\ abeEfnrtu0129.+-\t\x01é'), max_size=20)


@given(st.lists(_SIGNS | _VALUES.map(json.dumps), max_size=3), st.data())
def test_no_text_is_left_out_that_is_no_json(texts: list[str], data: st.DataObject) -> None:
    """Also of good JSON with one character changed."""
    found = [_changed(text, data) if data.draw(st.booleans()) else text for text in texts]
    named = doubtful_texts(_column([*found]))
    for text in (one for row, one in enumerate(found) if row not in named):
        json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)


@given(_VALUES)
def test_json_with_ascending_keys_of_ascii_is_not_named(value: Any) -> None:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    assert doubtful_texts(_column([text])) == ([] if "\\u" not in text and _is_plain(text) else [0])


def _is_plain(text: str) -> bool:
    """Whether no number is long, and no key has an escape."""
    keys: list[str] = []
    json.loads(text, object_pairs_hook=lambda pairs: keys.extend(name for name, _ in pairs))
    is_short = all(len(one) <= 64 for one in text.split(","))
    return is_short and all(json.dumps(key) == f'"{key}"' for key in keys)


def _changed(text: str, data: st.DataObject) -> str:
    at = data.draw(st.integers(0, len(text)))
    return text[:at] + data.draw(st.sampled_from(["", *'{}[]:,"\\0e-'])) + text[at + 1 :]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), "a key is there twice"
    return dict(pairs)


def _refuse(name: str) -> None:
    raise AssertionError(name)
