"""The wheel has one name in site-packages, kraftlake, and no code in it has another one for us."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import ZipFile

import pytest

from tests.packages.building import REPOSITORY, STEP

MOVED = ("jobs", "pipelines", "replica")
_DOTTED = re.compile(rf"(?<![\w./-])(?:{'|'.join(MOVED)})(?:\.\w+)+")
_BEGINNING = re.compile(rf"(?<![\w./-])((?:{'|'.join(MOVED)})(?:\.\w+)*)\.$")
"""Of an f-string's text, before a value that completes the name of a module."""
KNOWN = {"jobs.cli", "replica.raft", "replica.raft.core"}


@pytest.fixture(scope="module")
def step() -> dict[str, Any]:
    return runpy.run_path(str(REPOSITORY / STEP))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from replica.raft import Raft", "from kraftlake.replica.raft import Raft"),
        ("from replica import raft", "from kraftlake.replica import raft"),
        ("def f():\n    from jobs.cli import x", "def f():\n    from kraftlake.jobs.cli import x"),
        ("from replicas.raft import x", "from replicas.raft import x"),
        ("from .raft import x", "from .raft import x"),
        ("run('jobs.cli')", "run('kraftlake.jobs.cli')"),
        ('"""Starts `python -m jobs.cli`: ä"""', '"""Starts `python -m kraftlake.jobs.cli`: ä"""'),
        (
            "x = 'ä'; y = 'replica.raft.core.Raft'",
            "x = 'ä'; y = 'kraftlake.replica.raft.core.Raft'",
        ),
        ("x = 1  # as replica.raft", "x = 1  # as kraftlake.replica.raft"),
        ("x = replica.raft.core", "x = replica.raft.core"),
        ("x = 'replica.selector.class'", "x = 'replica.selector.class'"),
        ("x = 'conf/replica.raft, a-replica.raft'", "x = 'conf/replica.raft, a-replica.raft'"),
        ("x = f'{replica.raft} replica.raft'", "x = f'{replica.raft} replica.raft'"),
        ("x = ''\ny = '''\\\nreplica.raft'''", "x = ''\ny = '''\\\nkraftlake.replica.raft'''"),
    ],
)
def test_statements_that_import_texts_and_comments_get_the_name(
    step: dict[str, Any], source: str, expected: str
) -> None:
    assert step["renamed"](source, KNOWN) == expected
    assert step["renamed"](expected, KNOWN) == expected, "what has the name is left"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import replica.raft", 1),
        ("x = 1\nimport os, jobs", 2),
        ("from  replica.raft import x", 1),
    ],
)
def test_a_statement_that_can_t_be_told_in_these_names_stops_the_build(
    step: dict[str, Any], source: str, line: int
) -> None:
    with pytest.raises(step["ImportStatementError"].mro()[1], match=f"^{line}: "):
        step["renamed"](source, KNOWN)


@pytest.mark.slow
def test_no_module_of_the_wheel_has_a_name_of_the_checkout(wheel: Path) -> None:
    modules = {
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        for name in MOVED
        for path in (REPOSITORY / name).rglob("*.py")
    }
    found = []
    with ZipFile(wheel) as archive:
        for name in archive.namelist():
            if PurePosixPath(name).suffix == ".py":
                tree = ast.parse(archive.read(name))
                found += [f"{name}:{what}" for what in _names_of_the_checkout(tree, modules)]
    assert not found, "\n".join(["", *found])


def _names_of_the_checkout(tree: ast.Module, modules: set[str]) -> list[str]:
    found = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts = (match[0].split(".") for match in _DOTTED.finditer(node.value))
            begins = (".".join(parts[:n]) for parts in texts for n in range(2, len(parts) + 1))
            names = [name for name in begins if name in modules]
        elif isinstance(node, ast.JoinedStr):
            ends = (part.value for part in node.values[:-1] if isinstance(part, ast.Constant))
            names = [match[1] for end in ends if (match := _BEGINNING.search(str(end)))]
        found += [f"{node.lineno}: {name}" for name in names if name.split(".")[0] in MOVED]
    return found


@pytest.mark.parametrize(
    "planted",
    [
        "import jobs",
        "from replica import raft",
        "x = 'jobs.cli'",
        "x = f'replica.raft.{y}'",
        "x = f'jobs.{y}'",
    ],
)
def test_a_planted_name_of_the_checkout_is_found(planted: str) -> None:
    assert _names_of_the_checkout(ast.parse(planted), {*MOVED, *KNOWN})
