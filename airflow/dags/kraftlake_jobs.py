"""A job of kraftlake as a task. spark-submit gets the job by its path. Airflow tries a job again
only where a second attempt may succeed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import kraftlake_settings as settings
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
)

try:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
except ImportError as error:
    raise ImportError(
        "kraftlake's DAGs need apache-airflow-providers-apache-spark in Airflow's own environment: "
        "install airflow/requirements.lock there, as `make airflow` does"
    ) from error

EX_TEMPFAIL = os.EX_TEMPFAIL
"""kraftlake's exit code where the same command may succeed later."""
_KILLED = tuple(
    code for number in (signal.SIGTERM, signal.SIGKILL) for code in (-number, 128 + number)
)
"""The exit codes of a job that was killed from outside, for example because its worker was evicted.
Every job may be killed and run again."""
_MEANING = {1: "see its last lines above", 2: "an option, a path or the lake is wrong"}


def dag_defaults() -> dict[str, Any]:
    """The arguments that all of our DAGs have in common."""
    return {
        "start_date": datetime(2020, 1, 1),  # noqa: DTZ001 - Airflow reads it as UTC
        "catchup": False,
        "max_active_runs": 1,
        "tags": ["kraftlake"],
        "default_args": {
            "pool": settings.POOL,
            "retries": 4,
            "retry_delay": timedelta(seconds=settings.RETRY_S),
            "retry_exponential_backoff": 2.0,
            "execution_timeout": timedelta(hours=6),
        },
        "user_defined_macros": {
            "lake": settings.lake,
            "reports": settings.reports,
            "spark_properties": settings.spark_properties,
            "job_run_id": job_run_id,
        },
    }


def job_run_id(run: Any, task_id: str, *what: str) -> str:
    """The UUID for --run-id. It is the same at each attempt, and differs between tasks and between
    the things that a task works on.

    run: Airflow's DagRun. what: the things that the task works on, such as paths.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join((run.dag_id, run.run_id, task_id, *what))))


class KraftlakeJob(SparkSubmitOperator):
    """Runs jobs/<job>.py by spark-submit. Arguments that are empty after rendering are left out.

    artifact: a file that the job writes, as a template; the events of the task's outlets name the
    file.
    """

    template_fields = (*SparkSubmitOperator.template_fields, "artifact")

    def __init__(self, *, job: str, artifact: str | None = None, **kwargs: Any) -> None:
        super().__init__(
            application=str(settings.HOME / "jobs" / f"{job}.py"),
            name=f"kraftlake-{job}",
            conn_id=settings.CONNECTION,
            spark_binary=str(settings.VENV / "bin" / "spark-submit"),
            properties_file="{{ spark_properties() }}",
            env_vars=_environment(),
            **kwargs,
        )
        self.artifact = artifact

    def execute(self, context: Any) -> None:
        _require_connection()
        if self.artifact:
            Path(self.artifact).parent.mkdir(parents=True, exist_ok=True)
        self.application_args = [text for text in self.application_args or () if text]
        try:
            super().execute(context)
        except FileNotFoundError as error:
            raise AirflowFailException(
                f"{error.filename}: no such file: run `make setup` in {settings.HOME}, or name "
                "kraftlake's Python environment by KRAFTLAKE_VENV"
            ) from error
        except AirflowException as error:
            submitted = self._hook and self._hook._submit_sp
            if submitted is None or is_temporary(submitted.returncode):
                raise
            code = submitted.returncode
            meaning = _MEANING.get(code, "no code of kraftlake's own")
            raise AirflowFailException(
                f"{self.name} ended with {code}, {meaning}: not tried again"
            ) from error
        if self.artifact:
            for outlet in self.outlets:
                context["outlet_events"][outlet].extra = {"file": self.artifact}


def is_temporary(code: int) -> bool:
    """Whether a job may succeed later. code: its exit code; a negative code is minus the number of
    the signal that killed the job."""
    return code == EX_TEMPFAIL or code in _KILLED


def ask(*arguments: str) -> list[dict[str, Any]]:
    """The rows that a kraftlake command prints with --json. The command must need no Spark. If the
    command fails, raises AirflowException where a second attempt may succeed, else
    AirflowFailException."""
    done = subprocess.run(  # noqa: S603 - our own words
        [str(settings.VENV / "bin" / "python"), "-m", "jobs.cli", *arguments, "--json"],
        env={**os.environ, **_environment()},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = f"kraftlake {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}"
        raise (AirflowException if is_temporary(done.returncode) else AirflowFailException)(said)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _environment() -> Mapping[str, str]:
    return {
        "PYTHONPATH": str(settings.HOME),
        # by this the spark-submit of a pip installation also finds its Spark
        "PYSPARK_DRIVER_PYTHON": str(settings.VENV / "bin" / "python"),
    }


def _require_connection() -> None:
    """Raises AirflowFailException where the connection is missing: without it the provider would
    submit the job to YARN."""
    try:
        BaseHook.get_connection(settings.CONNECTION)
    except (AirflowNotFoundException, ValueError) as error:
        name = f"AIRFLOW_CONN_{settings.CONNECTION.upper()}"
        raise AirflowFailException(
            f"the connection {settings.CONNECTION} is missing or can't be read (a URI may hold no "
            f'brackets); set it, such as {name}=\'{{"conn_type": "spark", "host": "local[2]"}}\''
        ) from error
