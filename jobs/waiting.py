"""What is said where a lake's other job must end first."""

from __future__ import annotations

from collections.abc import Callable

from jobs.output import complain


def waiting(job: str, lake: str) -> Callable[[], None]:
    """For pipelines.lake_lock: tells on stderr that `job` waits."""
    return lambda: complain(f"{job}: another job is at work on {lake}: waiting for it to end")
