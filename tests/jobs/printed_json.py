"""Compares each line that a command prints with --json in a test with the
schema of that command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator

from jobs.cli.schemas import schemas

MOST_LINES = 200
"""The most lines of a long answer that are compared, and in addition the last line."""


@cache
def _validators() -> dict[str, Draft202012Validator]:
    return {name: Draft202012Validator(schema) for name, schema in schemas().items()}


def command_of(words: Sequence[str]) -> str:
    """The words that name the command, such as `replica describe`."""
    return " ".join(words[:2]) if words[0] == "replica" else words[0]


def breach(words: Sequence[str], output: str) -> str:
    """What is wrong with the first line that the schema doesn't allow; empty where all lines are
    right."""
    validator, lines = _validators()[command_of(words)], output.splitlines()
    for line in (*islice(lines, MOST_LINES), *lines[MOST_LINES:][-1:]):
        value = json.loads(line)
        if not validator.is_valid(value):
            return f"{command_of(words)}: {line[:500]}: {_why(validator, value)}"
    return ""


def _why(validator: Draft202012Validator, value: Any) -> str:
    errors = list(validator.iter_errors(value))
    return "; ".join(each.message[:300] for error in errors for each in error.context or [error])
