"""Where a lake's other job must end first: what is said, and what is looked at then."""

from __future__ import annotations

from collections.abc import Callable

from jobs.output import complain
from pipelines.forgetting import refuse_half_forgotten
from pipelines.schema_version import check_schema_version


def waiting(job: str, lake: str) -> Callable[[], None]:
    """For pipelines.lake_lock: tells on stderr that `job` waits."""
    return lambda: complain(f"{job}: another job is at work on {lake}: waiting for it to end")


def check_whole(lake: str) -> None:
    """UsageError where the lake is of another version, or half forgotten. For whoever writes to it,
    behind the wait: the other job may have been killed."""
    check_schema_version(lake)
    refuse_half_forgotten(lake)
