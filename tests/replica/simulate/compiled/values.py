"""Dataclasses written out as plain classes, from source to source.

mypyc makes a plain class a C struct whose constructor and comparison are C functions. What is
written out behaves as the dataclass does, except that an assignment to a field of a frozen value is
no error: mypy has found those. `replace(value, ...)` becomes the method `replaced_`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

KEPT = frozenset({"Result"})
"""Dataclasses that stay unchanged, because other code calls dataclasses.asdict
with their values."""
_UNSET = "_UNSET"
_HEAD = f"from typing import Any as _Any\n{_UNSET}: _Any = object()\n"
_REDUCED = """def __reduce__(self):
    return ({name}, tuple([getattr(self, name) for name in self.__dataclass_fields__]))
"""
"""How pickle makes a frozen value in another process: by default it sets the fields of a value that
is made already, and a compiled frozen value refuses that."""
_MEMORYVIEW = "from builtins import memoryview\n"
"""mypyc 2.4 searches for the type of a named tuple's field only among the names of the module."""


@dataclass
class Field:
    """A field of a dataclass, in pieces of source. default: the parameter's default value, if there
    is one. made_by: the call that makes a new default for each instance, if there is one. The
    other attributes are those of dataclasses.field."""

    name: str
    annotation: str
    default: str | None = None
    made_by: str | None = None
    init: bool = True
    kw_only: bool = False
    compare: bool = True
    repr: bool = True

    @property
    def parameter(self) -> str:
        if self.made_by is not None:
            return f"{self.name}: _Any = {_UNSET}"
        return f"{self.name}: {self.annotation}" + (f" = {self.default}" if self.default else "")

    @property
    def argument(self) -> str:
        """The value that __init__ gives the field."""
        if self.made_by is None:
            return self.name
        return f"{self.made_by} if {self.name} is {_UNSET} else {self.name}"

    @property
    def replaced(self) -> str:
        """The argument by which `replaced_` hands the field to the constructor."""
        value = f"self.{self.name} if {self.name} is {_UNSET} else {self.name}"
        return f"{self.name}={value}" if self.kw_only else value


Known = dict[str, list[Field]]
"""The fields of each dataclass that was seen, by the class's name: a class that extends a dataclass
has these fields too."""


def written_out(source: str, known: Known) -> str:
    """A module's source with its dataclasses written out, except those in KEPT. Adds the fields of
    these dataclasses to `known`."""
    tree = ast.parse(source)
    found = False
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in KEPT:
            node.body += ast.parse(_REDUCED.format(name=node.name)).body
        elif isinstance(node, ast.ClassDef):
            options = _taken_options(node)
            if options is not None:
                found = True
                _write_out(node, options, known)
    tree = _Phrases().visit(tree)
    head = _MEMORYVIEW if "memoryview" in source else ""
    if found or head:
        at = _after_future(tree)
        tree.body[at:at] = ast.parse(head + _HEAD).body
    return ast.unparse(ast.fix_missing_locations(tree))


def _taken_options(node: ast.ClassDef) -> dict[str, bool] | None:
    """Removes the decorator @dataclass from a class. Returns the decorator's arguments; None if the
    class has no such decorator."""
    for each in node.decorator_list:
        called = each.func if isinstance(each, ast.Call) else each
        if isinstance(called, ast.Name) and called.id == "dataclass":
            node.decorator_list.remove(each)
            words = each.keywords if isinstance(each, ast.Call) else []
            return {str(word.arg): ast.literal_eval(word.value) for word in words}
    return None


def _after_future(tree: ast.Module) -> int:
    """The index of the first statement behind the module's `from __future__ import`."""
    return 1 + next(
        index
        for index, node in enumerate(tree.body)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    )


class _Phrases(ast.NodeTransformer):
    """Rewrites four kinds of phrases:

    - replace(value, ...) becomes value.replaced_(...).
    - isinstance(value, A | B) becomes isinstance(value, (A, B)): mypyc makes the union anew at each
      call.
    - `case _ as name` becomes `case name`: mypyc 2.4 doesn't set the name in the first.
    - (one,) = several() becomes (one,) = tuple(several()): in the first, mypyc 2.4 takes an error
      of the iterator for its end.
    """

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and len(target.elts) == 1:
            node.value = ast.Call(ast.Name("tuple", ast.Load()), [node.value], [])
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.MatchAs:
        self.generic_visit(node)
        inner = node.pattern
        if isinstance(inner, ast.MatchAs) and inner.pattern is None and inner.name is None:
            node.pattern = None
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "replace":
            value, *rest = node.args
            return ast.Call(ast.Attribute(value, "replaced_", ast.Load()), rest, node.keywords)
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            value, types = node.args
            if isinstance(types, ast.BinOp):
                node.args = [value, ast.Tuple(list(_members(types)), ast.Load())]
        return node


def _members(union: ast.expr) -> Iterator[ast.expr]:
    if isinstance(union, ast.BinOp):
        yield from _members(union.left)
        yield from _members(union.right)
    else:
        yield union


class _Settings(ast.NodeTransformer):
    """object.__setattr__(self, "name", value) becomes self.name = value."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "object.__setattr__":
            return node
        target, name, value = call.args
        set_to = ast.Attribute(target, ast.literal_eval(name), ast.Store())
        return ast.Assign([set_to], value)


def _write_out(node: ast.ClassDef, options: dict[str, bool], known: Known) -> None:
    fields = known[node.name] = _fields_of(node, options, known)
    node.body = [_Settings().visit(each) for each in node.body]
    there = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    for method in _methods(node.name, options, fields, has_post_init="__post_init__" in there):
        (function,) = ast.parse(method).body
        assert isinstance(function, ast.FunctionDef)
        if function.name not in there:
            node.body.append(function)


def _fields_of(node: ast.ClassDef, options: dict[str, bool], known: Known) -> list[Field]:
    """The fields, the base class's first. Their defaults are removed from the class."""
    found = {f.name: f for base in node.bases for f in known.get(ast.unparse(base), ())}
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(each.annotation):
            field = _field(each, options.get("kw_only", False))
            found[field.name] = field
            each.value = None
    return list(found.values())


def _field(node: ast.AnnAssign, kw_only: bool) -> Field:
    field = Field(ast.unparse(node.target), ast.unparse(node.annotation), kw_only=kw_only)
    value = node.value
    if not isinstance(value, ast.Call) or ast.unparse(value.func) != "field":
        _set_default(field, value)
        return field
    for word in value.keywords:
        if word.arg == "default":
            _set_default(field, word.value)
        elif word.arg == "default_factory":
            field.made_by = f"({ast.unparse(word.value)})()"
        else:
            assert word.arg in ("init", "kw_only", "compare", "repr"), word.arg
            setattr(field, word.arg, ast.literal_eval(word.value))
    return field


def _set_default(field: Field, value: ast.expr | None) -> None:
    """Sets the field's default. mypyc 2.4 fails for a lambda as a parameter's default, so the
    constructor makes such a default."""
    if value is None:
        return
    has_lambda = any(isinstance(each, ast.Lambda) for each in ast.walk(value))
    if has_lambda:
        field.made_by = f"({ast.unparse(value)})"
    else:
        field.default = ast.unparse(value)


def _methods(
    name: str, options: dict[str, bool], fields: list[Field], *, has_post_init: bool
) -> Iterator[str]:
    made = [field for field in fields if field.init]
    positional = [field for field in made if not field.kw_only]
    named = [field for field in made if field.kw_only]
    star = ["*"] if named else []
    parameters = [each.parameter for each in positional] + star + [e.parameter for e in named]
    body = [f"self.{field.name} = {field.argument}" for field in made]
    body += ["self.__post_init__()"] * has_post_init
    yield _function(f"__init__({_words('self', *parameters)}) -> None", *body or ["pass"])
    others = [f"{field.name}: _Any = {_UNSET}" for field in made]
    replaced = _words(*(field.replaced for field in (*positional, *named)))
    yield _function(
        f"replaced_({_words('self', *['*'] * bool(made), *others)}) -> {name}",
        f"return {name}({replaced})",
    )
    yield from _comparisons(name, options, [f.name for f in fields if f.compare])
    shown = _words(*(f"{f.name}={{self.{f.name}!r}}" for f in fields if f.repr))
    yield _function("__repr__(self) -> str", f"return f'{name}({shown})'")
    if made == fields and not named:  # for processes that hand values to each other
        yield _function(
            "__reduce__(self) -> _Any",
            f"return ({name}, {_tuple('self', [f.name for f in fields])})",
        )


def _comparisons(name: str, options: dict[str, bool], fields: list[str]) -> Iterator[str]:
    if not options.get("eq", True):
        return
    same = " and ".join(f"self.{field} == other.{field}" for field in fields) or "True"
    yield _function(
        "__eq__(self, other: object) -> bool", f"return isinstance(other, {name}) and {same}"
    )
    if options.get("frozen"):
        yield _function("__hash__(self) -> int", f"return hash({_tuple('self', fields)})")
    if options.get("order"):
        for method, sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
            yield _function(
                f"__{method}__(self, other: {name}) -> bool",
                f"return {_tuple('self', fields)} {sign} {_tuple('other', fields)}",
            )


def _function(head: str, *body: str) -> str:
    return "\n".join((f"def {head}:", *(f"    {line}" for line in body)))


def _words(*words: str) -> str:
    return ", ".join(words)


def _tuple(of: str, fields: list[str]) -> str:
    return f"({''.join(f'{of}.{field}, ' for field in fields)})"
