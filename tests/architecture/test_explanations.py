"""What a docstring or a comment points to is in the repository, or is Kafka's own."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("replica", "pipelines", "jobs", "kraftlake")
OUTSIDE = re.compile(r"\bDESIGN\b|\bseeds? \d{3}\b|\b[A-K]\d{2}\b(?! ?\()")
"""The design and its sources, and a scenario's bare number: tests/scenarios says what it means,
but whoever reads the code doesn't know that."""


def explanations(text: str) -> list[tuple[int, str]]:
    """(line, text) of every comment and every string that stands alone: docstrings."""
    found, before = [], tokenize.NEWLINE
    breaks = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        alone = token.type == tokenize.STRING and before in breaks and token.string[:3] == '"' * 3
        if alone or token.type == tokenize.COMMENT:
            found.append((token.start[0], token.string))
        if token.type != tokenize.NL:
            before = token.type
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_explanations_need_nothing_from_outside_the_repository(folder: str) -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}:{line} {OUTSIDE.search(text)[0]}"
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
        for line, text in explanations(path.read_text(encoding="utf-8"))
        if OUTSIDE.search(text)
    ]
    assert not found, "\n".join(["", *found])


def test_such_references_are_found_in_docstrings_and_comments() -> None:
    source = (
        'def f():\n    """As seed 002 has it."""\n    return 1  # F04\n\nX = 1\n"""By DESIGN."""\n'
    )
    assert [line for line, text in explanations(source) if OUTSIDE.search(text)] == [2, 3, 6]
    assert not OUTSIDE.search("SHA-256, int16 and KIP-853")
