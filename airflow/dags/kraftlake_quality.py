"""Checks every table against its expectations once a day, and writes the report to a file.

The run fails where an expectation is broken; it writes the report in any case.
"""

from __future__ import annotations

import kraftlake_settings as settings
from airflow.sdk import DAG
from kraftlake_jobs import KraftlakeJob, dag_defaults

with DAG(
    "kraftlake_quality",
    schedule=settings.timetable("AUDIT", "0 5 * * *"),
    doc_md=__doc__,
    **dag_defaults(),
):
    KraftlakeJob(
        task_id="quality",
        job="quality",
        application_args=[
            *("--lake", "{{ lake() }}", "--run-id", "{{ job_run_id(dag_run, 'quality') }}"),
        ],
    )
    file = "{{ reports() }}/{{ data_interval_end.strftime('%Y-%m-%d') }}.html"
    KraftlakeJob(
        task_id="report",
        job="report",
        application_args=["--lake", "{{ lake() }}", "-o", file],
        artifact=file,
        outlets=[settings.REPORT],
    )
