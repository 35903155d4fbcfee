"""The jobs as Spark applications, started by the real spark-submit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

_LOCAL = ("--master", "local[2]", "--properties-file", str(ROOT / "conf" / "spark-local.conf"))

pytestmark = pytest.mark.slow


def _submit(*arguments: str) -> subprocess.CompletedProcess[str]:
    binaries = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
    }
    # as a scheduler has it: workers are to take the driver's interpreter, not the PATH's
    environment["PYSPARK_DRIVER_PYTHON"] = sys.executable
    environment.pop("PYSPARK_PYTHON", None)
    return subprocess.run(
        [str(binaries / "spark-submit"), *_LOCAL, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def test_ingest_and_build_run_by_spark_submit(data: Path, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    split = str(data / "kafka-3.7.2-static/split")
    ingested = _submit("jobs/ingest.py", "--lake", lake, "--json", split)
    assert ingested.returncode == 0, ingested.stderr
    assert '{"table":"bronze.captures","rows":5}' in ingested.stdout
    built = _submit("jobs/build.py", "--lake", lake, "--json")
    assert built.returncode == 0, built.stderr
    assert '{"table":"gold.divergence_points","rows":10}' in built.stdout


def test_a_usage_error_ends_the_application_with_2_and_one_line(tmp_path: Path) -> None:
    ended = _submit("jobs/build.py", "--lake", str(tmp_path / "nothing"))
    assert ended.returncode == 2
    # spark-submit gives a Python application one stream for both of its own
    said = (ended.stdout + ended.stderr).splitlines()
    assert len([line for line in said if line.startswith("kraftlake: error:")]) == 1
    assert not any("Traceback" in line for line in said)
