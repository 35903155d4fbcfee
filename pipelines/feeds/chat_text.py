"""Text objects of Slack's messages. No other module makes them, so that a name that a stranger
chose can't call a channel, become a link, or look like a message of kraftlake.

Source: docs.slack.dev/reference/block-kit/composition-objects/text-object, and Slack's page about
formatting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replica.terminal_text import one_line

_MOST, _MOST_OF_LINE = 3_000, 2_000
"""The most characters that Slack takes in a text object, and the most
characters of a line in it."""
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escaped(text: str) -> str:
    """The text as one line of limited length, with the three signs escaped that Slack takes for
    markup."""
    shown = ""
    for char in one_line(" ".join(text.split())):
        if len(shown) > _MOST_OF_LINE:
            return f"{shown}…"
        shown += _ESCAPED.get(char, char)
    return shown


def code(text: str) -> str:
    """The text between backticks, where Slack formats nothing."""
    return f"`{escaped(text).replace('`', chr(0x2019))}`"


def headline(text: str) -> dict[str, Any]:
    """A text object that is formatted. text: made only of constants and of results of `code`."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def plain(lines: Sequence[str]) -> dict[str, Any]:
    """A text object in which Slack formats nothing, with as many of the lines as Slack takes."""
    text = ""
    for line in map(escaped, lines):
        if len(text) + len(line) >= _MOST:
            break
        text += f"{line}\n"
    return {"type": "plain_text", "text": text.rstrip() or "-", "emoji": False}
