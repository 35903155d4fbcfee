"""The events around a job: `with job_events("build", lake, warn) as run_id:`.

Events are off unless one of these settings names a place for them; the first one that is set
counts: KRAFTLAKE_LINEAGE, a file; the settings of OpenLineage's own clients, which are variables
OPENLINEAGE_*, or ~/.openlineage/openlineage.yml; [lineage] file of conf/kraftlake.toml.
OPENLINEAGE_DISABLED=true turns all events off.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from pipelines.lake import Lake
from pipelines.lineage.settings import wanted_transport

if TYPE_CHECKING:
    from pipelines.lineage.events import Events

_Told = TypeVar("_Told")


@contextmanager
def job_events(
    job: str,
    lake: Lake,
    warn: Callable[[str], None],
    *,
    paths: Sequence[str] = (),
    tables: str | None = None,
    writes: Sequence[str] = (),
    run_id: str | None = None,
) -> Iterator[str]:
    """Sends OpenLineage an event when the job begins, and another with its outcome when it ends.
    Gives the run's id, a UUID.

    run_id: given where the caller has an id for the run, as schedulers do. paths: files, folders or
    URIs that the job reads. tables: the table that it reads, or the layer whose tables it reads.
    writes: files, folders or URIs that it writes besides the lake's tables. Where no transport is
    configured, nothing is imported or read. An error with events becomes one line for `warn`, and
    the job goes on.
    """
    run_id = run_id or str(uuid.uuid4())
    file = wanted_transport()
    if file is None:
        yield run_id
        return

    def begin() -> Events:
        from pipelines.lineage.events import Events

        return Events(job, run_id, lake, file, paths, tables)

    events, failure = _attempted(begin, warn), None
    try:
        yield run_id
    except BaseException as error:
        failure = f"{type(error).__name__}: {error}"
        raise
    finally:
        if events is not None:
            _attempted(lambda: events.end(writes, failure), warn)


def _attempted(tell: Callable[[], _Told], warn: Callable[[str], None]) -> _Told | None:
    """The result of `tell`. Where `tell` raises an error: None, and a line for `warn`."""
    try:
        return tell()
    except Exception as error:  # noqa: BLE001 - of any transport; the job goes on
        first = (str(error).splitlines() or [""])[0]
        warn(f"lineage: {type(error).__name__}: {first}; the job goes on without events")
        return None
