"""The six frequent changes of CONTRIBUTING: the places of each exist, and its example fits them."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.docs.pages import ROOT

_TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_SECTION = re.compile(r"^### (An? .*?)\n(.*?)^Example: ([0-9a-f]{7})$", re.MULTILINE | re.DOTALL)
_CHANGES = _SECTION.findall(_TEXT)
PRODUCT = ("replica/", "pipelines/", "jobs/")
NAMES = {
    "A new record version",
    "An RPC",
    "A rule of `check`",
    "A table",
    "A command",
    "A Kafka release",
}


def _places(text: str) -> list[str]:
    return re.findall(r"`([a-z_-]+/[a-z_/.-]*)`", text)


def _git(*arguments: str) -> str | None:
    """What git says; None where it refuses."""
    said = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return None if said.returncode else said.stdout


def _moved_since(commit: str) -> dict[str, str]:
    """The files that have other names now than at the commit, with these names."""
    log = _git(
        "log", "--reverse", "-M90%", "--diff-filter=R", "--name-status", "--format=", f"{commit}.."
    )
    now: dict[str, str] = {}
    for line in filter(None, (log or "").splitlines()):
        _, before, after = line.split("\t")
        now = {first: after if last == before else last for first, last in now.items()}
        now.setdefault(before, after)
    return now


def test_each_of_the_six_frequent_changes_has_a_list() -> None:
    assert {name for name, _, _ in _CHANGES} == NAMES


@pytest.mark.parametrize(("name", "text", "commit"), _CHANGES)
def test_each_place_that_a_change_touches_is_there(name: str, text: str, commit: str) -> None:
    places = _places(text)
    assert len(places) > 2
    assert [place for place in places if not (ROOT / place).exists()] == []
    assert all((ROOT / place).is_dir() == place.endswith("/") for place in places)


@pytest.mark.parametrize(("name", "text", "commit"), _CHANGES)
def test_the_files_of_the_example_commit_are_among_the_places_of_the_change(
    name: str, text: str, commit: str
) -> None:
    shown = _git("show", "--name-only", "--format=", commit)
    if shown is None:
        pytest.skip("no checkout with the whole history")
    moved = _moved_since(commit)
    touched = [moved.get(path, path) for path in shown.split() if path.startswith(PRODUCT)]
    there = [path for path in touched if (ROOT / path).is_file()]
    assert len(there) * 2 > len(touched), "the example is older than the tree: name a newer commit"
    assert [path for path in there if not path.startswith(tuple(_places(text)))] == []
