"""README and the pages below docs say what is true: their commands run, their outputs are the real
ones, their links lead somewhere. REWRITE_EXAMPLES=1 writes the outputs anew; read the diff.

tests/docs/pages.py says how a page's blocks are marked, and what is not run here but elsewhere.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import typer.main

from jobs.cli.asking.questions import DEMO
from jobs.cli.main import app
from tests.docs.pages import (
    DEMO_LAKE,
    PAGES,
    ROOT,
    Step,
    anchors,
    blocks,
    needs_lake,
    rewritten,
    steps,
)
from tests.docs.reader import Reader, logical_lines
from tests.docs.said import is_said

ReaderOf = Callable[[list[Step]], Reader]


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _quick(page: Path) -> list[Step]:
    return [step for step in steps(_text(page)) if not step.block.is_slow]


def _pages() -> list[object]:
    """All pages, with the marks of their tests. A page that speaks of the demo's lake needs Spark,
    which makes the lake. A page with a notebook takes some minutes, in a process with a Spark of
    its own. What is wrong with a page's marks is for its test to say, not for the collection of
    all."""
    return [pytest.param(page, id=_name(page), marks=[*_marks(page)]) for page in PAGES]


def _marks(page: Path) -> Iterator[pytest.MarkDecorator]:
    if _has_lake(page):
        yield pytest.mark.spark
    if "<!-- notebook -->" in _text(page):
        yield pytest.mark.slow


def _has_lake(page: Path) -> bool:
    return DEMO_LAKE in _text(page) or "```sql\n" in _text(page)


@pytest.fixture
def reader_of(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> ReaderOf:
    def make(wanted: list[Step]) -> Reader:
        lake = request.getfixturevalue("built_lake") if any(map(needs_lake, wanted)) else None
        monkeypatch.chdir(tmp_path)
        reader = Reader(tmp_path, capsys)
        if lake is not None:
            reader.give_lake(lake)
        return reader

    return make


def _follow(page: Path, wanted: list[Step], reader_of: ReaderOf) -> None:
    outputs = []
    with closing(reader_of(wanted)) as reader:
        for step in wanted:
            output = reader.output(step)
            if not os.environ.get("REWRITE_EXAMPLES"):
                assert step.expected in (None, output), step.text
            outputs.append((step, output))
    if os.environ.get("REWRITE_EXAMPLES"):
        page.write_text(rewritten(_text(page), outputs), encoding="utf-8")
        pytest.skip("written anew")


@pytest.mark.parametrize("page", _pages())
def test_the_commands_of_a_page_print_what_the_page_shows(page: Path, reader_of: ReaderOf) -> None:
    _follow(page, _quick(page), reader_of)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    "page", [page for page in PAGES if "<!-- slow -->" in _text(page)], ids=_name
)
def test_the_slow_commands_of_a_page_print_what_the_page_shows(
    page: Path,
    reader_of: ReaderOf,
    spark: object,  # is there before the commands ask for it
) -> None:
    _follow(page, list(steps(_text(page))), reader_of)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_block_that_a_page_does_not_run_names_a_test_that_exists(page: Path) -> None:
    for block in blocks(_text(page)):
        if block.shown_by:
            path, _, name = block.shown_by.partition("::")
            assert (ROOT / path).is_file(), block.shown_by
            assert path.startswith("tests/"), block.shown_by
            assert f"def {name}(" in _text(ROOT / path) or not name, block.shown_by


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_kraftlake_command_a_page_names_is_one_with_these_options(page: Path) -> None:
    root = typer.main.get_command(app)
    for line in _kraftlake_lines(_text(page)):
        assert _unknown(root, shlex.split(line, comments=True)) is None, line


def _kraftlake_lines(text: str) -> list[str]:
    """All that stand in blocks of commands, and in the running text between backticks."""
    shown = [block for block in blocks(text) if block.kind in ("sh", "console")]
    lines = [line for block in shown for line in logical_lines(block.body)]
    lines = [line for line in lines if "2>&1" not in line]  # the page shows what is wrong with it
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines += [" ".join(code.split()) for code in re.findall(r"`([^`]*)`", outside)]
    named = (re.match(r"(?:\$ )?(?:\.venv/bin/)?kraftlake ([a-z-].*)", line) for line in lines)
    return [re.split(r" [|>&<]|\d>", one[1])[0] for one in named if one]


def _unknown(command: Any, arguments: list[str]) -> str | None:
    """The first word that names no command or option, None where all do."""
    known = {name for option in command.params for name in option.opts + option.secondary_opts}
    for index, word in enumerate(arguments):
        if hasattr(command, "commands") and not word.startswith("-"):
            inner = command.commands.get(word)
            return word if inner is None else _unknown(inner, arguments[index + 1 :])
        if re.match(r"--?[a-zA-Z]", word) and word not in known | {"-h", "--help"}:
            return word
    return None


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=_name
)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _text(page)):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(_text(file)), target


def test_the_page_of_questions_asks_those_of_the_demo() -> None:
    text = _text(ROOT / "docs" / "tutorial" / "questions.md")
    for question in DEMO:
        assert f"## {question.title}\n\n```sql\n{question.sql}\n```\n" in text


def test_the_index_names_every_page() -> None:
    """The index of a folder that has one, else that of docs/."""
    docs = ROOT / "docs"
    for page in PAGES[1:]:
        own = page.parent / "README.md"
        folder = page.parent if own.is_file() and page != own else docs
        place = page.relative_to(folder).as_posix()
        assert page == docs / "README.md" or f"]({place})" in _text(folder / "README.md"), place


@pytest.mark.parametrize(
    "drawing", sorted((ROOT / "docs" / "explanation" / "images").iterdir()), ids=_name
)
def test_a_drawing_is_whole_has_a_title_and_needs_nothing_from_elsewhere(drawing: Path) -> None:
    root = ElementTree.fromstring(_text(drawing))  # noqa: S314, ours
    names = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert {"title", "desc"} <= set(names)
    assert not {"script", "image", "foreignObject"} & set(names)
    assert "prefers-color-scheme: dark" in _text(drawing)
    assert any(f"images/{drawing.name})" in _text(page) for page in PAGES)


def test_every_error_line_that_no_command_here_shows_is_one_that_the_program_says() -> None:
    page = _text(ROOT / "docs" / "how-to" / "troubleshooting.md")
    lines = [line for one in blocks(page) if one.kind == "text" for line in one.body.splitlines()]
    assert len(lines) > 20
    assert [line for line in lines if not is_said(line)] == []


def test_a_line_that_the_program_does_not_say_is_noticed() -> None:
    assert not is_said("kraftlake: error: Java 17 or newer is wanted: PATH has no java.")
