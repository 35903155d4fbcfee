"""Builds silver and gold after each ingest, and publishes the changes.

A gate stands between the two steps. Nothing is published, and a report goes to the quarantine, in
three cases: the newest capture of a replica is damaged, the build left rows out, or a cluster's
verdict has a level at which the gate stops (the Variable kraftlake_gate). A later run without such
a case publishes the changes that were held back. A run with the parameter publish_doubts publishes
them, too: a person starts it after reading the report.
"""

from __future__ import annotations

import logging
from typing import Any

import kraftlake_settings as settings
from airflow.sdk import DAG, Param, task
from airflow.sdk.exceptions import AirflowFailException
from kraftlake_jobs import KraftlakeJob, ask, dag_defaults, job_run_id

_LOG = logging.getLogger(__name__)
_DOUBTS_KEPT = 100
_PARAMS = {
    "publish_doubts": Param(False, type="boolean", description="Publish whatever the gate says."),
}


@task.branch
def gate(**context: Any) -> str:
    """Returns the name of the task that runs next. The log, and the XCom `doubts`, have the reasons
    against publishing. The log also has the verdicts that are worth a warning. Raises
    AirflowFailException for a gate with an unknown level."""
    try:
        levels = settings.gate()
    except ValueError as error:  # another try would find the same
        raise AirflowFailException(str(error)) from error
    doubts = ask("sql", "--lake", settings.lake(), "--question", "doubts")
    for verdict in ask("sql", "--lake", settings.lake(), "--question", "verdicts"):
        if verdict["level"] in levels["stop"]:
            doubts.append({"what": "verdict", **verdict})
        elif verdict["level"] in levels["warn"]:
            _LOG.warning("%s", verdict)
    for doubt in doubts:
        _LOG.warning("%s", doubt)
    context["ti"].xcom_push(key="doubts", value=doubts[:_DOUBTS_KEPT])
    is_fine = not doubts or context["params"]["publish_doubts"]
    return "feeds" if is_fine else "quarantine"


@task
def feeds(**context: Any) -> list[list[str]]:
    """Arguments of `kraftlake publish` for each feed."""
    return [
        [
            *("--lake", settings.lake(), "--run-id"),
            job_run_id(context["dag_run"], "publish", str(number)),
            *(word for name, value in feed.items() for word in (f"--{name}", str(value))),
        ]
        for number, feed in enumerate(settings.feeds())
    ]


with DAG(
    "kraftlake_build",
    schedule=[settings.BRONZE],
    doc_md=__doc__,
    params=_PARAMS,
    **dag_defaults(),
):
    build = KraftlakeJob(
        task_id="build",
        job="build",
        application_args=[
            "--lake",
            "{{ lake() }}",
            "--run-id",
            "{{ job_run_id(dag_run, 'build') }}",
        ],
        outlets=[settings.GOLD],
    )
    held_back = "{{ reports() }}/quarantine/{{ dag_run.run_id | replace(':', '') }}.html"
    quarantine = KraftlakeJob(
        task_id="quarantine",
        job="report",
        application_args=["--lake", "{{ lake() }}", "-o", held_back],
        artifact=held_back,
        outlets=[settings.QUARANTINE],
    )
    options = feeds()
    publish = KraftlakeJob.partial(
        task_id="publish",
        job="publish",
        outlets=[settings.FEEDS],
        map_index_template="{{ task.application_args[5] }}",
    ).expand(application_args=options)
    build >> gate() >> [options, quarantine]
