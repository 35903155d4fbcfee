"""Finds the rules of check of which some code can make findings. A rule counts if a definition
names it, directly or by another definition."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from replica.doctor.check.rule import Rule

ROOT = Path(__file__).parents[2]
CATALOGUE = "replica.doctor.check.catalogue"
KINDS = ("files", "groups", "health", "log", "partition_folders", "snapshots", "startup")
_LAYERS = ("bronze", "gold", "stages")
"""Where findings are made; all other code of lakes is called from here or reads the tables."""
_JUDGES, _VERDICT = "replica/doctor", "replica/doctor/verdict"

Definition = tuple[str, str]
"""A module, and the name of a function, class or constant in it."""


def named_by(folders: Iterable[str]) -> dict[Definition, set[Definition]]:
    """For each definition in the modules below these folders: the definitions that it names. A
    module of the catalogue defines rules. Code that names a part of a rule, such as its id, makes
    no finding of the rule, so this doesn't count."""
    found: dict[Definition, set[Definition]] = {}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found |= dict(_of_module(module, ast.parse(path.read_bytes())))
    return found


def _of_module(module: str, tree: ast.Module) -> Iterator[tuple[Definition, set[Definition]]]:
    own = {name for one in tree.body for name in _names(one)}
    known: dict[str, Definition] = {name: (module, name) for name in own}
    for one in ast.walk(tree):
        if isinstance(one, ast.ImportFrom) and one.module:
            known |= {alias.asname or alias.name: (one.module, alias.name) for alias in one.names}
    for one in tree.body:
        for name in _names(one):
            yield (module, name), {*_named(one, known)} - {(module, name)}


def _names(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return [one.id for one in targets if isinstance(one, ast.Name)]


def _named(statement: ast.stmt, known: dict[str, Definition]) -> Iterator[Definition]:
    parts = {
        id(one.value)
        for one in ast.walk(statement)
        if isinstance(one, ast.Attribute) and one.attr not in ("at", "about")
    }
    for one in ast.walk(statement):
        if isinstance(one, ast.Name) and one.id in known and id(one) not in parts:
            yield known[one.id]
        elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            module, name = known.get(one.value.id, ("", ""))
            if module == CATALOGUE and id(one) not in parts:
                yield f"{module}.{name}", one.attr
            elif module != CATALOGUE:
                yield module, name


def reached(
    roots: Iterable[Definition], names: dict[Definition, set[Definition]]
) -> set[Definition]:
    """The roots, the definitions that they name, the definitions that those name, and so on."""
    found: set[Definition] = set()
    waiting = [*roots]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += names.get(one, ())
    return found


@cache
def rules_of_a_lake() -> set[str]:
    """The ids of the rules of which the code that builds lakes can make findings."""
    names = named_by((*(f"pipelines/{layer}" for layer in _LAYERS), _JUDGES))
    in_verdicts = _VERDICT.replace("/", ".")
    names = {one: of for one, of in names.items() if not one[0].startswith(in_verdicts)}
    roots = [one for one in names if one[0].startswith("pipelines.")]
    found = reached(roots, names)
    return {rule.id for name in KINDS for rule in _of_kind(name, found)}


def _of_kind(name: str, found: set[Definition]) -> Iterator[Rule]:
    module = f"{CATALOGUE}.{name}"
    for each, value in vars(import_module(module)).items():
        if isinstance(value, Rule) and (module, each) in found:
            yield value
