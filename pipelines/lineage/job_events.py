"""The events around a job: `with job_events("build", lake, warn) as run_id:`.

Events are off unless one of these settings names a place for them; the first one that is set
counts: KRAFTLAKE_LINEAGE, a file; the settings of OpenLineage's own clients, which are variables
OPENLINEAGE_*, or openlineage.yml here or in ~/.openlineage; [lineage] file of conf/kraftlake.toml.
OPENLINEAGE_DISABLED=true turns all events off.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pipelines.conf_files import conf_directory, read_defaults
from pipelines.lake import Lake

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
    """Tells OpenLineage that the job begins and how it ended. Gives the run's id, a UUID.

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
    """The result of the function; None where it failed."""
    try:
        return tell()
    except Exception as error:  # noqa: BLE001 - of any transport; the job goes on
        first = (str(error).splitlines() or [""])[0]
        warn(f"lineage: {type(error).__name__}: {first}; the job goes on without events")
        return None


FILE_VARIABLE = "KRAFTLAKE_LINEAGE"
_CONFIG = "openlineage.yml"


def wanted_transport() -> str | None:
    """The file to which events are appended; "" where OpenLineage's own settings name the place;
    None where events are off. Raises UsageError where conf/kraftlake.toml has an error."""
    if os.environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return None
    named = os.environ.get(FILE_VARIABLE)
    if named:
        return named
    if _has_own_settings():
        return ""
    return read_defaults(conf_directory()).lineage_file


def _has_own_settings() -> bool:
    if os.environ.get("OPENLINEAGE_URL") or os.environ.get("OPENLINEAGE_CONFIG"):
        return True
    if any(name.startswith("OPENLINEAGE__TRANSPORT") for name in os.environ):
        return True
    folders = (Path.cwd(), Path.home() / ".openlineage")
    return any((folder / _CONFIG).is_file() for folder in folders)
