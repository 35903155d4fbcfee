"""A command on a lake in an object store, started in a folder of a stranger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.spark.s3a_jars import S3A
from tests.kraftlake_process import REPOSITORY
from tests.object_stores.s3_server import S3Server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not S3A.jars, reason="tests.object_stores.s3a_closure has not written them"),
]
LAKE = "s3://current-folder/lake"
NODE = REPOSITORY / "tests/data/kafka-3.7.2-static/split/2"
METRICS = """\
*.period=1
s3a-file-system.sink.file.class=org.apache.hadoop.metrics2.sink.FileSink
s3a-file-system.sink.file.filename=victim
"""


def run(folder: Path, variables: dict[str, str], *words: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "jobs.cli", *words],
        cwd=folder,
        env={**os.environ, **variables, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_hadoop_takes_no_settings_of_its_metrics_from_the_current_folder(
    server: S3Server, tmp_path: Path
) -> None:
    """They name files that it overwrites, and jars of which it starts classes."""
    server.make_bucket("current-folder")
    (tmp_path / "hadoop-metrics2.properties").write_text(METRICS)
    (tmp_path / "hadoop-metrics2-s3a-file-system.properties").write_text(METRICS)
    (tmp_path / "victim").write_text("as it was")
    run(tmp_path, server.variables, "ingest", "--lake", LAKE, str(NODE))
    query = "select count(*) as n from bronze.log_records"
    words = ("sql", "--lake", LAKE, "--engine", "spark", "--json", query)
    assert json.loads(run(tmp_path, server.variables, *words)) == {"n": 772}
    assert (tmp_path / "victim").read_text() == "as it was"
