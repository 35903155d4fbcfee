"""Ingests the captures of an interval into the lake, with a task for each capture of each cluster.

The replicas of a capture stay in one task, because the lake compares what was captured together. A
backfill ingests the captures of its intervals in any order, and the lake places each by its time.
Directories of running nodes have no past, so a backfill leaves them out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import kraftlake_settings as settings
from airflow.sdk import DAG, ObjectStoragePath, Param, task
from airflow.sdk.exceptions import AirflowFailException
from kraftlake_jobs import KraftlakeJob, dag_defaults, job_run_id

_PARAMS = {
    "cluster": Param(None, type=["null", "string"], description="Only this cluster."),
    "reach_minutes": Param(
        30,
        type="integer",
        minimum=0,
        description="How far before the interval captures may begin, so that the next run finds a "
        "capture that was being taken when the last run looked. Nothing is stored twice.",
    ),
}


@task
def captures(**context: Any) -> list[list[str]]:
    """Arguments of `kraftlake ingest` for each capture of the interval, oldest first."""
    wanted, run = context["params"]["cluster"], context["dag_run"]
    clusters = settings.clusters()
    if not clusters or (wanted and wanted not in clusters):
        raise AirflowFailException(
            f"the Variable kraftlake_clusters has no cluster{f' {wanted}' if wanted else ''}: "
            'set it, such as {"orders": {"captures": "/captures/orders"}}'
        )
    reach = timedelta(minutes=context["params"]["reach_minutes"])
    start, end = context["data_interval_start"] - reach, context["data_interval_end"]
    found: list[list[str]] = []
    for name, source in clusters.items():
        if wanted in (None, name):
            found += [[path] for path in captured_between(source.get("captures"), start, end)]
            if source.get("replicas") and run.run_type != "backfill":
                found.append(source["replicas"])
    lake = settings.lake()
    return [
        ["--lake", lake, "--accept-damage", "--run-id", job_run_id(run, "ingest", *paths), *paths]
        for paths in found
    ]


def captured_between(archive: str | None, start: datetime, end: datetime) -> Iterator[str]:
    """The places of the finished captures in an archive whose times are in [start, end), oldest
    first."""
    if archive is None:
        return
    root = ObjectStoragePath(archive) if "://" in archive else Path(archive)
    found = []
    for folder in root.iterdir():
        about = folder / "capture.json"
        if about.exists() and start <= (captured_at := _captured_at(about)) < end:
            found.append((captured_at, f"{archive.rstrip('/')}/{folder.name}"))
    yield from (path for _, path in sorted(found))


def _captured_at(about: Any) -> datetime:
    try:
        return datetime.fromisoformat(json.loads(about.read_text())["captured_at"])
    except (ValueError, KeyError, TypeError) as error:
        raise AirflowFailException(
            f"{about}: not what `kraftlake capture` writes: restore it, or move its folder away"
        ) from error


with DAG(
    "kraftlake_ingest",
    schedule=settings.timetable("INGEST", "0 * * * *"),
    doc_md=__doc__,
    params=_PARAMS,
    **dag_defaults(),
):
    KraftlakeJob.partial(
        task_id="ingest",
        job="ingest",
        outlets=[settings.BRONZE],
        max_active_tis_per_dag=1,  # ingests of one lake would wait for each other
        map_index_template="{{ task.application_args[-1] }}",
    ).expand(application_args=captures())
