"""Checks that a job makes before it writes to a lake, and the line that says that it waits."""

from __future__ import annotations

from collections.abc import Callable

from jobs.output import complain
from pipelines.lake import Lake
from pipelines.lake.folder import check_writable
from pipelines.lake.forgetting import refuse_half_forgotten
from pipelines.lake.schema_version import check_schema_version


def check_ready(lake: Lake, *schemas: str) -> None:
    """Raises what would end a job that always starts Spark, before the job writes anything.

    schemas: of the tables that the job writes. UsageError: Spark can't start here, for example for
    want of Java. UnwritableFileError: this user can't write to the lake.
    """
    from pipelines.session import check_startable

    check_writable(lake, schemas)
    check_startable()


def waiting(job: str, lake: Lake) -> Callable[[], None]:
    """A function for pipelines.lake.lock, which says on stderr that `job` waits for another job."""
    return lambda: complain(f"{job}: another job is at work on {lake}: waiting for it to end")


def check_whole(lake: Lake) -> None:
    """UsageError where the lake is of another schema version, or where a `forget` did not end.

    A job that writes asks this once it holds the lock, because the job before it may have been
    killed.
    """
    check_schema_version(lake)
    refuse_half_forgotten(lake)
