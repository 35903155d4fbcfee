"""docs/reference/kafka-releases.md has a cell for everything; tests hold each to what they saw."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop import matrix
from tests.interop.kafka_jars import VERSIONS
from tests.interop.matrix import PAGE, REWRITE, ROWS, hold, written


def test_the_table_has_a_cell_for_each_row_and_release() -> None:
    table = written()
    assert table[""] == list(VERSIONS)
    assert table.keys() - {""} == set(ROWS.values())
    assert all(len(cells) == len(VERSIONS) and all(cells) for cells in table.values())


def test_a_release_that_the_table_has_not_fails_its_test() -> None:
    with pytest.raises(AssertionError, match=f"Kafka 99.0.0: no cell.*run with {REWRITE}=1"):
        hold("99.0.0", "image", "100")


def test_a_new_release_gets_a_column_and_a_new_row_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / PAGE.name
    copy.write_text(PAGE.read_text())
    before = written()
    monkeypatch.setattr(matrix, "PAGE", copy)
    monkeypatch.setattr(matrix, "VERSIONS", (*VERSIONS, "99.0.0"))
    monkeypatch.setitem(ROWS, "colour", "the colour of its log")
    monkeypatch.setenv(REWRITE, "1")
    hold("99.0.0", "image", "100")
    hold("99.0.0", "colour", "blue")
    table = written()
    assert table[""] == [*VERSIONS, "99.0.0"]
    assert table["the colour of its log"] == ["", "", "", "", "blue"]
    for title in ROWS.values() & before.keys():
        assert table[title] == [*before[title], "100" if title == ROWS["image"] else ""]
    around = (page.read_text().split("\n|") for page in (PAGE, copy))
    assert len({(lines[0], lines[-1].partition("\n")[2]) for lines in around}) == 1
    monkeypatch.setattr(matrix, "VERSIONS", VERSIONS[1:])
    hold(VERSIONS[1], "tool", before[ROWS["tool"]][1])
    assert written()[""] == list(VERSIONS[1:])


def test_a_cell_that_says_something_else_fails_its_test() -> None:
    with pytest.raises(AssertionError, match=f"was '25'.*run with {REWRITE}=1"):
        hold(VERSIONS[0], "image", "25")


def test_a_cell_is_taken_over_from_what_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / PAGE.name
    copy.write_text(PAGE.read_text())
    monkeypatch.setattr(matrix, "PAGE", copy)
    monkeypatch.setenv(REWRITE, "1")
    hold(VERSIONS[1], "image", "25")
    changed = [
        (old, new)
        for old, new in zip(
            PAGE.read_text().splitlines(), copy.read_text().splitlines(), strict=True
        )
        if old != new
    ]
    assert len(changed) == 1
    monkeypatch.delenv(REWRITE)
    hold(VERSIONS[1], "image", "25")
