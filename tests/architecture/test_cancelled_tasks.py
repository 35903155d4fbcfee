"""A task that is cancelled ends: no module suppresses CancelledError around a wait.

`suppress(CancelledError)` is meant for the cancellation of the task that is waited for. It also
suppresses the cancellation of the task that waits, which then goes on for ever. asyncio.wait has no
such trap.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.trees import nodes_of

ROOT = Path(__file__).parents[2]


def suppressed(text: str) -> Iterator[int]:
    """The lines of a module at which CancelledError, or every error, is suppressed."""
    for node in nodes_of(text):
        if isinstance(node, ast.Call) and _name(node.func) == "suppress":
            names = {_name(each) for each in node.args}
            if names & {"CancelledError", "BaseException"}:
                yield node.lineno


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def test_no_module_suppresses_what_cancels_its_own_task() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("pipelines", "jobs", "replica")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in suppressed(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "with contextlib.suppress(asyncio.CancelledError):\n    await task",
        "with suppress(OSError, CancelledError):\n    await task",
    ],
)
def test_a_suppressed_end_is_found(code: str) -> None:
    assert [*suppressed(code)]
