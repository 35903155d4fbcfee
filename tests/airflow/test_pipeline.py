"""The DAGs with everything behind them: Airflow, spark-submit, Spark, and logs of real Kafka."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from jobs.cli.lake.lake_content import captures
from pipelines.lake import Lake
from replica.format.batch import HEADER
from tests.airflow.conftest import Airflow
from tests.replica.doctor.check.editing import batches, flip, segment

pytestmark = pytest.mark.slow

HOURS = {"live": 3, "split": 4, "final": 5}
"""Of 2026-11-21, in UTC: when each capture of the recorded cluster is said to have been taken."""


@pytest.fixture
def archive(airflow: Airflow, data: Path) -> Path:
    """The recorded captures of one cluster, as `kraftlake capture` leaves them."""
    folder = airflow.home / "captures"
    for name, hour in HOURS.items():
        shutil.copytree(data / "kafka-3.7.2-static" / name, folder / name)
        _stamp(folder / name, f"2026-11-21T{hour:02}:20:00.000Z")
    return folder


def _stamp(capture: Path, captured_at: str) -> None:
    about = {"version": 1, "captured_at": captured_at}
    (capture / "capture.json").write_text(json.dumps(about))


def _published(airflow: Airflow) -> list[Path]:
    folder = airflow.state / "feeds" / "gold.metadata_changes"
    return sorted(folder.glob("*.jsonl"))


def test_a_capture_is_ingested_built_judged_and_published_and_a_damaged_one_held_back(
    airflow: Airflow, archive: Path
) -> None:
    """First the middle capture alone, by its interval; then one that a disk has damaged."""
    clusters = {"recorded": {"captures": str(archive)}}
    variables = {"AIRFLOW_VAR_KRAFTLAKE_CLUSTERS": json.dumps(clusters)}
    ingested = airflow.run("kraftlake_ingest", "2026-11-21T05:00:00", **variables)
    assert ingested.returncode == 0, ingested.stdout
    lake = str(airflow.state / "lake")
    assert {row["captured_at"].hour for row in captures(Lake(lake))} == {HOURS["split"]}

    built = airflow.run("kraftlake_build", "2026-11-21T05:01:00")
    assert built.returncode == 0, built.stdout
    first = _published(airflow)
    assert len(first) == 1
    assert {json.loads(line)["op"] for line in first[0].open()} == {"read"}
    assert not (airflow.state / "reports" / "quarantine").exists()

    log = segment(archive / "final" / "2", 0)
    flip(log, batches(log)[-5].position + HEADER.size + 1)
    ingested = airflow.run("kraftlake_ingest", "2026-11-21T06:00:00", **variables)
    assert ingested.returncode == 0, "damage is no failure"
    assert {row["captured_at"].hour for row in captures(Lake(lake))} == {4, 5}
    built = airflow.run("kraftlake_build", "2026-11-21T06:01:00")
    assert built.returncode == 0, built.stdout
    (report,) = (airflow.state / "reports" / "quarantine").iterdir()
    assert "crc-mismatch" in report.read_text(encoding="utf-8")
    assert _published(airflow) == first, "what is doubtful was held back"
