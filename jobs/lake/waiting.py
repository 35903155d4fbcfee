"""What a job that writes to a lake asks and says before it begins, and behind another job."""

from __future__ import annotations

from collections.abc import Callable

from jobs.output import complain
from pipelines.lake import Lake
from pipelines.lake.folder import check_writable
from pipelines.lake.forgetting import refuse_half_forgotten
from pipelines.lake.schema_version import check_schema_version


def check_ready(lake: Lake, *schemas: str) -> None:
    """Raises before anything is written, and before Spark starts, what would end the job later.

    schemas: of the tables that the job writes. UsageError: Spark can't start here, for example for
    want of Java. UnwritableFileError: this user can't write to the lake.
    """
    from pipelines.session import check_startable

    check_writable(lake, schemas)
    check_startable()


def waiting(job: str, lake: Lake) -> Callable[[], None]:
    """For pipelines.lake.lock: tells on stderr that `job` waits."""
    return lambda: complain(f"{job}: another job is at work on {lake}: waiting for it to end")


def check_whole(lake: Lake) -> None:
    """UsageError where the lake is of another version, or half forgotten. For whoever writes to it,
    behind the wait: the other job may have been killed."""
    check_schema_version(lake)
    refuse_half_forgotten(lake)
