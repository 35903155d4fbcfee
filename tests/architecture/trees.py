"""The nodes of modules' syntax trees: a dozen rules read them, and parsing takes most of the time
of each."""

from __future__ import annotations

import ast
from functools import cache


@cache
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """All nodes of a module with this text, in ast.walk's order, so the module first. They are
    shared: nobody changes them."""
    return tuple(ast.walk(ast.parse(text)))
