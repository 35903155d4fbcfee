"""The settings of the DAGs.

These are read from the environment of scheduler and workers when the DAGs are parsed:

KRAFTLAKE_HOME                the checkout with jobs/; by default the one that has this file
KRAFTLAKE_VENV                kraftlake's own Python environment, with spark-submit;
                              by default KRAFTLAKE_HOME/.venv
KRAFTLAKE_POOL                the Airflow pool of all jobs; by default default_pool
KRAFTLAKE_RETRY_SECONDS       the seconds before the first of four retries, doubled for each later
                              one; by default 60
KRAFTLAKE_INGEST_CRON         when to ingest the new captures; by default every hour
KRAFTLAKE_AUDIT_CRON          when to report; by default at 05:00 UTC
KRAFTLAKE_MAINTENANCE_CRON    when to compact and vacuum; by default on Sundays at 03:00 UTC

Airflow Variables, which each run reads (AIRFLOW_VAR_KRAFTLAKE_LAKE and so on set them as well):

kraftlake_lake                the lake; by default /var/lib/kraftlake/lake
kraftlake_clusters            JSON, what to ingest of each cluster by a name of yours:
                              {"orders": {"captures": "/captures/orders"},
                               "billing": {"replicas": ["/mnt/node1", "/mnt/node2"]}}
                              captures: a folder, or URI, of folders by `kraftlake capture`;
                              replicas: directories that each run reads as they are then
kraftlake_feeds               JSON, a list of options of `kraftlake publish`, one object a feed:
                              [{"table": "gold.findings", "webhook": "@url.txt",
                                "progress": "sent.json"}];
                              by default both tables' changes to folders in /var/lib/kraftlake/feeds
kraftlake_gate                JSON, at which levels of a cluster's verdict nothing is published, and
                              at which a warning is logged; by default
                              {"stop": ["at-risk"], "warn": ["outage", "attention"]}
kraftlake_reports             where reports go; by default /var/lib/kraftlake/reports
kraftlake_spark_properties    a file as spark-submit's --properties-file takes it; where Spark runs
                              in local mode, kraftlake's own: /opt/kraftlake/conf/spark-local.conf

The connection spark_default says where Spark runs, best as JSON:
AIRFLOW_CONN_SPARK_DEFAULT='{"conn_type": "spark", "host": "local[2]"}'
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from airflow.sdk import Asset, CronDataIntervalTimetable, Variable

HOME = Path(os.environ.get("KRAFTLAKE_HOME") or Path(__file__).resolve().parents[2])
VENV = Path(os.environ.get("KRAFTLAKE_VENV") or HOME / ".venv")
POOL = os.environ.get("KRAFTLAKE_POOL") or "default_pool"
RETRY_S = float(os.environ.get("KRAFTLAKE_RETRY_SECONDS") or 60)
CONNECTION = "spark_default"

_STATE = "/var/lib/kraftlake"
_FEEDS = [
    {"table": table, "to": f"{_STATE}/feeds/{table}"}
    for table in ("gold.metadata_changes", "gold.findings")
]

LEVELS = ("outage", "at-risk", "attention", "incomplete", "healthy")
_GATE = {"stop": ["at-risk"], "warn": ["outage", "attention"]}

BRONZE = Asset("kraftlake_bronze", uri="kraftlake://lake/bronze")
GOLD = Asset("kraftlake_gold", uri="kraftlake://lake/gold")
FEEDS = Asset("kraftlake_feeds", uri="kraftlake://lake/feeds")
QUARANTINE = Asset("kraftlake_quarantine", uri="kraftlake://reports/quarantine")
REPORT = Asset("kraftlake_report", uri="kraftlake://reports/daily")


def timetable(name: str, default: str) -> CronDataIntervalTimetable:
    """The timetable in the variable KRAFTLAKE_<name>_CRON, or in `default` where the variable isn't
    set; in UTC. Each run has the interval of time that it processes. A backfill makes a run for
    each past interval."""
    cron = os.environ.get(f"KRAFTLAKE_{name}_CRON") or default
    return CronDataIntervalTimetable(cron, timezone="UTC")


def lake() -> str:
    """The place of the lake: a folder or a URI."""
    return str(Variable.get("kraftlake_lake", default=f"{_STATE}/lake"))


def reports() -> str:
    """The folder to which reports are written."""
    return str(Variable.get("kraftlake_reports", default=f"{_STATE}/reports"))


def spark_properties() -> str:
    """The file for --properties-file; "" where there is none."""
    return str(Variable.get("kraftlake_spark_properties", default=""))


def clusters() -> dict[str, dict[str, Any]]:
    """The captures and directories to ingest, by the cluster's name; empty where the Variable is
    not set."""
    found: dict[str, dict[str, Any]] = Variable.get(
        "kraftlake_clusters", default={}, deserialize_json=True
    )
    return found


def gate() -> dict[str, list[str]]:
    """The levels of verdicts at which the gate stops, and the levels at which it warns. Raises
    ValueError for an unknown level, because a gate with a wrong level would never stop."""
    found: dict[str, list[str]] = Variable.get(
        "kraftlake_gate", default=_GATE, deserialize_json=True
    )
    levels = [level for name in ("stop", "warn") for level in found.get(name, ())]
    unknown = sorted({*levels} - {*LEVELS} | {*found} - {*_GATE})
    if unknown:
        raise ValueError(
            f"the Variable kraftlake_gate has {', '.join(unknown)}: expected lists stop and warn "
            f"of levels, which are {', '.join(LEVELS)}"
        )
    return {"stop": found.get("stop", []), "warn": found.get("warn", [])}


def feeds() -> list[dict[str, str]]:
    """Options of `kraftlake publish`, without their dashes, for each feed."""
    found: list[dict[str, str]] = Variable.get(
        "kraftlake_feeds", default=_FEEDS, deserialize_json=True
    )
    return found
