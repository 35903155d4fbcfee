"""What a page of the documentation tells its reader to type, and what it says comes out.

Fenced blocks of these languages are commands; a page runs from top to bottom in one folder, which
has the recorded logs as tests/data, and as .demo/lake the lake that `make demo` makes.

    console  each line after "$ " is a command, and what follows is what it prints on stdout;
             with ` 2>&1` also on stderr, and ` | head -N` cuts it
    sql      a query on the demo's lake, and the `text` block after it the answer
    sh       a script without output: it must end well, which 1 of kraftlake alone is, too
    python   a program, likewise

Comments in the lines before a block say how it is shown to be true:

    <!-- slow -->                          it takes long: run by `make test-all` alone
    <!-- notebook -->                      python in one process with the page's other such blocks;
                                           a `text` block right behind it is what it prints
    <!-- with nodes = tests/data/X -->     the reader's own folder: a copy of that one is there
    <!-- shown by tests/X.py::test_y -->   not run here (needs a live cluster, root, ...): that test
                                           does the same; `::test_y` may be left out

All other blocks are what files hold or programs say, and are not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
DEMO_LAKE = ".demo/lake"
COMMANDS = ("console", "sql", "sh", "python")
_OTHERS = ("text", "json", "toml", "properties", "ini", "yaml", "xml", "dockerfile", "mermaid")
_FENCE = re.compile(
    r"(?P<notes>(?:^<!-- .* -->\n)*)^```(?P<kind>.*)\n(?P<body>(?:^(?!```).*\n)*)^```$",
    re.MULTILINE,
)
_PROMPT = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block. start, end: the place of its body in the page. copies: name in the page's
    folder -> folder of the repository. shown_by: the test that does the same; "" without one."""

    kind: str
    body: str
    start: int
    end: int
    is_slow: bool
    is_notebook: bool
    shown_by: str
    copies: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Step:
    """A command that the reader types. expected: the output in the page, which stands from start to
    end; None where the page shows no output."""

    kind: str
    text: str
    block: Block
    expected: str | None = None
    start: int = 0
    end: int = 0


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page. Raises ValueError for a block in a language that no test runs,
    and for a comment before a block that isn't one of the comments above."""
    found = list(_FENCE.finditer(text))
    marks = re.findall(r"^ *```", text, re.MULTILINE)
    if len(marks) != 2 * len(found):
        raise ValueError("a fence that isn't at the start of its line, or is never closed")
    return [_block(one) for one in found]


def _block(found: re.Match[str]) -> Block:
    kind = found["kind"]
    if kind not in (*COMMANDS, *_OTHERS):
        raise ValueError(f"```{kind}: expected one of {', '.join((*COMMANDS, *_OTHERS))}")
    is_slow, is_notebook, shown_by, copies = False, False, "", []
    for note in re.findall(r"<!-- (.*) -->", found["notes"]):
        if note == "slow":
            is_slow = True
        elif note == "notebook" and kind == "python":
            is_notebook = True
        elif note.startswith("shown by "):
            shown_by = note.removeprefix("shown by ")
        elif copied := re.fullmatch(r"with (\S+) = (\S+)", note):
            copies.append((copied[1], copied[2]))
        else:
            raise ValueError(f"<!-- {note} -->: expected slow, notebook, with N = P, or shown by T")
    place = found.start("body"), found.end("body")
    return Block(kind, found["body"], *place, is_slow, is_notebook, shown_by, (*copies,))


def steps(text: str) -> Iterator[Step]:
    """The commands of the page's reader, in order, without blocks that another test shows. Raises
    ValueError for a query without an answer."""
    found = blocks(text)
    for block, following in zip(found, [*found, None][1:], strict=True):
        if block.shown_by or block.kind not in COMMANDS:
            continue
        if block.kind == "console":
            for typed in _PROMPT.finditer(block.body):
                start, end = block.start + typed.start(2), block.start + typed.end(2)
                yield Step("console", typed[1], block, typed[2], start, end)
        elif block.kind == "sql":
            if following is None or following.kind != "text":
                raise ValueError(f"no text block follows this query: {block.body}")
            query = block.body.strip().rstrip(";")
            yield Step("sql", query, block, following.body, following.start, following.end)
        elif block.is_notebook and following is not None and _is_output(following, block, text):
            place = following.start, following.end
            yield Step("notebook", block.body, block, following.body, *place)
        else:
            yield Step("notebook" if block.is_notebook else block.kind, block.body, block)


def _is_output(following: Block, block: Block, text: str) -> bool:
    """Whether only the two fences are between the blocks."""
    between = text[block.end : following.start]
    return following.kind == "text" and between == "```\n```text\n"


def needs_lake(step: Step) -> bool:
    return step.kind == "sql" or DEMO_LAKE in step.text


def rewritten(text: str, outputs: list[tuple[Step, str]]) -> str:
    """The page with the real output instead of each expected output."""
    for step, output in sorted(outputs, key=lambda one: one[0].start, reverse=True):
        if step.expected is not None:
            text = text[: step.start] + output + text[step.end :]
    return text
