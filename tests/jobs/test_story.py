"""The story of an incident: which events it has, and how it shortens them."""

from __future__ import annotations

import pytest

from jobs.cli.clock import UTC_CLOCK
from jobs.cli.directories.incident import IncidentEvent, Weight
from jobs.cli.directories.story import cut, decisive_few, story_lines

HOUR_MS = 3_600_000


def told(*events: IncidentEvent) -> list[str]:
    return [one.text for one in decisive_few(events)]


def test_harmless_changes_are_told_only_where_there_is_nothing_else() -> None:
    created = IncidentEvent(9, "created", 9, Weight.LIGHT, change="topic_created")
    deleted = IncidentEvent(9, "deleted", 9, change="topic_deleted")
    registered = IncidentEvent(1, "registered", 1, Weight.LIGHT)
    assert told(created) == ["created"]
    assert told(registered, created, deleted) == ["registered", "deleted"]
    fenced = [IncidentEvent(2, f"fenced {one}", 2, Weight.USUAL) for one in range(5)]
    assert told(*fenced, deleted) == [one.text for one in fenced]


def test_what_is_grave_comes_before_what_is_new_but_not_if_it_is_of_another_hour() -> None:
    usual = [IncidentEvent(HOUR_MS, f"fenced {one}", 2, Weight.USUAL) for one in range(6)]
    assert told(IncidentEvent(0, "outage", 1), *usual) == [
        "outage", *(one.text for one in usual[2:]),
    ]  # fmt: skip
    later = [one._replace(at=HOUR_MS + 1) for one in usual]
    assert told(IncidentEvent(0, "outage", 1), *later) == [one.text for one in later[1:]]


@pytest.mark.parametrize(
    ("text", "room", "short"),
    [
        ("as it is", 8, "as it is"),
        (
            "node 1 leads, by the votes of 1; nothing came before",
            40,
            "node 1 leads, by the votes of 1...",
        ),
        ("no clause ends in here", 12, "no clause..."),
        ("nospaceatall", 8, "nospa..."),
        ("ends here: and here", 12, "ends here..."),
    ],
)
def test_a_long_text_ends_behind_a_clause_or_a_word(text: str, room: int, short: str) -> None:
    assert cut(text, room) == short
    assert len(short) <= room


def test_a_shortened_text_says_which_history_has_the_event() -> None:
    whose = ", in the history of node 3"
    event = IncidentEvent(1, f"topic deleted, {'and ' * 99}{whose}", 1, whose=whose)
    (line,) = story_lines([event], UTC_CLOCK)
    assert line.endswith(f"...{whose}")
    assert 150 < len(line) <= 160
