"""Chooses and opens the runner of a job's stages: Spark's executors, or processes of this machine.
This module also has the checks before a job writes to a lake, and prints the line that says that
the job waits."""

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
from collections.abc import Callable

from pipelines.lake.folder import check_writable
from pipelines.lake.forgetting import refuse_half_forgotten
from pipelines.lake.schema_version import check_schema_version

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
    job: str,
    lake: Lake,
    option: str | None,
    spark: SparkSession | None = None,
    say: Callable[[str], None] = complain,
) -> Iterator[Runner]:
    """Opens the runner of a job's stages; `say` gets a line that names it. The executors of `spark`
    run the stages. Where `spark` is None, the option --engine, the variable KRAFTLAKE_ENGINE or
    spark-submit decides which engine runs them.

    Raises UsageError for an unknown engine, and where Spark can't start.
    """
    from pipelines.runners.local import LocalRunner

    if spark is not None or chosen_engine(option) is Engine.SPARK:
        from pipelines.runners.spark import SparkRunner

        runner = SparkRunner.of(spark or started_spark(job, lake))
        say(f"{job}: by {runner.name}")
        yield runner
        _keep(runner)
        return
    with LocalRunner() as local:
        say(f"{job}: by the local engine ({local.at_once} cores)")
        yield local
        _keep(local)


def _keep(runner: Runner) -> None:
    ran = _RAN.get()
    if ran is not None:
        ran += runner.ran


def check_ready(lake: Lake, *schemas: str) -> None:
    """Checks, before it writes anything, that a job that always starts Spark can run.

    schemas: the schemas of the tables that the job writes. Raises UsageError where Spark can't
    start, for example because there is no Java, and UnwritableFileError where this user can't write
    to the lake.
    """
    from pipelines.spark.session import check_startable

    check_writable(lake, schemas)
    check_startable()


def waiting(job: str, lake: Lake) -> Callable[[], None]:
    """A function for pipelines.lake.lock. It says on stderr that `job` waits for another job."""
    return lambda: complain(f"{job}: another job is at work on {lake}: waiting for it to end")


def check_whole(lake: Lake) -> None:
    """Raises UsageError where the lake has another schema version, or where a `forget` did not
    finish.

    A job that writes calls this when it holds the lock, because the job before it may have been
    killed.
    """
    check_schema_version(lake)
    refuse_half_forgotten(lake)
