"""Which options may be given together. An option that would be ignored is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from jobs.cli.commands.parameters import shown_name
from replica.errors import UsageError

Given = Mapping[str, object]
"""Values by the names of their options. An option that is not given has None, False or no
values."""


def given_options(options: object, *names: str) -> Given:
    """The values of some options of a command, by their names on the command line.

    names: the fields of these options. An option whose value is its default counts as not given, so
    that its value is None here.
    """
    defaults = {one.name: one.default for one in fields(options)}  # type: ignore[arg-type]
    values = {name: getattr(options, name) for name in names}
    return {
        shown_name(type(options), name): None if value == defaults[name] else value
        for name, value in values.items()
    }


def exclusive(options: Given) -> None:
    """Raises UsageError, which names the first two of the options, where more than one is given."""
    found = _names_given(options)
    if len(found) > 1:
        raise UsageError(f"{found[0]} and {found[1]} exclude each other: take one")


def alone(option: str, value: object, others: Given) -> None:
    """Raises UsageError where the option is given together with one of the others."""
    for other, value_of_other in others.items():
        exclusive({option: value, other: value_of_other})


def needs(option: str, value: object, dependent: Given) -> None:
    """Raises UsageError, which names the first of the dependent options that is given without the
    option."""
    found = _names_given(dependent)
    if found and not _names_given({option: value}):
        raise UsageError(f"{found[0]} goes with {option}")


def form_of(json_output: bool, csv: bool, plain_csv: bool) -> str:
    """The form that the options ask for: json, csv, plain csv, or text without any of them. Raises
    UsageError where they ask for two forms."""
    from jobs.cli.asking.query_result import CSV, PLAIN_CSV

    exclusive({"--json": json_output, "--csv": csv, "--plain-csv": plain_csv})
    return "json" if json_output else CSV if csv else PLAIN_CSV if plain_csv else "text"


def _names_given(options: Given) -> list[str]:
    return [
        name
        for name, value in options.items()
        if value is not None and value is not False and value not in ([], ())
    ]
