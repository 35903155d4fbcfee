"""Runs a notebook's code cells, in order and in one process, as Jupyter would; without Jupyter.

    python -m tests.docs.notebook NOTEBOOK      prints the notebook with the outputs of this run

An output is the text that a cell printed, and then the text of the cell's value.
"""

from __future__ import annotations

import ast
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The same notebook with the outputs of every code cell made anew. An error of a cell is
    raised."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            printed, value = _executed("".join(cell["source"]), names)
            cell = {**cell, "execution_count": count, "outputs": _outputs(count, printed, value)}
        cells.append(cell)
    return {**notebook, "cells": cells}


def text(notebook: dict[str, Any]) -> str:
    """The notebook as Jupyter writes it to disk."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _executed(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """(what the cell prints, the value of its last line where that is an expression)."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "cell", "exec"), names)  # noqa: S102 - our notebook
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
    return printed.getvalue(), value


def _outputs(count: int, printed: str, value: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if printed:
        lines = printed.splitlines(keepends=True)
        found.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        shown = {"text/plain": repr(value).splitlines(keepends=True)}
        result = {"data": shown, "execution_count": count, "metadata": {}}
        found.append({**result, "output_type": "execute_result"})
    return found


if __name__ == "__main__":
    file = Path(sys.argv[1])
    sys.stdout.write(text(run(json.loads(file.read_text(encoding="utf-8")))))
