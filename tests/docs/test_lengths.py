"""Pages that people read in a hurry stay short."""

from __future__ import annotations

import pytest

from tests.docs.pages import ROOT

MOST_LINES = {"README.md": 80, "CONTRIBUTING.md": 60}


@pytest.mark.parametrize(("page", "most"), MOST_LINES.items())
def test_a_page_that_people_read_in_a_hurry_stays_short(page: str, most: int) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= most
