"""The docstring of a large package says what each of its modules is for, and names no others."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("replica", "pipelines", "jobs", "kraftlake")
LARGE = 10
"""How many modules a package may have whose docstring doesn't name them all."""


def modules_of(package: Path) -> set[str]:
    return {path.stem for path in package.glob("*.py")} - {"__init__"}


PACKAGES = sorted(
    init.parent
    for folder in FOLDERS
    for init in (REPOSITORY / folder).rglob("__init__.py")
    if len(modules_of(init.parent)) >= LARGE
)


each_package = pytest.mark.parametrize(
    "package", PACKAGES, ids=lambda one: str(one.relative_to(REPOSITORY))
)


def words_of(package: Path) -> set[str]:
    text = (package / "__init__.py").read_text(encoding="utf-8")
    return set(re.findall(r"\w+", ast.get_docstring(ast.parse(text)) or ""))


@each_package
def test_the_docstring_of_a_large_package_names_each_module(package: Path) -> None:
    assert sorted(modules_of(package) - words_of(package)) == []


@each_package
def test_a_name_in_the_docstring_of_a_large_package_is_still_a_name_there(package: Path) -> None:
    # A name with underscores before it is a topic's or Python's.
    names = {word for word in words_of(package) if "_" in word[1:] and word[0] != "_"}
    for path in package.rglob("*.py"):
        names.discard(path.stem)
        names.discard(path.parent.name)
        if path != package / "__init__.py":
            names -= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    assert sorted(names) == []
