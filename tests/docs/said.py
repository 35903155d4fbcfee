"""Every text that the program may print, from the code. The pages' error lines are compared with
these texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.docs.pages import ROOT

_FOLDERS = ("jobs", "pipelines", "replica")
_LEAST = 12
"""The least number of constant characters in a text: `{path}: {reason}` would match anything."""
_ANYTHING = "\0"


@cache
def _said() -> frozenset[str]:
    found: set[str] = set()
    for folder in _FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                found.update(_texts(node))
    return frozenset(text for text in found if len(re.findall(r"\w", text)) > _LEAST)


def _texts(node: ast.AST) -> Iterator[str]:
    """The node as text, with gaps for what is only known at run time."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.sub(r"\{[^}]*\}", _ANYTHING, node.value)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(
            str(part.value) if isinstance(part, ast.Constant) else _ANYTHING for part in node.values
        )
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [next(_texts(side), _ANYTHING) for side in (node.left, node.right)]
        if sides != [_ANYTHING, _ANYTHING]:
            yield "".join(sides)


def is_said(line: str) -> bool:
    """Whether the program may print this line. A file's name may come before it."""
    text = line.removeprefix("kraftlake: error: ")
    words = text.split(": ")
    tails = [": ".join(words[first:]) for first in range(min(len(words), 3))]
    return any(_may_be(said.split(_ANYTHING), tails) for said in _said())


def _may_be(parts: list[str], lines: list[str]) -> bool:
    """Whether one of the lines has these parts, with any text between them."""
    if any(part not in lines[0] for part in parts):
        return False
    pattern = re.compile(".+".join(map(re.escape, parts)))
    return any(pattern.fullmatch(line) for line in lines)
