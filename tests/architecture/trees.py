"""The nodes of modules' syntax trees, kept for the dozen rules that read them, because parsing
takes most of a rule's time."""

from __future__ import annotations

import ast
from functools import cache


@cache
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """All nodes of a module with this text, in ast.walk's order, so the module comes first. The
    nodes are shared, so no caller may change them."""
    return tuple(ast.walk(ast.parse(text)))
