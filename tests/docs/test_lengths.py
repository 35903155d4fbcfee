"""Pages that people read in a hurry stay short."""

from __future__ import annotations

import pytest

from tests.docs.pages import ROOT

MOST_LINES = {"README.md": 80, "CONTRIBUTING.md": 60}


@pytest.mark.parametrize(("page", "most"), MOST_LINES.items())
def test_a_page_that_people_read_in_a_hurry_stays_short(page: str, most: int) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= most


def test_each_release_in_the_changelog_has_the_same_four_headings() -> None:
    releases = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert releases
    for release in releases:
        headings = [line[4:] for line in release.splitlines() if line.startswith("### ")]
        assert headings == ["Added", "Security", "Changed", "Mended"], release.partition("\n")[0]
