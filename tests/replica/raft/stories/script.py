"""A story: a text of prose (`#`), commands (`>`) and, below each command, its output."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command. words: the name and the arguments. settings: the arguments `key=value`."""

    name: str
    words: tuple[str, ...]
    settings: dict[str, str]


class StoryError(Exception):
    """A story that can't be run. The message has the line and what is wrong with it."""


def parse(line: str) -> Command:
    """The command of a line, without the mark `>`."""
    name, *rest = shlex.split(line)
    named = [word for word in rest if "=" in word]
    settings = dict(word.split("=", 1) for word in named)
    return Command(name, tuple(word for word in rest if word not in named), settings)


def retold(story: str, perform) -> str:
    """The story with every output as it is now.

    perform: (Command) -> lines. Raises StoryError with the number of the line.
    """
    lines = []
    for number, line in enumerate(story.splitlines(), 1):
        if line.startswith(("#", ">")) or not line:
            lines.append(line)
        if line.startswith(">"):
            try:
                lines += _checked(perform(parse(line[1:])))
            except (LookupError, TypeError, ValueError) as error:
                raise StoryError(f"line {number}, {line!r}: {error}") from error
    return "\n".join(lines) + "\n"


def _checked(output: Iterable[str]) -> list[str]:
    lines = list(output)
    assert all(line and line[0] not in "#>" for line in lines), "output that looks like a script"
    return lines
