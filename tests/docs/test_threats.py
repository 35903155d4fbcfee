"""Every threat of docs/reference/security-in-detail.md names tests that are there."""

from __future__ import annotations

import pytest

from tests.docs.named_tests import missing
from tests.kraftlake_process import REPOSITORY

_PAGE = (REPOSITORY / "docs" / "reference" / "security-in-detail.md").read_text(encoding="utf-8")
_UNHELD = "none"


def _rows() -> list[str]:
    section = _PAGE.split("## Threat model")[1]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [row for row in rows if not row.startswith("| who ")]


def test_the_page_has_threats_of_all_kinds() -> None:
    assert len(_rows()) > 30


@pytest.mark.parametrize("row", _rows())
def test_each_threat_names_tests_that_are_there_or_says_that_nothing_holds_it(row: str) -> None:
    held_by = row.strip("| ").rsplit(" | ", 1)[-1]
    if held_by != _UNHELD:
        assert missing(held_by) == []
