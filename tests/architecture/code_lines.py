"""`python tests/architecture/code_lines.py [FOLDER...]` prints how many lines of code each package
has, and how many of its files have fewer than 40. A line counts if it holds a token that is no
comment, no docstring and no import."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

SMALL = 40

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """The number of lines of code in a module with this text."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def counted(folder: Path) -> dict[Path, int]:
    """The number of lines of code of each module below a folder."""
    return {path: code_lines(path.read_text()) for path in sorted(folder.rglob("*.py"))}


def main(folders: list[str]) -> None:
    """Prints a line for each package, and a sum for each named folder."""
    for folder in folders:
        counts = counted(Path(folder))
        lines: Counter[Path] = Counter()
        small: Counter[Path] = Counter()
        files: Counter[Path] = Counter()
        for path, count in counts.items():
            lines[path.parent] += count
            files[path.parent] += 1
            small[path.parent] += count < SMALL
        for package in sorted(lines):
            row = f"{lines[package]:7,} {files[package]:5} {small[package]:5} {package}"
            sys.stdout.write(f"{row}\n")
        total = f"{lines.total():7,} {files.total():5} {small.total():5}"
        sys.stdout.write(f"{total} {folder}: lines of code, files, files below {SMALL} lines\n")


if __name__ == "__main__":
    main(sys.argv[1:] or ["replica", "jobs", "pipelines"])
