"""Which findings are those of the members of a round, and of nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import replica
from replica.doctor import startup, verdict
from replica.doctor.check import membership
from replica.doctor.check.catalogue import groups
from replica.doctor.check.rule import Rule

_ROOT = Path(replica.__file__).parent.parent


def _rules_named_in(path: Path) -> set[str]:
    """Attributes of the catalogue's module `groups` that functions of the file name."""
    functions = (
        one
        for one in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(one, ast.FunctionDef)
    )
    return {
        node.attr
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "groups"
        and isinstance(getattr(groups, node.attr, None), Rule)
    }


def test_the_rules_of_membership_are_told_by_its_module_alone() -> None:
    """A build that keeps the findings of clusters that haven't changed tells them apart by that. No
    build asks whether nodes start, and the verdict only reads findings."""
    own = Path(membership.__file__)
    others = {Path(startup.__file__).parent, Path(verdict.__file__).parent}
    named = _rules_named_in(own)
    assert {getattr(groups, name) for name in named} == set(membership.RULES)
    for folder in ("replica", "pipelines"):
        for path in (_ROOT / folder).rglob("*.py"):
            if path != own and path.parent not in others:
                assert not _rules_named_in(path) & named, path
