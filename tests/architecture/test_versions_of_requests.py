"""Only replica.node.translate knows which version of a request says what."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.trees import nodes_of

NODE = Path(__file__).parents[2] / "replica" / "node"


def compared_versions(path: Path) -> list[str]:
    """Where a module asks whether a request's version, `version` or `....version`, is below, above
    or equal to another. Whether a node serves a version at all (`in`) is another question."""
    found = []
    for node in nodes_of(path.read_text(encoding="utf-8")):
        if not isinstance(node, ast.Compare) or isinstance(node.ops[0], ast.In | ast.NotIn):
            continue
        sides = [node.left, *node.comparators]
        for side in sides:
            name = side.attr if isinstance(side, ast.Attribute) else getattr(side, "id", "")
            if name == "version":
                found.append(f"{path.relative_to(NODE)}:{node.lineno}")
    return found


def test_no_module_beside_translate_compares_a_requests_version() -> None:
    modules = [path for path in NODE.rglob("*.py") if path.parent.name != "translate"]
    assert [place for path in modules for place in compared_versions(path)] == []


def test_translate_is_where_versions_are_compared() -> None:
    assert [place for path in NODE.rglob("*.py") for place in compared_versions(path)]
