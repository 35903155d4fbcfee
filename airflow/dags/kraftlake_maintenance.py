"""Compacts small files once a week, and deletes files that only table versions older than
retain_days need.

Changes of gold.metadata_changes and gold.findings stay readable for 30 days, whatever retain_days
is.
"""

from __future__ import annotations

import kraftlake_settings as settings
from airflow.sdk import DAG, Param
from kraftlake_jobs import KraftlakeJob, dag_defaults

_PARAMS = {
    "retain_days": Param(
        7, type="integer", minimum=0, description="Keep removed files for so many days at least."
    ),
    "dry_run": Param(False, type="boolean", description="Only say what would be deleted."),
}

with DAG(
    "kraftlake_maintenance",
    schedule=settings.timetable("MAINTENANCE", "0 3 * * 0"),
    doc_md=__doc__,
    params=_PARAMS,
    **dag_defaults(),
):
    KraftlakeJob(
        task_id="maintain",
        job="maintain",
        application_args=[
            *("--lake", "{{ lake() }}", "--retain-days", "{{ params.retain_days }}"),
            *("--run-id", "{{ job_run_id(dag_run, 'maintain') }}"),
            "{{ '--dry-run' if params.dry_run else '' }}",
        ],
    )
