"""The docstring of a large package says what each of its modules is for."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("replica", "pipelines", "jobs")
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


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: str(one.relative_to(REPOSITORY)))
def test_the_docstring_of_a_large_package_names_each_module(package: Path) -> None:
    text = (package / "__init__.py").read_text(encoding="utf-8")
    told = set(re.findall(r"\w+", ast.get_docstring(ast.parse(text)) or ""))
    assert sorted(modules_of(package) - told) == []
