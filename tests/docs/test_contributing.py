"""CONTRIBUTING's list of six frequent changes: its places exist, and its examples fit them."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.docs.pages import ROOT

_TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_ROWS = re.findall(r"^\| (an? .*?) \| (.*) \| ([0-9a-f]{7}) \|$", _TEXT, re.MULTILINE)
PRODUCT = ("replica/", "pipelines/", "jobs/")
CHANGES = {
    "a new record version",
    "an RPC",
    "a rule of `check`",
    "a table",
    "a command",
    "a Kafka release",
}


def _places(cell: str) -> list[str]:
    return re.findall(r"`([a-z_-]+/[a-z_/.-]*)`", cell)


def test_each_of_the_six_frequent_changes_has_a_row() -> None:
    assert {name for name, _, _ in _ROWS} == CHANGES


@pytest.mark.parametrize(("name", "cell", "commit"), _ROWS)
def test_each_place_that_a_change_touches_is_there(name: str, cell: str, commit: str) -> None:
    places = _places(cell)
    assert len(places) > 2
    assert [place for place in places if not (ROOT / place).exists()] == []
    assert all((ROOT / place).is_dir() == place.endswith("/") for place in places)


@pytest.mark.parametrize(("name", "cell", "commit"), _ROWS)
def test_the_files_of_the_example_commit_are_among_the_places_of_the_change(
    name: str, cell: str, commit: str
) -> None:
    shown = subprocess.run(
        ["git", "show", "--name-only", "--format=", commit],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if shown.returncode:
        pytest.skip("no checkout with the whole history")
    touched = [path for path in shown.stdout.split() if path.startswith(PRODUCT)]
    there = [path for path in touched if (ROOT / path).is_file()]
    assert len(there) * 2 > len(touched), "the example is older than the tree: name a newer commit"
    assert [path for path in there if not path.startswith(tuple(_places(cell)))] == []
