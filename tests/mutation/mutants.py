"""The mutants of a module: one function of it, changed in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from types import CodeType

_OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
"""For each operator, the operator by which a mutant replaces it."""


@dataclass(frozen=True)
class Mutant:
    """`before` and `after` are the code of the place, `code` the function with the change in it."""

    path: str
    function: str
    line: int
    before: str
    after: str
    code: CodeType

    @property
    def name(self) -> str:
        """The mutant's name in records. It has no line number, which changes too often."""
        return f"{self.path} {self.function}: {self.before} -> {self.after}"


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """All mutants of a module: of the bodies of its functions and of its classes' methods."""
    tree = ast.parse(text)
    codes = {code.co_qualname: code for code in _codes(compile(tree, path, "exec"))}
    for function in _functions(tree):
        for node in _places(function):
            for other in _variants(node):
                changed = _changed(tree, function, node, other)
                code = compile(ast.fix_missing_locations(changed), path, "exec")
                for one in _codes(code):
                    is_it = one.co_firstlineno == _first_line(function)
                    if is_it and one.co_name == function.name and one.co_qualname in codes:
                        before, after = ast.unparse(node), ast.unparse(other)
                        line = getattr(node, "lineno", function.lineno)
                        yield Mutant(path, one.co_qualname, line, before, after, one)


def _first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a module's functions and of the methods of its classes."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            if "__qualname__" in constant.co_names:  # the body of a class
                yield from _codes(constant)


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node)


def _places(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's body, without texts, annotations and the messages of errors."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert):
            continue
        yield node
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.AnnAssign):
            children = [] if node.value is None else [node.value]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            children = list(node.body)
        waiting += reversed(children)


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that may replace a node."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _OTHER:
            yield _with(node, ops=[_OTHER[type(operator)]()])
        case ast.BoolOp(op=operator):
            yield _with(node, op=_OTHER[type(operator)]())
        case ast.BinOp(op=operator) if type(operator) in _OTHER:
            yield _with(node, op=_OTHER[type(operator)]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield deepcopy(operand)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Expr(value=ast.Call() | ast.Await() | ast.YieldFrom() | ast.Yield()):
            yield from () if _is_last_yield(node) else [ast.Pass()]
        case ast.AugAssign() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Return(value=ast.expr()) if not _is_constant(node.value):
            yield ast.Return(ast.Constant(None))


def _is_last_yield(node: ast.Expr) -> bool:
    """Whether the expression is a yield. A generator without its last yield would be an ordinary
    function, and compile() reports this too late."""
    return isinstance(node.value, ast.Yield | ast.YieldFrom)


def _is_constant(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    other = deepcopy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _changed(tree: ast.Module, function: ast.AST, node: ast.AST, other: ast.AST) -> ast.Module:
    """A module with one function alone, in its class where it has one, changed in one place. Other
    statements of the module are left out, because compiling all of them for each mutant would take
    minutes."""

    class Replacing(ast.NodeTransformer):
        def visit(self, one: ast.AST) -> ast.AST:
            if one is node:
                return ast.copy_location(deepcopy(other), one)
            copied = one.__class__(**dict(ast.iter_fields(one)))
            ast.copy_location(copied, one)
            return self.generic_visit(_lists_copied(copied))

    def kept(body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for one in body:
            if one is function:
                found.append(Replacing().visit(one))
            elif isinstance(one, ast.ClassDef) and any(it is function for it in _functions(one)):
                found.append(_with_body(one, kept(one.body)))
            elif isinstance(one, ast.ImportFrom) and one.module == "__future__":
                found.append(one)
        return found

    return ast.Module(kept(tree.body), [])


def _with_body(one: ast.ClassDef, body: list[ast.stmt]) -> ast.ClassDef:
    fields = {**dict(ast.iter_fields(one)), "body": body}
    return ast.copy_location(ast.ClassDef(**fields), one)


def _lists_copied(node: ast.AST) -> ast.AST:
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(node, name, list(value))
    return node
