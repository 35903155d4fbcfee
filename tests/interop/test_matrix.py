"""docs/reference/kafka-releases.md has a cell for everything; tests hold each to what they saw."""

from __future__ import annotations

import pytest

from tests.interop import matrix
from tests.interop.kafka_jars import VERSIONS
from tests.interop.matrix import PAGE, REWRITE, ROWS, hold, written


def test_the_table_has_a_cell_for_each_row_and_release() -> None:
    table = written()
    assert table[""] == list(VERSIONS)
    assert table.keys() - {""} == set(ROWS.values())
    assert all(len(cells) == len(VERSIONS) and all(cells) for cells in table.values())


def test_a_cell_that_says_something_else_fails_its_test() -> None:
    with pytest.raises(AssertionError, match=f"was '25'.*run with {REWRITE}=1"):
        hold(VERSIONS[0], "image", "25")


def test_a_cell_is_taken_over_from_what_was_seen(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
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
