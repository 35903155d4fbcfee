"""The jobs as Spark applications, started by the real spark-submit."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.secret_log import SECRET, write_node

ROOT = Path(__file__).parent.parent.parent

_LOCAL = ("--master", "local[2]", "--properties-file", str(ROOT / "conf" / "spark-local.conf"))

MOST_JOBS = 8
"""The most Spark jobs that an ingest, or a build, of a small lake runs."""

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


def test_ingest_and_build_do_their_work_in_few_described_spark_jobs(
    data: Path, tmp_path: Path
) -> None:
    lake = str(tmp_path / "lake")
    split = str(data / "kafka-3.7.2-static/split")
    ingested = _submit(*_logged(tmp_path / "ingest"), "jobs/ingest.py", "--lake", lake, split)
    assert ingested.returncode == 0, ingested.stderr
    assert re.search(r"^bronze.captures +5$", ingested.stdout, re.MULTILINE)
    of_ingest = _spark_jobs(tmp_path / "ingest")
    built = _submit(*_logged(tmp_path / "build"), "jobs/build.py", "--lake", lake, "--json")
    assert built.returncode == 0, built.stderr
    assert '{"table":"gold.divergence_points","rows":10}' in built.stdout
    of_build = _spark_jobs(tmp_path / "build")
    for jobs in (of_ingest, of_build):
        assert 1 <= len(jobs) <= MOST_JOBS, [job.description for job in jobs]
        assert all(job.description for job in jobs)
    assert any(job.description.startswith("decode") for job in of_ingest)
    assert any(job.description.startswith("derive") for job in of_build)
    # The executors derive: their time is most of what the tables take.
    assert sum(job.run_time_ms for job in of_ingest) > 0
    assert sum(job.run_time_ms for job in of_build) > 500


def test_no_secret_is_in_spark_s_event_log(tmp_path: Path) -> None:
    node, lake = tmp_path / "node", tmp_path / "lake"
    write_node(node)
    logged = _logged(tmp_path / "events")
    ingested = _submit(*logged, "jobs/ingest.py", "--lake", str(lake), "--build", str(node))
    assert ingested.returncode in (0, 1), ingested.stderr
    asked = _submit(*logged, "jobs/quality.py", "--lake", str(lake))
    assert asked.returncode in (0, 1), asked.stderr
    key = (lake / "_redaction.key").read_bytes()
    told = [file.read_bytes() for file in (tmp_path / "events").rglob("events_*")]
    assert len(told) >= 2
    assert any(b"SparkListenerJobStart" in one for one in told)
    for hidden in (SECRET.encode(), key, key.hex().encode(), base64.b64encode(key)):
        assert not any(hidden in one for one in told)
    assert not any(re.search(rb'"spark.authenticate.secret":"(?!\*)', one) for one in told)


@dataclass
class SparkJob:
    """What an event log says of a job. run_time_ms: of all its tasks, in the executors."""

    description: str
    stages: frozenset[int]
    run_time_ms: int = 0


def _logged(folder: Path) -> tuple[str, ...]:
    folder.mkdir()
    settings = ("enabled=true", f"dir={folder.as_uri()}", "compress=false")
    return tuple(word for one in settings for word in ("--conf", f"spark.eventLog.{one}"))


def _spark_jobs(folder: Path) -> list[SparkJob]:
    """The jobs in the event log of the one application below the folder."""
    jobs: list[SparkJob] = []
    for log in sorted(folder.rglob("events_*")):
        for event in map(json.loads, log.read_text().splitlines()):
            if event["Event"] == "SparkListenerJobStart":
                described = event["Properties"].get("spark.job.description", "")
                jobs.append(SparkJob(described, frozenset(event["Stage IDs"])))
            if event["Event"] == "SparkListenerTaskEnd":
                (job,) = [job for job in jobs if event["Stage ID"] in job.stages]
                job.run_time_ms += event["Task Metrics"]["Executor Run Time"]
    return jobs


def test_a_usage_error_ends_the_application_with_2_and_one_line(tmp_path: Path) -> None:
    ended = _submit("jobs/build.py", "--lake", str(tmp_path / "nothing"))
    assert ended.returncode == 2
    # spark-submit gives a Python application one stream for both of its own
    said = (ended.stdout + ended.stderr).splitlines()
    assert len([line for line in said if line.startswith("kraftlake: error:")]) == 1
    assert not any("Traceback" in line for line in said)
