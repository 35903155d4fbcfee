"""Airflow as its users have it: an environment of its own, a database, and our DAGs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
_PYTHON = REPOSITORY / ".venv-airflow" / "bin" / "python"
_WITHIN_S = 880.0
_LOCAL = json.dumps({"conn_type": "spark", "host": "local[2]"})


@dataclass(frozen=True)
class Airflow:
    """An Airflow home. variables: variables of its environment, besides ours."""

    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        """The folder with the lake, the feeds and the reports of its runs."""
        return self.home / "state"

    def python(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs Airflow's interpreter to its end. Both its streams come as stdout."""
        return subprocess.run(
            [str(_PYTHON), *words],
            env={**_outside(), **self._settings(), **self.variables, **variables},
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_WITHIN_S,
            check=False,
        )

    def run(
        self, dag: str, at: str, conf: Mapping[str, Any] | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a DAG as `airflow dags test` does. The return code is 0 where the run succeeded."""
        words = ("-m", "airflow", "dags", "test", dag, at, "-c", json.dumps(conf or {}))
        return self.python(*words, **variables)

    def _settings(self) -> dict[str, str]:
        return {
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "airflow" / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home}/airflow.db",
            "AIRFLOW_CONN_SPARK_DEFAULT": _LOCAL,
            "AIRFLOW_VAR_KRAFTLAKE_LAKE": str(self.state / "lake"),
            "AIRFLOW_VAR_KRAFTLAKE_SPARK_PROPERTIES": str(REPOSITORY / "conf" / "spark-local.conf"),
            "AIRFLOW_VAR_KRAFTLAKE_REPORTS": str(self.state / "reports"),
            "AIRFLOW_VAR_KRAFTLAKE_FEEDS": json.dumps(
                [
                    {"table": table, "to": str(self.state / "feeds" / table)}
                    for table in ("gold.metadata_changes", "gold.findings")
                ]
            ),
            "KRAFTLAKE_VENV": sys.prefix,
            "KRAFTLAKE_RETRY_SECONDS": "0.1",
        }


def _outside() -> dict[str, str]:
    """The environment of the test run, without variables that would change Airflow or the jobs."""
    ours = ("AIRFLOW", "KRAFTLAKE_", "PYTEST", "PYTHONPATH", "SPARK", "PYSPARK", "VIRTUAL_ENV")
    kept = ("KRAFTLAKE_JARS",)
    return {k: v for k, v in os.environ.items() if not k.startswith(ours) or k in kept}


@pytest.fixture(scope="session")
def installed() -> None:
    """Airflow's environment, which is made where it is missing or out of date."""
    make = ("make", "--silent", "airflow", f"PYTHON={sys.executable}")
    subprocess.run(make, cwd=REPOSITORY, check=True, timeout=_WITHIN_S)


@pytest.fixture(scope="session")
def migrated(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with an empty database."""
    home = tmp_path_factory.mktemp("airflow")
    done = Airflow(home).python("-m", "airflow", "db", "migrate")
    assert done.returncode == 0, done.stdout
    return home


@pytest.fixture
def airflow(migrated: Path, tmp_path: Path) -> Airflow:
    """An Airflow home for one test."""
    shutil.copytree(migrated, tmp_path / "home")
    return Airflow(tmp_path / "home")
