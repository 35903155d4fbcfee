"""Every version of every metadata record as a program (replica.message.program)."""

from __future__ import annotations

from functools import cache

from replica.message.program import Program, compile_program
from replica.metadata.records import RECORDS_BY_KEY


@cache
def programs() -> tuple[Program, ...]:
    """All programs, by rising api key and version."""
    return tuple(
        compile_program(schema, version)
        for _, schema in sorted(RECORDS_BY_KEY.items())
        for version in schema.versions
    )
