"""The runner of a job's stages: in Spark's executors, or in processes of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from jobs.cli.interrupts import started_spark
from jobs.cli.output import complain
from pipelines.lake import Lake
from pipelines.runners.chosen import Engine, chosen_engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.runners.runner import Runner, StageRun


_RAN: ContextVar[list[StageRun] | None] = ContextVar("ran", default=None)


@contextmanager
def stage_runs() -> Iterator[list[StageRun]]:
    """The stages that jobs run within this context, in their order."""
    ran: list[StageRun] = []
    token = _RAN.set(ran)
    try:
        yield ran
    finally:
        _RAN.reset(token)


@contextmanager
def runner_of(
    job: str, lake: Lake, option: str | None, spark: SparkSession | None = None
) -> Iterator[Runner]:
    """Opens the runner of a job's stages; a line on stderr names it. The executors of `spark` run
    the stages. Where `spark` is None, the option --engine, the variable KRAFTLAKE_ENGINE or
    spark-submit says which engine does.

    Raises UsageError for another engine, and where Spark can't start.
    """
    from pipelines.runners.local import LocalRunner

    if spark is not None or chosen_engine(option) is Engine.SPARK:
        from pipelines.runners.spark import SparkRunner

        runner = SparkRunner.of(spark or started_spark(job, lake))
        complain(f"{job}: by {runner.name}")
        yield runner
        _keep(runner)
        return
    with LocalRunner() as local:
        complain(f"{job}: by the local engine ({local.at_once} cores)")
        yield local
        _keep(local)


def _keep(runner: Runner) -> None:
    ran = _RAN.get()
    if ran is not None:
        ran += runner.ran
