"""Metadata records back from Kafka's JSON, in which the tables keep records. Of a record with a
secret they keep nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from replica.errors import UnsupportedDataError
from replica.message.plain_reader import read_plain
from replica.message.program import Program
from replica.metadata.programs import programs
from replica.metadata.record import MetadataRecord


def from_plain(type_name: str, version: int, data: Mapping[str, Any]) -> MetadataRecord:
    """The record of the named type with these fields; names that its version lacks are ignored.

    Raises UnsupportedDataError for a type or version that this release doesn't know, and
    CorruptDataError for a field that is missing or of another type.
    """
    program = _programs().get((type_name, version))
    if program is None:
        raise UnsupportedDataError(
            f"{type_name} version {version} is unknown to this release of kraftlake", 0
        )
    return MetadataRecord(program.schema, version, read_plain(program, data))


@cache
def _programs() -> dict[tuple[str, int], Program]:
    return {(program.schema.name, program.version): program for program in programs()}
