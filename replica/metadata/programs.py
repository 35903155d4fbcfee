"""Every version of every metadata record as a program (replica.message.program)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from replica.message.program import Program, compile_program
from replica.metadata.records import RECORDS_BY_KEY

Made = TypeVar("Made")


@cache
def programs() -> tuple[Program, ...]:
    """All programs, by rising api key and version."""
    return tuple(
        compile_program(schema, version)
        for _, schema in sorted(RECORDS_BY_KEY.items())
        for version in schema.versions
    )


def by_key(make: Callable[[Program], Made]) -> dict[tuple[int, int], Made]:
    """The result of `make` for each program, by (api key, version)."""
    return {(each.schema.api_key, each.version): make(each) for each in programs()}
