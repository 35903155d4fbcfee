"""Runs stages in Spark's executors.

The units of a stage are divided among tasks: a heavy unit has a task of its own, and light units
share a task. A DataFrame has a row, and a partition, for each task. The row has only the units of
this task, so that the data for executors grows with the number of units, not with units times
tasks. Each task makes its units by the function that mapInArrow carries to it, and gives a row for
each unit. So a stage is one Spark job, and only DataFrames are used: the runner works by Spark
Connect, too.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from pipelines.runners.attempt import Attempted, attempt
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Result, Stage, Unit
from pipelines.spark.classic import described, parallelism
from pipelines.spark.session import settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Pack: TypeAlias = "list[tuple[int, Any]]"
"""The units of a task, with their numbers."""
_PACKS = pa.schema([("pack", pa.binary())])
_PARTITIONS = "spark.sql.leafNodeDefaultParallelism"
"""Spark's setting for the partitions of rows that the driver gives."""
_ATTEMPTED = pa.schema([("number", pa.int32()), ("attempted", pa.binary())])
_ATTEMPTED_DDL = "number int, attempted binary"
_LEAST_WEIGHT = 20_000
"""The least number of records that are worth a task of their own. A task costs some tens of
milliseconds."""
_TASKS_OF_A_CORE = 3
"""The number of tasks for each core where there are more units. With several, all cores finish at
about the same time."""


@dataclass
class SparkRunner(Runner):
    """Runs each stage as one Spark job."""

    spark: SparkSession
    """The session: of this process, or by Spark Connect."""

    @staticmethod
    def of(spark: SparkSession) -> SparkRunner:
        """The runner of a session."""
        cores = parallelism(spark)
        return SparkRunner(f"Spark {spark.version}, {cores} cores", cores, spark)

    def tasks_of(self, stage: Stage[Unit, Result], units: Sequence[Unit]) -> int:
        return len(self._packed(stage, units))

    def _attempted(self, stage: Stage[Unit, Result], units: Sequence[Unit]) -> Iterator[Attempted]:
        packs = self._packed(stage, units)
        work = partial(_work, function=stage.function)
        about = f"{stage.name}: {len(units)} units ({stage.grain})"
        with described(self.spark, about), self._tasks(packs) as tasks:
            rows = tasks.mapInArrow(work, _ATTEMPTED_DDL).toArrow()
        found = sorted(zip(rows["number"].to_pylist(), rows["attempted"].to_pylist(), strict=True))
        for _, attempted in found:
            yield pickle.loads(attempted)  # noqa: S301 - from our own tasks

    @contextmanager
    def _tasks(self, packs: Sequence[Pack]) -> Iterator[DataFrame]:
        """A DataFrame with a partition for each pack, for a query within this context."""
        held = pa.table({"pack": [pickle.dumps(pack) for pack in packs]}, _PACKS)
        with settings(self.spark, {_PARTITIONS: str(len(packs))}):
            yield self.spark.createDataFrame(held)

    def shuffle(
        self,
        spread: Stage[Unit, Any],
        units: Sequence[Unit],
        rows: pa.Schema,
        order: Sequence[str],
        walk: Stage[Any, Result],
        groups: Sequence[Any],
    ) -> list[Result]:
        """Spreads rows over groups by one shuffle of Spark, and gives the result of each group, in
        the order of `groups`.

        spread: a stage whose function gives batches of rows of a unit. rows: the schema of these
        rows; its column `group` has the index of the row's group, and it has a column of bytes.
        order: the columns by which the rows of a group are sorted. walk: a stage whose function
        takes a group and, as `rows`, an iterator of the batches of its rows. Raises the errors of
        `run`.
        """
        from pyspark.sql.pandas.types import from_arrow_schema

        function: Callable[..., Result] = walk.function
        packs = self._packed(spread, units)
        ddl = from_arrow_schema(rows, prefer_timestamp_ntz=False)
        spreading = partial(_spread, function=spread.function, schema=rows)
        walking = partial(_walk, function=function, groups=groups)
        started = time.monotonic()
        about = f"{walk.name}: {len(groups)} units ({walk.grain})"
        with described(self.spark, about), self._tasks(packs) as tasks:
            spread_out = tasks.mapInArrow(spreading, ddl).repartition(len(groups), "group")
            in_order = spread_out.sortWithinPartitions("group", *order)
            found = in_order.mapInArrow(walking, _ATTEMPTED_DDL).toArrow()
        results = self._results(found, len(groups))
        for one in results:
            if one.error is not None:
                raise one.error
        nothing: Iterator[pa.RecordBatch] = iter(())
        given = [
            function(group, rows=nothing) if one.result is None else one.result
            for group, one in zip(groups, results, strict=True)
        ]
        self.note(walk, given, len(packs) + len(groups), time.monotonic() - started)
        return given

    def _results(self, found: pa.Table, count: int) -> list[Attempted]:
        """The result of each unit; for a group without rows the result None. Where units failed,
        only the error of one of them."""
        known: dict[int, Attempted] = {}
        for attempted in found["attempted"].to_pylist():
            one: Attempted = pickle.loads(attempted)  # noqa: S301 - from our own tasks
            if one.error is not None:
                return [one]
            known[one.number] = one
        return [known.get(number, Attempted(number, None, None)) for number in range(count)]

    def _packed(self, stage: Stage[Unit, Result], units: Sequence[Unit]) -> list[Pack]:
        """The units of each task."""
        weights = [*map(stage.weight, units)]
        if max(weights) <= 1:  # the weights of units are unknown
            least = max(1, len(units) // (self.at_once * _TASKS_OF_A_CORE))
        else:
            least = max(_LEAST_WEIGHT, sum(weights) // (self.at_once * _TASKS_OF_A_CORE))
        packs: list[Pack] = [[]]
        size = 0
        for number, (unit, weight) in enumerate(zip(units, weights, strict=True)):
            if packs[-1] and size + weight > least:
                packs.append([])
                size = 0
            packs[-1].append((number, unit))
            size += weight
        return packs


def _work(
    batches: Iterator[pa.RecordBatch], *, function: Callable[[Any], Any]
) -> Iterator[pa.RecordBatch]:
    """Runs in a task: gives the result or error of each unit in the packs that the task gets."""
    for number, unit in _units(batches):
        yield _told(number, pickle.dumps(attempt(function, number, unit)))


def _units(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    for batch in batches:
        for pack in batch.column(0).to_pylist():
            yield from pickle.loads(pack)  # noqa: S301 - from our own driver


_FAILED = -1
"""The group of a row that has the error of a unit, in its first column of bytes."""


def _spread(
    batches: Iterator[pa.RecordBatch],
    *,
    function: Callable[[Any], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """Runs in a task: gives the rows of the units in the packs that the task gets, or a row with a
    unit's error."""
    for number, unit in _units(batches):
        tried = attempt(partial(_listed, function=function), number, unit)
        if tried.error is None:
            yield from tried.result
        else:
            yield _failed(tried, schema)


def _listed(
    unit: Any, *, function: Callable[[Any], Iterator[pa.RecordBatch]]
) -> list[pa.RecordBatch]:
    return [*function(unit)]


def _failed(tried: Attempted, schema: pa.Schema) -> pa.RecordBatch:
    row = {"group": _FAILED, _of_bytes(schema): pickle.dumps(tried)}
    return pa.RecordBatch.from_pylist([row], schema)


def _of_bytes(schema: pa.Schema) -> str:
    """The name of the first column of bytes."""
    return str(next(field.name for field in schema if pa.types.is_binary(field.type)))


def _walk(
    batches: Iterator[pa.RecordBatch],
    *,
    function: Callable[..., Any],
    groups: Sequence[Any],
) -> Iterator[pa.RecordBatch]:
    """Runs in a task: walks over the rows of each group that it gets."""
    for number, rows in groupby(_of_one_group(batches), itemgetter(0)):
        if number == _FAILED:
            for _, batch in rows:
                yield _told(_FAILED, batch.column(_of_bytes(batch.schema))[0].as_py())
            continue
        of_group = (batch for _, batch in rows)
        tried = attempt(partial(function, rows=of_group), number, groups[number])
        yield _told(number, pickle.dumps(tried))


def _told(number: int, attempted: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"number": [number], "attempted": [attempted]}, _ATTEMPTED)


def _of_one_group(
    batches: Iterator[pa.RecordBatch],
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(group, batch): the batches, cut so that each has rows of only one group."""
    for batch in batches:
        groups = batch.column("group").to_numpy()
        cuts = [0, *(np.flatnonzero(groups[1:] != groups[:-1]) + 1).tolist(), len(groups)]
        for start, end in pairwise(cuts):
            if start < end:
                yield int(groups[start]), batch.slice(start, end - start)
