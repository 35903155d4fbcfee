"""Pages that people read in a hurry stay short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

RUNBOOKS = ROOT / "docs" / "how-to" / "runbooks"
MOST_LINES = {"README.md": 80, "CONTRIBUTING.md": 60}


@pytest.mark.parametrize(("page", "most"), MOST_LINES.items())
def test_a_page_that_people_read_in_a_hurry_stays_short(page: str, most: int) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= most


def test_what_kraftlake_promises_about_security_is_read_in_minutes() -> None:
    page = ROOT / "docs" / "reference" / "security.md"
    assert len(page.read_text(encoding="utf-8").split()) < 1800


@pytest.mark.parametrize("page", sorted(RUNBOOKS.iterdir()), ids=lambda page: str(page.name))
def test_a_runbook_is_one_screen_without_what_is_folded_away(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = re.sub(r"^<details markdown=.*?^</details>$", "", text, flags=re.MULTILINE | re.DOTALL)
    rows = sum(line.startswith("| ") for line in shown.splitlines())
    index = rows if page.name == "README.md" else 0  # it has a row for each runbook
    assert len(shown.rstrip().splitlines()) - index <= 45
    assert "```" not in shown


def test_each_release_in_the_changelog_has_the_same_four_headings() -> None:
    releases = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert releases
    for release in releases:
        headings = [line[4:] for line in release.splitlines() if line.startswith("### ")]
        assert headings == ["Added", "Security", "Changed", "Mended"], release.partition("\n")[0]
