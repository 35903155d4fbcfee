"""Runs stages in Spark's executors.

The units of a stage are divided among tasks: a heavy unit has a task of its own, and light ones
share one. Each task gets its number from a DataFrame, makes its units by the function that
mapInArrow carries to it, and gives a row for each. So a stage is one Spark job, and only DataFrames
are used: the runner works by Spark Connect, too.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.runners.attempt import Attempted, attempt
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Result, Stage, Unit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ATTEMPTED = pa.schema([("number", pa.int32()), ("attempted", pa.binary())])
_ATTEMPTED_DDL = "number int, attempted binary"
_LEAST_WEIGHT = 20_000
"""How many records are worth a task of their own, which costs some tens of milliseconds."""
_TASKS_OF_A_CORE = 3
"""How many tasks each core gets where there are more units: the last ones end at about one time."""


@dataclass
class SparkRunner(Runner):
    """Runs each stage as one Spark job. spark: of this process or by Spark Connect."""

    spark: SparkSession

    @staticmethod
    def of(spark: SparkSession) -> SparkRunner:
        """The runner of a session."""
        cores = _parallelism(spark)
        return SparkRunner(f"Spark {spark.version}, {cores} cores", cores, spark)

    def tasks_of(self, stage: Stage[Unit, Result], units: Sequence[Unit]) -> int:
        return len(self._packed(stage, units))

    def _attempted(self, stage: Stage[Unit, Result], units: Sequence[Unit]) -> Iterator[Attempted]:
        packs = self._packed(stage, units)
        work = partial(_work, function=stage.function, packs=packs)
        tasks = self.spark.range(0, len(packs), 1, len(packs))
        with _described(self.spark, f"{stage.name}: {len(units)} units ({stage.grain})"):
            rows = tasks.mapInArrow(work, _ATTEMPTED_DDL).toArrow()
        found = sorted(zip(rows["number"].to_pylist(), rows["attempted"].to_pylist(), strict=True))
        for _, attempted in found:
            yield pickle.loads(attempted)  # noqa: S301 - from our own tasks

    def _packed(
        self, stage: Stage[Unit, Result], units: Sequence[Unit]
    ) -> list[list[tuple[int, Unit]]]:
        """The units of each task, with their numbers."""
        weights = [*map(stage.weight, units)]
        if max(weights) <= 1:  # units that don't tell their weight
            least = max(1, len(units) // (self.at_once * _TASKS_OF_A_CORE))
        else:
            least = max(_LEAST_WEIGHT, sum(weights) // (self.at_once * _TASKS_OF_A_CORE))
        packs: list[list[tuple[int, Unit]]] = [[]]
        size = 0
        for number, (unit, weight) in enumerate(zip(units, weights, strict=True)):
            if packs[-1] and size + weight > least:
                packs.append([])
                size = 0
            packs[-1].append((number, unit))
            size += weight
        return packs


def _work(
    batches: Iterator[pa.RecordBatch],
    *,
    function: Callable[[Any], Any],
    packs: Sequence[Sequence[tuple[int, Any]]],
) -> Iterator[pa.RecordBatch]:
    """Runs in a task: does the units of the packs whose numbers it gets."""
    for batch in batches:
        for pack in batch.column(0).to_pylist():
            for number, unit in packs[pack]:
                told = pickle.dumps(attempt(function, number, unit))
                yield pa.RecordBatch.from_pydict(
                    {"number": [number], "attempted": [told]}, _ATTEMPTED
                )


def _parallelism(spark: SparkSession) -> int:
    """How many tasks run side by side."""
    told = spark.conf.get("spark.kraftlake.parallelism", None)
    if told is not None:
        return int(told)
    with suppress(Exception):  # Spark Connect has no context
        return int(spark.sparkContext.defaultParallelism)
    return int(spark.conf.get("spark.default.parallelism", "2") or 2)


@contextmanager
def _described(spark: SparkSession, text: str) -> Iterator[None]:
    """The Spark jobs of this context have a description in Spark's UI and event log."""
    try:
        context = spark.sparkContext
    except Exception:  # noqa: BLE001 - Spark Connect has no context
        spark.addTag("kraftlake")
        yield
        spark.removeTag("kraftlake")
        return
    context.setJobDescription(text)
    try:
        yield
    finally:
        context.setJobDescription(None)  # type: ignore[arg-type]
