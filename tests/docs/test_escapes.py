"""Each fault in tests/ESCAPES.md names a test or a rule that is there."""

from __future__ import annotations

import pytest

from tests.docs.named_tests import missing
from tests.kraftlake_process import REPOSITORY

_PAGE = (REPOSITORY / "tests" / "ESCAPES.md").read_text(encoding="utf-8")
_ROWS = [
    line for line in _PAGE.splitlines() if line.startswith("| ") and not line.startswith("| |")
]


def test_the_page_has_every_fault_once() -> None:
    faults = [row.split(" | ")[0].strip("| ") for row in _ROWS]
    wrong_answers = [str(number) for number in range(1, 28)]
    core = [f"D{number}" for number in range(1, 6)]
    attacks = [f"{kind}{number}" for kind in "CH" for number in range(1, 5)]
    numbered = wrong_answers + core + attacks
    assert faults[: len(numbered)] == numbered
    assert len(faults) == len(set(faults))


@pytest.mark.parametrize("row", _ROWS)
def test_each_fault_names_what_sees_it_now(row: str) -> None:
    assert missing(row.rsplit(" | ", 1)[-1]) == []
