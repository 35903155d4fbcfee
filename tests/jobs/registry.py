"""The commands of `kraftlake`, as typer has registered them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from jobs.cli.main import app


def commands(
    group: Any = None, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """For each command: (its words, such as replica and describe; typer's command). group, words: a
    group whose commands are wanted, and its words; by default all commands."""
    for name, command in (group or get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command
