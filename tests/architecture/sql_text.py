"""Finds SQL that is made of anything except constants, numbers and what pipelines.dialects wrote.
Only syntax trees are read.

A piece of SQL is trusted where it is one of our constants (an UPPER_CASE name), a number, or the
result of a dialect's method. It is also trusted where a function, parameter or field is annotated
as `Sql`, and where it is joined, chosen or assigned from trusted pieces. The functions that return
`Sql` are read by the same rules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.architecture.trees import nodes_of

MAKER = "pipelines/dialects.py"
"""The only module that may put quotes around a text."""
_SQL = re.compile(
    r"\b(SELECT|FROM|WHERE|JOIN|UNION|HAVING|VALUES|INSERT INTO|DELETE FROM|MERGE INTO|GROUP BY|"
    r"ORDER BY|PARTITION BY|(CREATE|DROP|ALTER|DESCRIBE|SHOW) [A-Z{]+|VACUUM|CAST|CASE|WHEN|"
    r"IS (NOT )?NULL|(NOT )?IN \(|AND|OR|NOT|SET|AS|COMMENT|LOCATION)\b|<=>"
)
"""Words of SQL, which all SQL of the project has in capital letters."""
_MAKES = {
    "literal", "literals", "identifier", "table", "columns", "relation", "cluster", "of_clusters",
}  # fmt: skip
_NUMBERS = {"int", "len", "sum", "max", "min", "round"}
_TRUSTED_TYPES = {"int", "bool", "Sql", "int | None", "Sql | None"}
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
_NUMERIC_FORMAT = re.compile(r"\d*d")


@dataclass
class Known:
    """Facts from the whole tree: functions whose result is Sql, and the annotations of fields."""

    makers: set[str] = field(default_factory=set)
    fields: dict[str, set[str]] = field(default_factory=dict)

    def note(self, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                returned = ast.unparse(node.returns)
                if re.fullmatch(r"Sql|\w+\[Sql(, \.\.\.)?\]", returned):
                    self.makers.add(node.name)
                if any(ast.unparse(one) == "property" for one in node.decorator_list):
                    self.fields.setdefault(node.name, set()).add(returned)
            if isinstance(node, ast.ClassDef):
                for one in node.body:
                    if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                        found = ast.unparse(one.annotation)
                        self.fields.setdefault(one.target.id, set()).add(found)


@dataclass
class Scope:
    """The names of a function whose every value is trusted."""

    known: Known
    parameters: dict[str, str]
    assigned: dict[str, list[ast.expr | None]]
    asked: set[str] = field(default_factory=set)

    def trusts(self, node: ast.expr | None) -> bool:  # noqa: C901 - a case for each kind of node
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return bool(_CONSTANT.fullmatch(name)) or self._trusts_name(name)
            case ast.Attribute(attr=name):
                if _CONSTANT.fullmatch(name):
                    return True
                found = self.known.fields.get(name)
                return bool(found) and found <= _TRUSTED_TYPES
            case ast.JoinedStr(values=values):
                return all(map(self.trusts, values))
            case ast.FormattedValue(value=value, format_spec=spec):
                shape = "" if spec is None else ast.unparse(spec)[2:-1]
                return bool(_NUMERIC_FORMAT.fullmatch(shape)) or self.trusts(value)
            case ast.IfExp(body=body, orelse=orelse):
                return self.trusts(body) and self.trusts(orelse)
            case ast.BoolOp(values=values):
                return all(map(self.trusts, values))
            case ast.BinOp(left=left, right=right):
                return self.trusts(left) and self.trusts(right)
            case ast.Compare():
                return True  # a truth value
            case ast.Subscript(value=value):
                return self.trusts(value)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return all(map(self.trusts, elts))
            case ast.Starred(value=value):
                return self.trusts(value)
            case ast.GeneratorExp(elt=elt) | ast.ListComp(elt=elt):
                return self.trusts(elt)
            case ast.Call():
                return self._trusts_call(node)
        return False

    def _trusts_name(self, name: str) -> bool:
        if name in self.parameters:
            return self.parameters[name] in _TRUSTED_TYPES
        if name in self.asked:  # the name is made of itself: its other values decide
            return True
        values = self.assigned.get(name)
        if not values:
            return False
        self.asked.add(name)
        try:
            return all(map(self.trusts, values))
        finally:
            self.asked.discard(name)

    def _trusts_call(self, call: ast.Call) -> bool:
        name = _called(call.func)
        if name == "join" and isinstance(call.func, ast.Attribute):
            return self.trusts(call.func.value) and all(map(self.trusts, call.args))
        if name == "map" and call.args:
            return _called(call.args[0]) in self.known.makers | _MAKES
        if name == "format" and isinstance(call.func, ast.Attribute):
            given = [*call.args, *(one.value for one in call.keywords)]
            return self.trusts(call.func.value) and all(map(self.trusts, given))
        if name in ("sorted", "tuple", "list", "zip", "enumerate", "reversed"):
            return all(map(self.trusts, call.args))
        return name in _NUMBERS | _MAKES | self.known.makers


def _called(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


EXCEPTIONS = {
    ("pipelines/sql_text.py", "what or 'something else'"): "a message",
    ("jobs/cli/asking/sql_views.py", "view.name"): "a constant of that module",
    (
        "pipelines/catalog/registration.py",
        "database",
    ): "a prefix that register checked, and a layer",
    ("pipelines/catalog/statements.py", "name"): "columns of the views, constants of sql_views",
    ("pipelines/catalog/statements.py", "columns"): "the same",
    ("pipelines/catalog/statements.py", "view.name"): "the same, with a prefix that was checked",
    ("pipelines/catalog/statements.py", "view.query"): "sql_views.select made it",
    ("pipelines/delta/tables.py", "contract.name"): "Contract refuses all but letters, digits, _",
    ("pipelines/delta/tables.py", "contract.schema_name"): "the same",
}
"""(module, what is put into SQL) -> why that is allowed."""
OF_CONSTANTS = "pipelines/quality/"
"""A folder whose SQL is made of the suites before any row is read. The suites are constants: a
value of a row only gets into SQL by `literal`. tests/pipelines/quality runs each suite."""


def violations(root: Path, files: Iterable[Path]) -> list[str]:
    """A line for each piece of SQL that is made of untrusted text."""
    trees = {file.relative_to(root).as_posix(): nodes_of(file.read_text())[0] for file in files}
    known = Known()
    for tree in trees.values():
        known.note(tree)
    return [
        f"{name}:{line}: {what}"
        for name, tree in trees.items()
        if name != MAKER and not name.startswith(OF_CONSTANTS)
        for line, what in sorted(set(_of_module(tree, known)))
        if (name, what) not in EXCEPTIONS
    ]


def _of_module(tree: ast.AST, known: Known) -> Iterator[tuple[int, str]]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = {id(child) for one in functions for child in ast.walk(one) if child is not one}
    for function in functions:
        yield from _untrusted(ast.walk(function), lambda of=function: _scope(of, known))
    at_top = (node for node in ast.walk(tree) if id(node) not in inner)
    yield from _untrusted(at_top, lambda: Scope(known, {}, _assignments(tree)))


def _untrusted(nodes: Iterable[ast.AST], scope: Callable[[], Scope]) -> Iterator[tuple[int, str]]:
    """The untrusted parts of SQL. scope: the names of the nodes' function; it is called only where
    there is SQL, because few functions have SQL."""
    pieces = [(node, one) for node in nodes for one in _put_into_sql(node)]
    if not pieces:
        return
    names = scope()
    for node, one in pieces:
        if not names.trusts(one):
            inside = one.value if isinstance(one, ast.FormattedValue) else one
            yield node.lineno, ast.unparse(inside)


def _put_into_sql(node: ast.AST) -> Sequence[ast.expr]:
    """The parts of one text, where the text is SQL."""
    match node:
        case ast.JoinedStr(values=values):
            constants = "".join(str(one.value) for one in values if isinstance(one, ast.Constant))
            put_in = [one for one in values if isinstance(one, ast.FormattedValue)]
        case ast.BinOp(left=ast.Constant(value=str(constants)), op=ast.Add() | ast.Mod()):
            put_in = [node.right]
        case ast.BinOp(right=ast.Constant(value=str(constants)), op=ast.Add()):
            put_in = [node.left]
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(constants)), attr="format")):
            put_in = [*node.args, *(one.value for one in node.keywords)]
        case _:
            return ()
    return put_in if _SQL.search(constants) else ()


def _scope(function: ast.FunctionDef, known: Known) -> Scope:
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    types = {
        one.arg: "" if one.annotation is None else ast.unparse(one.annotation)
        for node in ast.walk(function)
        if isinstance(node, ast.FunctionDef)
        for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    }
    types |= {
        one.arg: "" if one.annotation is None else ast.unparse(one.annotation) for one in arguments
    }
    return Scope(known, types, _assignments(function))


def _assignments(tree: ast.AST) -> dict[str, list[ast.expr | None]]:  # noqa: C901 - as trusts
    """The values that each name gets; None for a value that can't be determined."""
    found: dict[str, list[ast.expr | None]] = {}

    def note(target: ast.expr, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                found.setdefault(name, []).append(value)
            case ast.Tuple(elts=names) | ast.List(elts=names):
                values = value.elts if isinstance(value, ast.Tuple) else [value] * len(names)
                for one, of in zip(names, values, strict=False):
                    note(one, of)
            case ast.Starred(value=inner):
                note(inner, value)

    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    note(target, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                is_sql = "Sql" in ast.unparse(node.annotation)
                note(target, ast.Constant("") if is_sql else value)
            case ast.AugAssign(target=target, value=value):
                note(target, value)
            case ast.NamedExpr(target=target, value=value):
                note(target, value)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                note(target, value)
    return found
