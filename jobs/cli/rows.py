"""Runs a command for a program in Python, which gets the objects of --json as values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from typer.main import get_command

from jobs.cli.commands.parameters import run_command
from jobs.cli.main import app
from jobs.cli.output import kept_rows
from replica.errors import UsageError

Value = str | int | bool | Iterable[str] | None
"""The value of an option: True for an option without a value, several texts for an option that is
given several times; None or False to leave the option out."""


def rows_of(
    command: str, paths: Iterable[str | os.PathLike[str]], options: Mapping[str, Value]
) -> list[dict[str, Any]]:
    """The objects of the command's lines of JSON.

    options: by their long names, with _ for -. Raises UsageError for an unknown command or option,
    and the command's own errors.
    """
    words = [command, "--json", *_words(options), "--", *(os.fspath(path) for path in paths)]
    try:
        asked = get_command(app)(args=words, prog_name="kraftlake", standalone_mode=False)
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's errors have no public base class
            text = " ".join(str(error.format_message()).split())
            raise UsageError(f"{command}: {text}") from None
        raise
    with kept_rows() as rows:
        run_command(asked)
    return rows


def _words(options: Mapping[str, Value]) -> Iterator[str]:
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            yield option
        elif value is not None and value is not False:
            texts = (str(value),) if isinstance(value, str | int) else value
            yield from (f"{option}={text}" for text in texts)
