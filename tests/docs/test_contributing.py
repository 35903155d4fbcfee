"""CONTRIBUTING and its pages are true: the places of the six frequent changes exist and their
examples fit them, the tree has every folder, the table every target of make."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

_FOLDER = ROOT / "docs" / "contributing"
_CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_PAGE = re.compile(r"# (.*?)\n(.*)^Example: ([0-9a-f]{7})\n", re.MULTILINE | re.DOTALL)
_FOUND = [_PAGE.fullmatch(path.read_text(encoding="utf-8")) for path in sorted(_FOLDER.iterdir())]
_CHANGES = [change.groups() for change in _FOUND if change]
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


def test_each_of_the_six_frequent_changes_has_a_page() -> None:
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


def _tree() -> dict[str, str]:
    """The paths of the tree page's lines, and what each line says."""
    page = (_FOLDER / "the-tree.md").read_text(encoding="utf-8")
    paths: dict[str, str] = {}
    parents: list[str] = []
    for line in page.splitlines():
        if found := re.fullmatch(r"((?:  ){0,2})([a-z_./]+(?:/|\.py)) +(\S.*)", line):
            depth = len(found[1]) // 2
            parents[depth:] = [found[2]]
            paths["".join(parents)] = found[3]
    return paths


def _packages(folder: str) -> set[str]:
    inits = (ROOT / folder).glob("*/__init__.py")
    return {f"{path.parent.relative_to(ROOT).as_posix()}/" for path in inits}


def test_the_tree_names_nothing_that_is_not_there() -> None:
    tree = _tree()
    assert len(tree) > 50
    assert [path for path in tree if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("folder", ["replica", "replica/doctor", "pipelines", "jobs", "jobs/cli"])
def test_the_tree_names_every_package(folder: str) -> None:
    assert _packages(folder) - _tree().keys() == set()


def test_the_table_of_targets_names_every_target_of_make() -> None:
    makefile = Path(ROOT, "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)) - {"help"}
    table = _CONTRIBUTING.partition("| `make` |")[2].partition("\n\n")[0]
    named = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert set(re.findall(r"`([a-z-]+)`", "".join(named))) == targets
