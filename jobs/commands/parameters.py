"""An option or an argument of a command, written as its help shows it."""

from __future__ import annotations

from typing import Any

import typer

Text = str | None
Texts = list[str] | None
Number = int | None


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
