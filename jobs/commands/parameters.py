"""A command with its options and arguments, written as its help shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, TypeVar, dataclass_transform

import typer

from jobs.commands.help_pages import CommandPage

Text = str | None
Texts = list[str] | None
Number = int | None
_Options = TypeVar("_Options")
_FACTS: dict[type, tuple[str, str]] = {}
"""Of the class of each command's options: the function that does the work, and the line in the
overview."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def command(function: str, short_help: str) -> Callable[[type[_Options]], type[_Options]]:
    """Make a class the options of a command.

    The class becomes a dataclass, whose fields are the options as typer reads them, and whose
    docstring is the command's help. The command has the name of the class without `Options`.
    function: the function that does the work, as `MODULE:NAME` with a module of jobs. It takes
    the options and returns the exit code; its module is imported when the command runs.
    short_help: the line in the overview.
    """

    def declared(options: type[_Options]) -> type[_Options]:
        made: type[_Options] = dataclass(frozen=True, slots=True)(options)
        _FACTS[made] = function, short_help
        return made

    return declared


def add(app: typer.Typer, options: type, heading: str | None = None) -> None:
    """Add the command with these options to an app, below a heading of its overview."""
    name = options.__name__.removesuffix("Options").lower()
    _, short_help = _FACTS[options]
    app.command(name, cls=CommandPage, short_help=short_help, rich_help_panel=heading)(options)


def run_command(options: object) -> int:
    """Run the command with these options. Returns its exit code."""
    function, _ = _FACTS[type(options)]
    return int(resolve_name(f"jobs.{function}")(options))


def option(shown: str, meaning: str, **settings: Any) -> Any:
    """An option. shown: its names and what stands for its value, such as `-o, --output FOLDER`.
    meaning: its help. settings: more arguments of typer.Option."""
    *short, last = shown.split(", ")
    name, _, value = last.partition(" ")
    return typer.Option(*short, name, metavar=value or None, help=meaning, **settings)


def argument(shown: str, meaning: str, **settings: Any) -> Any:
    """An argument. shown: its name as in the line of usage, such as `[PATH...]`. The rest is as for
    `option`."""
    return typer.Argument(metavar=shown, help=meaning, show_default=False, **settings)
