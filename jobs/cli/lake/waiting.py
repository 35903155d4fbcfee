"""Checks before a job writes to a lake, and the line that says that a job waits."""

from __future__ import annotations

from collections.abc import Callable

from jobs.cli.output import complain
from pipelines.lake import Lake
from pipelines.lake.folder import check_writable
from pipelines.lake.forgetting import refuse_half_forgotten
from pipelines.lake.schema_version import check_schema_version


def check_ready(lake: Lake, *schemas: str) -> None:
    """Check that a job can run that always starts Spark, before it writes anything.

    schemas: those of the tables that the job writes. Raises UsageError where Spark can't start, for
    example because there is no Java, and UnwritableFileError where this user can't write to the
    lake.
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
