"""docs/explanation/kraft-by-example.md is played: each of its sections on a quorum of its own.

`REWRITE_STORIES=1 pytest tests/replica/raft/stories` writes the outputs anew; read the diff.
"""

import os
import re
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.replica.raft.stories.script import retold
from tests.replica.raft.stories.stage import Stage

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "explanation" / "kraft-by-example.md"
_SECTION = re.compile(r"^## (.*)\n((?:^(?!## ).*\n)*)", re.MULTILINE)
_SCRIPT = re.compile(r"(?<=^```text\n)(> (?:^(?!```).*\n|.*\n)*?)(?=^```$)", re.MULTILINE)


def sections() -> dict[str, str]:
    return dict(_SECTION.findall(PAGE.read_text()))


def played(section: str) -> str:
    """The section with the output of each script as it is now; a quorum lives through all of it."""
    stage = Stage()
    return _SCRIPT.sub(lambda script: retold(script[0], stage.perform), section)


@pytest.mark.parametrize("title", [name for name, text in sections().items() if "\n> " in text])
def test_each_section_of_the_page_plays_as_it_is_written(title):
    section = sections()[title]
    now = played(section)
    if os.environ.get("REWRITE_STORIES"):
        PAGE.write_text(PAGE.read_text().replace(section, now))
        return
    difference = unified_diff(
        section.splitlines(), now.splitlines(), "the page", "now", lineterm="", n=4
    )
    if now != section:
        pytest.fail(f"{title!r} goes another way\n" + "\n".join(difference), pytrace=False)


def test_every_script_of_the_page_is_played():
    text = PAGE.read_text()
    typed = [line for line in text.splitlines() if line.startswith("> ")]
    found = [
        line
        for section in sections().values()
        for script in _SCRIPT.findall(section)
        for line in script.splitlines()
        if line.startswith("> ")
    ]
    assert found == typed
    assert len(found) > 100


def test_every_story_is_named_by_the_page():
    stories = {path.stem for path in Path(__file__).parent.glob("*.txt")}
    named = set(re.findall(r"stories/(\w+)\.txt\)", PAGE.read_text()))
    assert named == stories


def test_every_link_of_the_page_leads_to_a_file_and_every_function_that_it_names_is_there():
    text = PAGE.read_text()
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (PAGE.parent / link).exists(), link
    for link, name in re.findall(r"\]\(([^)]+\.py)\)\s+\(`(\w+)`\)", text):
        assert f"def {name}(" in (PAGE.parent / link).read_text(), name
