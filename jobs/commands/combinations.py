"""Which options may be given together. An option that would be ignored is refused."""

from __future__ import annotations

from collections.abc import Mapping

from replica.errors import UsageError

Given = Mapping[str, object]
"""Values by the names of their options. An option that is not given has None, False or no
values."""


def exclusive(options: Given) -> None:
    """Raises UsageError, which names the first two of the options, where more than one is given."""
    given = _given(options)
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other: take one")


def alone(option: str, value: object, others: Given) -> None:
    """Raises UsageError where the option is given together with one of the others."""
    for other, value_of_other in others.items():
        exclusive({option: value, other: value_of_other})


def needs(option: str, value: object, dependent: Given) -> None:
    """Raises UsageError, which names the first of the dependent options that is given without the
    option."""
    given = _given(dependent)
    if given and not _given({option: value}):
        raise UsageError(f"{given[0]} goes with {option}")


def form_of(json_output: bool, csv: bool, plain_csv: bool) -> str:
    """text, or the one form that the options ask for. Raises UsageError where they ask for two."""
    from jobs.asking.query_result import CSV, PLAIN_CSV

    exclusive({"--json": json_output, "--csv": csv, "--plain-csv": plain_csv})
    return "json" if json_output else CSV if csv else PLAIN_CSV if plain_csv else "text"


def unless(default: object, value: object) -> object:
    """The value. None where it is the option's default."""
    return None if value == default else value


def _given(options: Given) -> list[str]:
    return [
        name
        for name, value in options.items()
        if value is not None and value is not False and value not in ([], ())
    ]
