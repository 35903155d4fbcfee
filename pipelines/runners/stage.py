"""A stage of the pipeline: a function, and the kind of unit that it works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

Unit = TypeVar("Unit")
Result = TypeVar("Result")


class Grain(StrEnum):
    """What one unit of a stage is."""

    DIRECTORY = "directory"
    FILE_RANGE = "file range"
    OFFSETS = "offsets"
    BRANCH_RANGE = "branch range"
    CLUSTER = "cluster"
    BUCKET = "bucket"
    ROUND = "round"
    TABLE = "table"


def _one(_: Any) -> int:
    return 1


@dataclass(frozen=True)
class Stage(Generic[Unit, Result]):
    """A step of the pipeline that is done in units, each by one task."""

    name: str
    """The name in the summary and in Spark's UI."""
    grain: Grain
    """What a unit of the stage is, such as a cluster or a file."""
    function: Callable[[Unit], Result]
    """Makes the result of a unit. It runs in any process of any machine, so the function, its units
    and its results can be pickled. Units and results are small; rows go into files."""
    reads: tuple[str, ...] = ()
    """The names of the tables that the stage reads."""
    writes: tuple[str, ...] = ()
    """The names of the tables that the stage writes."""
    weight: Callable[[Unit], int] = _one
    """The amount of work of a unit, in records."""
    in_threads: bool = False
    """Whether the function works in code that frees Python's lock, so that threads can share the
    work."""
