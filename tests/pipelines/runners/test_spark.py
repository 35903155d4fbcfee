"""Units done by tasks of Spark give what they give in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.runners.attempt import TaskError
from pipelines.runners.local import LocalRunner
from pipelines.runners.spark import SparkRunner
from pipelines.runners.stage import Grain, Stage
from replica.errors import CorruptDataError, UnreadableFileError, UsageError

pytestmark = pytest.mark.spark


def staged(function: Callable[[Any], Any], weight: Callable[[Any], int] = lambda _: 1) -> Any:
    return Stage("test", Grain.CLUSTER, function, weight=weight)


@pytest.fixture
def runner(spark: SparkSession) -> SparkRunner:
    return SparkRunner.of(spark)


def test_results_come_in_the_order_of_the_units_and_from_other_processes(
    runner: SparkRunner,
) -> None:
    units = [*range(50), 7, 3]
    stage = staged(lambda number: (number * number, os.getpid()))
    found, here = runner.run(stage, units), LocalRunner(at_once=1).run(stage, units)
    assert [result for result, _ in found] == [result for result, _ in here]
    assert os.getpid() not in {process for _, process in found}
    assert runner.run(stage, []) == []


def test_light_units_share_a_task_and_heavy_ones_have_their_own(runner: SparkRunner) -> None:
    weights = [10, 10, 10, 500_000, 10, 500_000]
    stage = staged(lambda weight: weight, weight=lambda weight: weight)
    packs = runner._packed(stage, weights)
    assert [[number for number, _ in pack] for pack in packs] == [[0, 1, 2], [3], [4], [5]]
    assert runner.run(stage, weights) == weights
    assert runner.ran[-1].tasks == len(packs)
    assert runner.ran[-1].units == len(weights)
    many = runner._packed(staged(lambda _: 0), [*range(1000)])
    assert 2 <= len(many) <= 2 * 3 * runner.at_once
    assert [number for pack in many for number, _ in pack] == [*range(1000)]


def test_a_task_is_sent_its_own_units_and_no_others(runner: SparkRunner) -> None:
    """Where each task gets all units, their bytes grow with units times tasks."""
    units = [f"unit {number}" for number in range(40)]
    stage = staged(_held)
    packs = runner._packed(stage, units)
    assert len(packs) > 2
    tasks = {number for number, _ in runner.run(stage, units)}
    assert len(tasks) == len(packs), "a task does the units of one pack"
    with runner._tasks(packs) as sent:
        held = [[len(row) for row in rows] for rows in sent.rdd.glom().collect()]
    assert held == [[1]] * len(packs)
    assert runner.spark.conf.get("spark.sql.leafNodeDefaultParallelism", None) is None


def _held(unit: str) -> tuple[int, str]:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.partitionId(), unit


def test_units_that_are_done_are_told_in_their_order(runner: SparkRunner) -> None:
    done: list[int] = []
    runner.run(staged(lambda one: -one), [3, 1, 2], done.append)
    assert done == [3, 1, 2]


def _raising(error: Exception) -> Callable[[int], Any]:
    def fail(number: int) -> int:
        if number in (5, 9):
            raise error
        return number

    return fail


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (UsageError("5 is refused"), UsageError, "^5 is refused$"),
        (UnreadableFileError("x.log", "gone"), UnreadableFileError, r"^x\.log: gone$"),
        (CorruptDataError("rows break it"), CorruptDataError, "^rows break it$"),
        (OSError(28, "no space"), OSError, "no space"),
        (KeyError("k"), TaskError, "^KeyError: 'k'$"),
    ],
)
def test_the_error_of_a_unit_is_the_callers_as_in_this_process(
    runner: SparkRunner, error: Exception, kind: type[Exception], text: str
) -> None:
    stage = staged(_raising(error))
    for one in (runner, LocalRunner(at_once=1)):
        with pytest.raises(kind, match=text) as caught:
            one.run(stage, [*range(12)])
        assert type(caught.value) is kind
        assert one.ran == []


def test_a_job_in_sparks_ui_is_described_by_its_stage(
    spark: SparkSession, runner: SparkRunner
) -> None:
    runner.run(staged(lambda one: one), [1, 2])
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None
