"""A function over parts of the work: run by Spark's tasks, or in this process.

Where the parts are small, Spark takes longer to hand them out than they take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Part = TypeVar("Part")
Result = TypeVar("Result")


class Tasks(Protocol):
    """Where a function runs. It and the parts are pickled where that is another process."""

    @property
    def at_once(self) -> int:
        """Parts that run side by side."""

    def map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """The results in the order of the parts."""


@dataclass(frozen=True)
class Here:
    """One part after another, in this process."""

    at_once: int = 1

    def map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """The results in the order of the parts."""
        return [function(part) for part in parts]


@dataclass(frozen=True)
class OnSpark:
    """Each part in a task of its own."""

    spark: SparkSession

    @property
    def at_once(self) -> int:
        """Spark's cores."""
        return self.spark.sparkContext.defaultParallelism

    def map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """The results in the order of the parts."""
        if not parts:
            return []
        return self.spark.sparkContext.parallelize(parts, len(parts)).map(function).collect()
