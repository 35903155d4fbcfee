"""Tables on terminals: all of a cell is shown, in as much room as there is."""

from __future__ import annotations

from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cli.output import write_table, write_wrapped
from jobs.cli.table_text import MOST_SHOWN, row_lines, text_width, widths_of, wrapped

texts = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z", "M"]) | st.just(" "))


@given(texts, st.integers(2, 40))
def test_a_wrapped_text_is_whole_and_fits(text: str, width: int) -> None:
    pieces = wrapped(text, width)
    assert "".join(pieces) == text
    assert all(text_width(piece) <= width for piece in pieces)


def test_a_text_is_broken_behind_a_blank_or_comma_where_that_leaves_half_a_line() -> None:
    assert wrapped('{"name":"orders","topicId":"abc"}', 20) == [
        '{"name":"orders",',
        '"topicId":"abc"}',
    ]
    assert wrapped("a,bcdefghijk", 6) == ["a,bcde", "fghijk"]


@given(st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=5), st.integers(28, 120))
def test_a_table_fits_the_terminal_and_loses_nothing(
    rows: list[tuple[str, str, str]], room: int
) -> None:
    names = ("a", "b", "c")
    widths = widths_of(names, rows, room)
    assert sum(widths) + 4 <= room
    for row in rows:
        lines = list(row_lines(row, widths, [False] * 3, wrap=True))
        assert all(text_width(line) <= room for line in lines)
        parts = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        assert len(lines) == len(list(zip_longest(*parts)))


@pytest.fixture
def narrow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 30 columns in the place of what capsys gives."""
    monkeypatch.setattr("jobs.cli.output.terminal_width", lambda: 30)


@pytest.mark.usefixtures("narrow")
def test_on_a_terminal_a_row_takes_the_lines_that_it_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert write_table(("key", "value"), [("orders", '{"partitions":[1,2,3],"since":7}')]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "key     value",
        "------  ----------------------",
        'orders  {"partitions":[1,2,3],',
        '        "since":7}',
    ]


@pytest.mark.usefixtures("narrow")
def test_a_wrapped_line_goes_on_below_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    write_wrapped("03:18  ", "node 2 leads epoch 1 by two votes", 7)
    assert capsys.readouterr().out.splitlines() == [
        "03:18  node 2 leads epoch 1",
        "       by two votes",
    ]


@pytest.mark.parametrize("length", [MOST_SHOWN, MOST_SHOWN + 1, 100_000])
def test_a_cell_of_thousands_of_characters_is_cut_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], length: int
) -> None:
    rows = [("a", "x" * length, 1), ("b", "y", 2)]
    write_table(("key", "value", "offset"), rows)
    piped = capsys.readouterr().out
    assert "x" * length in piped
    assert max(map(len, piped.splitlines()[3:])) < 250, "no other row is as wide"
    monkeypatch.setattr("jobs.cli.output.terminal_width", lambda: 100)
    write_table(("key", "value", "offset"), rows)
    shown = capsys.readouterr().out
    assert shown.count("x") == min(length, MOST_SHOWN)
    note = f"({length}characters;--jsonhasall)"
    assert (note in "".join(shown.split())) == (length > MOST_SHOWN)
    assert len(shown.splitlines()) < 15
