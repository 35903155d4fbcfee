"""Ingests the captures of an interval into the lake: one Spark application for all clusters.

The job stores the captures one after another, in the order of their times. The lake is therefore
the same as after one ingest per capture. Spark's executors share the files of each capture. A
backfill ingests the captures of its intervals in any order, and the lake places each by its time. A
backfill doesn't read the directories of running nodes, because they show only the present.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import kraftlake_settings as settings
from airflow.sdk import DAG, ObjectStoragePath, Param, task
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from kraftlake_jobs import KraftlakeJob, dag_defaults, job_run_id

_LOG = logging.getLogger(__name__)
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
def captures(**context: Any) -> list[str]:
    """The arguments of `kraftlake ingest` for all captures of the interval. Raises
    AirflowSkipException where there is no capture, and AirflowFailException where the Variable
    kraftlake_clusters doesn't name the wanted cluster."""
    wanted, run = context["params"]["cluster"], context["dag_run"]
    clusters = settings.clusters()
    if not clusters or (wanted and wanted not in clusters):
        raise AirflowFailException(
            f"the Variable kraftlake_clusters has no cluster{f' {wanted}' if wanted else ''}: "
            'set it, such as {"orders": {"captures": "/captures/orders"}}'
        )
    reach = timedelta(minutes=context["params"]["reach_minutes"])
    start, end = context["data_interval_start"] - reach, context["data_interval_end"]
    paths: list[str] = []
    for name, source in clusters.items():
        if wanted in (None, name):
            paths += captured_between(source.get("captures"), start, end)
            if run.run_type != "backfill":
                paths += those_there(name, source.get("replicas", []))
    if not paths:
        raise AirflowSkipException("no capture in this interval")
    run_id = job_run_id(run, "ingest", *paths)
    return ["--lake", settings.lake(), "--accept-damage", "--run-id", run_id, *paths]


def those_there(cluster: str, replicas: list[str]) -> Iterator[str]:
    """The paths of `replicas` that exist now. A missing directory is logged, because it must not
    stop the other clusters."""
    for path in replicas:
        if _place(path).exists():
            yield path
        else:
            _LOG.warning("%s: %s: no such directory: left out of this run", cluster, path)


def captured_between(archive: str | None, start: datetime, end: datetime) -> Iterator[str]:
    """The places of the archive's finished captures whose times are in [start, end), oldest first.
    Gives none if `archive` is None. Raises AirflowFailException for a capture.json that can't be
    read."""
    if archive is None:
        return
    found = []
    for folder in _place(archive).iterdir():
        about = folder / "capture.json"
        if about.exists() and start <= (captured_at := _captured_at(about)) < end:
            found.append((captured_at, f"{archive.rstrip('/')}/{folder.name}"))
    yield from (path for _, path in sorted(found))


def _place(path: str) -> Any:
    return ObjectStoragePath(path) if "://" in path else Path(path)


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
    KraftlakeJob(
        task_id="ingest",
        job="ingest",
        application_args=captures(),
        outlets=[settings.BRONZE],
    )
