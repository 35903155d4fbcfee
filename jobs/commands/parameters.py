"""Declares commands with their options and arguments, in the form in which --help shows them."""

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
COMMANDS: dict[type, tuple[str, str]] = {}
"""By the class of a command's options: the function that does the work, as `MODULE:NAME` with a
module of jobs, and the line in the overview."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def command(function: str, short_help: str) -> Callable[[type[_Options]], type[_Options]]:
    """Make a class the options of a command.

    The class becomes a dataclass, whose fields are the options as typer reads them, and whose
    docstring is the command's help. The command has the name of the class without `Options`.
    function, short_help: as in COMMANDS. The function takes the options and returns the exit code.
    Its module is imported when the command runs.
    """

    def declared(options: type[_Options]) -> type[_Options]:
        made: type[_Options] = dataclass(frozen=True, slots=True)(options)
        COMMANDS[made] = function, short_help
        return made

    return declared


def add(app: typer.Typer, options: type, heading: str | None = None) -> None:
    """Add the command with these options to an app, below a heading of its overview."""
    name = options.__name__.removesuffix("Options").lower()
    _, short_help = COMMANDS[options]
    app.command(name, cls=CommandPage, short_help=short_help, rich_help_panel=heading)(options)


def function_of(options: type) -> Callable[[Any], int]:
    """The function of the command with these options."""
    found: Callable[[Any], int] = resolve_name(f"jobs.{COMMANDS[options][0]}")
    return found


def run_command(options: object) -> int:
    """Run the command with these options. Returns its exit code."""
    return function_of(type(options))(options)


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
