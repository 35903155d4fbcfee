"""The protocol as stories: scripts of a quorum, with what every replica did recorded in them.

`REWRITE_STORIES=1 pytest tests/replica/raft/stories` records anew; read the diff as carefully as
the change that made it.
"""

import os
from difflib import unified_diff
from pathlib import Path

import pytest

from tests.replica.raft.stories.script import StoryError, parse, retold
from tests.replica.raft.stories.stage import Stage

STORIES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=[path.stem for path in STORIES])
def test_each_story_plays_as_it_was_recorded(path):
    recorded = path.read_text()
    now = retold(recorded, Stage().perform)
    if os.environ.get("REWRITE_STORIES"):
        path.write_text(now)
        return
    difference = unified_diff(
        recorded.splitlines(), now.splitlines(), "recorded", "now", lineterm="", n=4
    )
    if now != recorded:
        pytest.fail(f"{path.name} goes another way\n" + "\n".join(difference), pytrace=False)


def test_every_command_leaves_a_trace():
    for path in STORIES:
        lines = path.read_text().splitlines()
        silent = [
            line
            for line, following in zip(lines, [*lines[1:], ""], strict=True)
            if line.startswith(">") and (not following or following[0] in "#>")
        ]
        assert not silent, f"{path.name}: {silent}"


def test_a_retold_story_keeps_prose_and_commands_and_nothing_else():
    story = "# prose\n> say a b=c\nold\n\n> say d\n"
    told = retold(story, lambda command: [f"{command.words} {command.settings}"])
    assert told == "# prose\n> say a b=c\n('a',) {'b': 'c'}\n\n> say d\n('d',) {}\n"


@pytest.mark.parametrize("line", ["dance", "ask 1 Fetch", "quorum 1 2 3 colour=red", "advance x"])
def test_a_command_that_makes_no_sense_is_named_with_its_line(line):
    with pytest.raises(StoryError, match=r"line 2, "):
        retold(f"> quorum 1\n> {line}\n", Stage().perform)


def test_words_with_a_name_are_settings():
    command = parse("ask 1 Fetch replica=2a epoch=1")
    assert (command.name, command.words) == ("ask", ("1", "Fetch"))
    assert command.settings == {"replica": "2a", "epoch": "1"}
