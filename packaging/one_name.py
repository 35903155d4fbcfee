"""The step of setuptools' build that puts all packages of a wheel below one name, kraftlake.

In a checkout the packages are side by side: jobs, kraftlake, pipelines, replica. In site-packages,
`jobs` and `replica` would collide with folders of others, so in a wheel they are kraftlake.jobs,
kraftlake.pipelines and kraftlake.replica. pyproject.toml names OneName for setuptools. An editable
installation leads to the checkout, and has the names of the checkout.

The code is changed in three kinds of places, which Python's own parser finds: statements that
import, texts (also docstrings) and comments. In the latter two, a dotted name counts where the
checkout has a module of that name, as in `python -m jobs.cli` and "replica.scan.kernels".
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Set
from pathlib import Path
from typing import TypeGuard

from setuptools.command.build_py import build_py

NAME = "kraftlake"
MOVED = ("jobs", "pipelines", "replica")
_DOTTED = re.compile(rf"(?<![\w./-])(?:{'|'.join(MOVED)})(?:\.\w+)+")
_FORMATTED = re.compile(r"[rR]?[fF]")
_FROM = "from "
_Edit = tuple[int, str]
"""The character before which a text is inserted, and the text."""


class ImportStatementError(Exception):
    """An import statement that can't be changed to the names of a wheel."""


class OneName(build_py):
    """setuptools' own step, after which the packages are moved below kraftlake."""

    def run(self) -> None:
        """Copies the packages to the folder of the build. Except for an editable installation, it
        then moves them below kraftlake."""
        super().run()
        if not self.editable_mode:
            move(Path(self.build_lib))

    def get_source_files(self) -> list[str]:
        """The files of the sdist. This module is among them, because a wheel can be built from the
        sdist."""
        here = Path(__file__).resolve()
        return [*super().get_source_files(), here.relative_to(Path.cwd().resolve()).as_posix()]


def move(folder: Path) -> None:
    """Moves the packages in `folder` below kraftlake, and changes the names in all code there.
    Raises ImportStatementError."""
    known = set(module_names(folder))
    for name in MOVED:
        (folder / name).rename(folder / NAME / name)
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        try:
            path.write_text(renamed(text, known), encoding="utf-8")
        except ImportStatementError as error:
            raise ImportStatementError(f"{path.relative_to(folder)}:{error}") from None


def module_names(folder: Path) -> Iterator[str]:
    """The dotted names of the modules and packages that will be moved."""
    for name in MOVED:
        for path in (folder / name).rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def renamed(source: str, known: Set[str]) -> str:
    """The text of a module with the names of a wheel. known: the result of module_names. Raises
    ImportStatementError."""
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    edits = sorted({*_imports(source, starts), *_texts(source, starts, known)}, reverse=True)
    for place, text in edits:
        source = source[:place] + text + source[place:]
    return source


def _imports(source: str, starts: list[int]) -> Iterator[_Edit]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            if any(alias.name.split(".")[0] in MOVED for alias in node.names):
                raise ImportStatementError(f"{node.lineno}: write `from PACKAGE import NAME`")
        elif _is_from_ours(node):
            place = starts[node.lineno - 1] + node.col_offset + len(_FROM)
            if not source.startswith(f"{node.module} ", place):
                raise ImportStatementError(f"{node.lineno}: begin with `from {node.module} `")
            yield place, f"{NAME}."


def _is_from_ours(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    is_absolute = isinstance(node, ast.ImportFrom) and not node.level
    return is_absolute and (node.module or "").split(".")[0] in MOVED


def _texts(source: str, starts: list[int], known: Set[str]) -> Iterator[_Edit]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        # Older Pythons don't separate the code in an f-string from its text.
        is_text = token.type == tokenize.STRING and not _FORMATTED.match(token.string)
        if is_text or token.type == tokenize.COMMENT:
            row, column = token.start
            for found in _DOTTED.finditer(token.string):
                if _is_module(found[0], known):
                    yield starts[row - 1] + column + found.start(), f"{NAME}."


def _is_module(dotted: str, known: Set[str]) -> bool:
    """Whether the name, or what is left of it without its last parts, is a module within a
    package."""
    while "." in dotted:
        if dotted in known:
            return True
        dotted = dotted.rpartition(".")[0]
    return False
