"""The examples of a Markdown file: what they say to type, and what they say comes out.

Two kinds of fenced blocks are examples. A `sql` block is a query on the lake of the demo, and the
`text` block after it the answer. In a `console` block each line that starts with "$ kraftlake" is a
command, `| head -N` allowed, and the lines up to the next "$" are its output.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

DEMO_LAKE = ".demo/lake"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r" \| head -(\d+)$")

Run = Callable[[list[str]], str]
"""(arguments of kraftlake) -> what it prints on stdout."""


@dataclass(frozen=True)
class Example:
    """start, end: where the expected output stands in the text. first_lines: of `| head -N`."""

    arguments: list[str]
    expected: str
    start: int
    end: int
    first_lines: int | None = None

    def output(self, run: Run) -> str:
        printed = run(self.arguments)
        lines = printed.splitlines(keepends=True)
        return "".join(lines[: self.first_lines])


def examples(text: str) -> Iterator[Example]:
    """Every example of a Markdown text, in its order."""
    query: str | None = None
    for block in _FENCE.finditer(text):
        kind, body = block[1], block[2]
        if kind == "console":
            yield from _commands(body, block.start(2))
        elif kind == "text" and query is not None:
            yield Example(["sql", "--lake", DEMO_LAKE, query], body, block.start(2), block.end(2))
        query = body.strip().rstrip(";") if kind == "sql" else None


def _commands(body: str, offset: int) -> Iterator[Example]:
    for command in re.finditer(r"^\$ kraftlake (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
        line = command[1]
        head = _HEAD.search(line)
        first_lines = int(head[1]) if head else None
        arguments = shlex.split(line[: head.start()] if head else line)
        start, end = offset + command.start(2), offset + command.end(2)
        yield Example(arguments, command[2], start, end, first_lines)


def rewritten(text: str, run: Run) -> str:
    """The text with every expected output replaced by the real one."""
    found = [(example, example.output(run)) for example in examples(text)]
    for example, output in reversed(found):
        text = text[: example.start] + output + text[example.end :]
    return text
