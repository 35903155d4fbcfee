"""What is printed goes through replica.terminal_text or jobs.cli.output, which escape what a
terminal would obey."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.test_tidy import REPOSITORY, TOP_LEVEL, python_files
from tests.architecture.trees import nodes_of

MAY_WRITE = {
    "replica/terminal_text.py",
    "jobs/cli/output.py",
    "replica/scan/kernels/emit.py",  # An object file for the process that started it.
    "pipelines/spark/jvm.py",  # The JVM's lines, escaped by terminal_text.one_line_bytes.
    "pipelines/lake/library_text.py",  # Python's own stderr, beside the libraries'.
    "jobs/cli/asking/sql_prompt.py",  # It puts a pager in the place of stdout.
}
HARMLESS = {"flush", "isatty", "fileno"}
PRINTING = {"print", "echo", "secho", "pprint"}


def found_in(text: str) -> Iterator[tuple[int, str]]:
    nodes = nodes_of(text)
    asked = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr in HARMLESS
    }
    for node in nodes:
        match node:
            case ast.Attribute(
                value=ast.Name(id="sys"),
                attr="stdout" | "stderr" | "__stdout__" | "__stderr__" as name,
            ):
                if id(node) not in asked:
                    yield node.lineno, f"sys.{name}: print by jobs.cli.output"
            case ast.ImportFrom(module="sys") if any(
                alias.name.strip("_") in ("stdout", "stderr") for alias in node.names
            ):
                yield node.lineno, "a standard stream under another name"
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in PRINTING:
                yield node.lineno, f"{name}: print by jobs.cli.output"
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="os"), attr="write"),
                args=[ast.Constant(value=1 | 2), *_],
            ):
                yield node.lineno, "os.write to a standard stream: print by jobs.cli.output"


def test_no_other_module_writes_to_the_standard_streams() -> None:
    files = [*python_files(REPOSITORY, *TOP_LEVEL)]
    assert [
        f"{path.relative_to(REPOSITORY)}:{line}: {what}"
        for path in files
        if str(path.relative_to(REPOSITORY)) not in MAY_WRITE
        for line, what in found_in(path.read_text(encoding="utf-8"))
    ] == []
    assert {str(path.relative_to(REPOSITORY)) for path in files} >= MAY_WRITE


@pytest.mark.parametrize(
    "code",
    [
        "print(name)",
        "sys.stdout.write(name)",
        "sys.stdout.buffer.write(raw)",
        "csv.writer(sys.stdout)",
        "out = sys.stderr",
        "typer.echo(name)",
        "os.write(2, raw)",
        "from sys import stderr",
    ],
)
def test_each_way_to_print_elsewhere_is_found(code: str) -> None:
    assert list(found_in(code))


@pytest.mark.parametrize("code", ["sys.stdout.isatty()", "sys.stderr.flush()", "write_line(name)"])
def test_questions_to_a_stream_pass(code: str) -> None:
    assert list(found_in(code)) == []
