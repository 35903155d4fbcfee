"""What a job that writes to a lake asks and says before it begins, and behind another job."""

from __future__ import annotations

from collections.abc import Callable

from jobs.output import complain
from pipelines.forgetting import refuse_half_forgotten
from pipelines.lake_folder import check_writable
from pipelines.schema_version import check_schema_version


def check_ready(lake: str, *schemas: str) -> None:
    """What would end the job once Spark has started, told before it does and before anything is
    written. schemas: of the tables that the job writes.

    UsageError: Spark can't start here (no Java). UnwritableFileError: this user can't write there.
    """
    from pipelines.session import check_startable

    check_writable(lake, schemas)
    check_startable()


def waiting(job: str, lake: str) -> Callable[[], None]:
    """For pipelines.lake_lock: tells on stderr that `job` waits."""
    return lambda: complain(f"{job}: another job is at work on {lake}: waiting for it to end")


def check_whole(lake: str) -> None:
    """UsageError where the lake is of another version, or half forgotten. For whoever writes to it,
    behind the wait: the other job may have been killed."""
    check_schema_version(lake)
    refuse_half_forgotten(lake)
