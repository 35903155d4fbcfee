"""The lines on stderr about what a command could not read, or left out. They come below the answer,
which begins with the verdict, because a person reads the first lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from jobs.cli.output import complain
from replica.doctor.check.examined import Examined
from replica.words import counted

MOST_DAMAGES = 3
"""The most damaged places of one directory that are named where the answer is text."""


@contextmanager
def printed_at_the_end() -> Iterator[list[str]]:
    """A list for lines that are printed when the context ends, also by an error."""
    lines: list[str] = []
    try:
        yield lines
    finally:
        for line in lines:
            complain(line)


def damage_lines(examined: Iterable[Examined], *, all_of_them: bool) -> Iterator[str]:
    """A line for each damaged place in the directories. all_of_them: False gives at most
    MOST_DAMAGES places of a directory, and a line that says which command lists the others."""
    for one in examined:
        limit = len(one.damages) if all_of_them else MOST_DAMAGES
        yield from map(str, one.damages[:limit])
        if more := one.damages[limit:]:
            places = counted(len(more), "more damaged place")
            yield f"{one.shown}: {places}: `kraftlake check --json` lists all"
