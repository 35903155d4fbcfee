"""How values look in tables and JSON lines, and when progress is shown."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from jobs.cli.output import (
    ProgressLine,
    cell_text,
    coloured,
    json_text,
    ms_text,
    write_bytes,
    write_counts,
    write_line,
    write_table,
)
from replica.terminal_text import one_line, one_line_bytes


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        (12345678901234567890, "12345678901234567890"),
        (1e20, "100000000000000000000"),
        (1e-7, "0.0000001"),
        (float("nan"), "nan"),
        (Decimal("1E+3"), "1000"),
        (b"\x00\xff", "AP8="),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "2026-01-02T03:04:05.000006Z"),
        (datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=2))), "2026-01-01T22:00:00.000Z"),
        ([{"at": datetime(2026, 1, 1, tzinfo=UTC)}], '[{"at":"2026-01-01T00:00:00.000Z"}]'),
    ],
)
def test_a_cell_shows_the_whole_value_plainly(value: object, text: str) -> None:
    assert cell_text(value) == text


def test_values_that_json_has_no_type_for_become_text_or_numbers() -> None:
    row = {
        "at": datetime(2026, 1, 1, 0, 0, 0, 1999, tzinfo=UTC),
        "before": datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
        "whole": Decimal("10"),
        "part": Decimal("1.5"),
        "none": float("inf"),
        "text": "ü",
    }
    assert json.loads(json_text(row)) == {
        "at": 1767225600001,
        "before": -1,
        "whole": 10,
        "part": 1.5,
        "none": "inf",
        "text": "ü",
    }


def test_times_that_no_calendar_has_are_shown_as_numbers() -> None:
    assert ms_text(0) == "1970-01-01T00:00:00.000Z"
    assert ms_text(2**62) == f"{2**62}ms"


def test_one_line_escapes_characters_that_move_a_terminals_cursor() -> None:
    assert one_line("a\n\x1b[31m\x9b\r\x07é") == "a\\n\\x1b[31m\\x9b\\r\\x07é"


_TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""What turns the direction of a text (Unicode's bidi controls)."""
_MOVING = _TURNING + "\x7f\x80\x85\x9b\x9f\u2028\u2029"


def test_one_line_escapes_characters_that_change_the_texts_direction() -> None:
    assert one_line("a\u202egnp.exe\u2066") == "a\\u202egnp.exe\\u2066"
    assert one_line(_MOVING).isascii()


def test_one_line_shows_what_nobody_sees_and_bytes_that_some_terminals_obey() -> None:
    assert one_line("orders\u200b \xad\U000e0041\ufeff") == "orders\\u200b \\xad\\U000e0041\\ufeff"
    assert one_line("odd \udc9b2J") == "odd \\x9b2J"
    assert one_line_bytes(b"WARN a\x1b[2J \xc2\x9b \x9b2J \xff") == (
        b"WARN a\\x1b[2J \\x9b \\x9b2J \xff"
    )


def test_json_escapes_terminal_commands_and_keeps_the_same_text() -> None:
    text = json_text({"a": _MOVING, _MOVING: ["é日"]})
    assert not set(text) & set(_MOVING)
    assert "é日" in text
    assert json.loads(text) == {"a": _MOVING, _MOVING: ["é日"]}


def test_half_a_surrogate_pair_is_escaped_where_no_utf_8_has_it() -> None:
    assert one_line("\ud800 \udfff").encode() == b"\\ud800 \\udfff"
    assert one_line("odd name \udcff").encode(errors="surrogateescape") == b"odd name \xff"
    assert json_text(["\ud800"]).encode() == b'["\\ud800"]'


def test_lines_of_the_bulk_reader_are_escaped_as_those_of_the_scalar_one(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    safe = b'{"a":"\xc3\xa9 \xe2\x82\xac \xe2\x80\xaf \xf0\x9f\x98\x80"}\n'
    raw = json.dumps({"a": _MOVING}, ensure_ascii=False).encode() + b"\n" + safe
    write_bytes(memoryview(raw))
    sys.stdout.flush()
    escaped, same = capfdbinary.readouterr().out.splitlines(keepends=True)
    assert escaped.isascii()
    assert json.loads(escaped) == {"a": _MOVING}
    assert same == safe


def test_tables_align_wide_characters(capsys: pytest.CaptureFixture[str]) -> None:
    assert write_table(("n", "name", "x"), [(1, "日本", "a"), (20, "b", "c")]) == 2
    assert capsys.readouterr().out == ("n   name  x\n--  ----  -\n 1  日本  a\n20  b     c\n")


def test_counts_are_a_table_or_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    write_counts({"bronze.captures": 10, "bronze.damage": 0}, json_output=False)
    assert capsys.readouterr().out.splitlines()[2:] == [
        "bronze.captures    10",
        "bronze.damage       0",
    ]
    write_counts({"bronze.captures": 10}, json_output=True)
    assert capsys.readouterr().out == '{"table":"bronze.captures","rows":10}\n'


def test_progress_is_for_terminals_and_long_work(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("jobs.cli.output.time.monotonic", lambda: now[0])
    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        now[0] = 0.0
        progress = ProgressLine(stream)
        progress.show("too early")
        now[0] = 5.0
        progress.show("half way")
        progress.clear()
    assert pipe.getvalue() == ""
    assert "half way" in terminal.getvalue()
    assert "too early" not in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")


def test_no_line_moves_a_terminal_or_begins_another_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_line(f"a\x1b[2J\nb{_MOVING}\x1b[31m")
    (line,) = capsys.readouterr().out.splitlines()
    assert line.isascii()
    assert line.isprintable()
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    write_line(f"{coloured('sound', 'green')}, a\x1b[2J\x1b[32m\n")
    assert sys.stdout.getvalue() == "\x1b[32msound\x1b[0m, a\\x1b[2J\\x1b[32m\\n\n"
