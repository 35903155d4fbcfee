"""Command lines are built by replica.shell_text alone, which quotes each word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from jobs.cli.main import app
from tests.architecture.test_tidy import REPOSITORY, TOP_LEVEL, python_files
from tests.architecture.trees import nodes_of

SHELL_TEXT = "replica/shell_text.py"
QUOTING = {
    SHELL_TEXT,
    "jobs/cli/asking/sql_prompt.py",  # It splits the user's own PAGER.
}
NAMES = "|".join(sorted(typer.main.get_command(app).commands))
COMMAND = re.compile(
    rf"\b(kraftlake ({NAMES})(?! on )|kafka-[a-z-]+\.sh [a-z-]|pip install|uvx? |pipx |"
    r"spark-submit -|(cp|scp|mv|rm|tar|unzip|printf|mkdir|chown|chmod|kill|grep|sed) [-$'\"{])"
)


def lines_built_elsewhere(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}:{line}: {what}"
        for path in python_files(root, *TOP_LEVEL)
        if str(path.relative_to(root)) != SHELL_TEXT
        for line, what in found_in(
            path.read_text(encoding="utf-8"), may_quote=str(path.relative_to(root)) in QUOTING
        )
    ]


def found_in(text: str, *, may_quote: bool = False) -> Iterator[tuple[int, str]]:
    for node in nodes_of(text):
        match node:
            case ast.JoinedStr() if holds_command(node):
                yield node.lineno, "an f-string with a command: build it by shell_text.line"
            case ast.BinOp(op=ast.Add() | ast.Mod(), left=ast.Constant(value=str(left))):
                if COMMAND.search(left):
                    yield node.lineno, "text added to a command: build it by shell_text.line"
            case ast.Import(names=[ast.alias(name="shlex"), *_]) if not may_quote:
                yield node.lineno, "shlex: shell_text quotes"
            case ast.Call(func=ast.Name(id="Shell"), args=[argument]):
                if not isinstance(argument, ast.Constant):
                    yield node.lineno, "Shell of what is no constant"


def holds_command(node: ast.JoinedStr) -> bool:
    """Whether a value comes into the text of a command, or into what follows it between the same
    backticks."""
    parts = [str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values]
    text = "".join(parts)
    pieces = text.split("`")[1::2] if "`" in text else [text]
    return any("\0" in piece[found.start() :] for piece in pieces for found in all_in(piece))


def all_in(text: str) -> Iterator[re.Match[str]]:
    return COMMAND.finditer(text)


def test_no_module_but_one_builds_text_for_a_shell() -> None:
    assert lines_built_elsewhere(REPOSITORY) == []


@pytest.mark.parametrize(
    "code",
    [
        'f"run `kraftlake build --lake {lake}` again"',
        'f"kraftlake recover --plan {paths}"',
        'f"cp -a {source} there"',
        'f"bin/kafka-storage.sh format --cluster-id {cluster}"',
        '"kraftlake diff " + a',
        '"tar -xf %s" % bundle',
        "import shlex",
        "Shell(name)",
        'Shell(f"x {name}")',
    ],
)
def test_each_way_to_build_one_elsewhere_is_found(code: str) -> None:
    assert len(list(found_in(code))) == 1


@pytest.mark.parametrize(
    "code",
    [
        'f"{lake}: run `kraftlake ingest` first"',
        'f"kraftlake {version}"',
        'Shell("BROKER=localhost:9092")',
        'line("kraftlake", "build", "--lake", lake)',
    ],
)
def test_texts_without_a_value_in_a_command_are_not_found(code: str) -> None:
    assert list(found_in(code)) == []
