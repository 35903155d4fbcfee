"""No message tells its reader to destroy what may be all that is left of a log or a lake."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.trees import nodes_of

REPOSITORY = Path(__file__).parents[2]
_FOLDERS = ("jobs", "pipelines", "replica")
_DESTROYS = re.compile(
    r"\b(?:delete|remove|erase|wipe|empty|discard|rm -\w+) (?:the|this|that|it|its|them|all)\b"
    r"(?! old voter)"
    r"|\bformat (?:the|this|it)\b[^.;:]* anew",
    re.IGNORECASE,
)


def texts(path: Path) -> Iterator[str]:
    """What the module's code can print: its strings without docstrings, f-strings in one."""
    nodes = nodes_of(path.read_text(encoding="utf-8"))
    silent = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) in silent:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield "".join(map(str, parts))


def test_no_message_advises_to_delete_anything() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}: {text}"
        for folder in _FOLDERS
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
        for text in texts(path)
        if _DESTROYS.search(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "advice",
    [
        "restore it, or remove the lake's folder and ingest all captures again",
        "Delete it while the node is stopped",
        "empty this one's disk",
        "format the directory anew to get a new directory id",
        "rm -rf the lake",
    ],
)
def test_such_advice_is_noticed(advice: str, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        f'def f(x):\n    "Remove the lake."\n    raise ValueError(f"{{x}}: {advice}")\n'
    )
    found = [text for text in texts(module) if _DESTROYS.search(text)]
    assert found
    assert all(advice in text for text in found)
