"""The DAGs in Airflow's own interpreter, up to spark-submit: what they call it with, what they try
again, and which way they go."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from tests.airflow.conftest import REPOSITORY, Airflow
from tests.airflow.recorder import Recorder, recorder
from tests.airflow.small_lake import write_small_lake

pytestmark = pytest.mark.slow

LINES = Path(__file__).parent / "spark_submit_lines.txt"
AT = "2026-11-21T05:00:00"
DAGS = ("kraftlake_ingest", "kraftlake_build", "kraftlake_quality", "kraftlake_maintenance")
_IMPORT = """\
import json, os, sys
for name in sys.argv[1:]:
    sys.modules[name] = None
from airflow.dag_processing.dagbag import BundleDagBag
folder = os.environ["AIRFLOW__CORE__DAGS_FOLDER"]
bag = BundleDagBag(folder, bundle_path=folder, bundle_name="dags-folder")
print(json.dumps({"dags": sorted(bag.dags), "errors": list(bag.import_errors.values())}))
"""
_PROVIDER = "airflow.providers.apache.spark.operators.spark_submit"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _capture(archive: Path, name: str, captured_at: str) -> str:
    """A capture as the DAG finds it: its capture.json says when."""
    folder = archive / name
    folder.mkdir(parents=True)
    (folder / "capture.json").write_text(json.dumps({"version": 1, "captured_at": captured_at}))
    return str(folder)


@pytest.fixture
def archive(airflow: Airflow) -> Path:
    """Captures of three hours, one of them begun just before the last, and one unfinished."""
    folder = airflow.home / "captures"
    _capture(folder, "b", "2026-11-21T03:10:00Z")
    _capture(folder, "a", "2026-11-21T04:50:00.000Z")
    _capture(folder, "c", "2026-11-21T03:59:00.000Z")
    _capture(folder, "d", "2026-11-21T05:00:00Z")
    (folder / "e").mkdir()
    return folder


def _clusters(archive: Path) -> dict[str, str]:
    nodes = [archive.parent / "nodes" / name for name in ("1", "2", "gone")]
    for node in nodes[:2]:
        node.mkdir(parents=True, exist_ok=True)
    replicas = list(map(str, nodes))
    clusters = {"orders": {"captures": str(archive)}, "billing": {"replicas": replicas}}
    return {"AIRFLOW_VAR_KRAFTLAKE_CLUSTERS": json.dumps(clusters)}


def _recording(airflow: Airflow, *codes: int) -> tuple[Recorder, dict[str, str]]:
    found = recorder(airflow.home / "venv", codes)
    return found, {"KRAFTLAKE_VENV": str(found.folder)}


def _shown(airflow: Airflow, dag: str, lines: list[list[str]]) -> str:
    """Sorted, for tasks that don't wait for one another come in any order."""
    text = "".join(f"spark-submit {shlex.join(line)}\n" for line in lines)
    text = text.replace(str(airflow.home), "/srv").replace(str(REPOSITORY), "/kraftlake")
    text = _UUID.sub("00000000-0000-0000-0000-000000000000", text)
    return f"# {dag}\n{''.join(sorted(text.splitlines(keepends=True)))}"


def test_every_dag_is_imported_without_an_error(airflow: Airflow) -> None:
    done = airflow.python("-c", _IMPORT)
    assert json.loads(done.stdout.splitlines()[-1]) == {"dags": sorted(DAGS), "errors": []}


def test_an_airflow_without_the_provider_is_told_what_to_install(airflow: Airflow) -> None:
    done = airflow.python("-c", _IMPORT, _PROVIDER)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["dags"] == []
    assert len(found["errors"]) == len(DAGS)
    for error in found["errors"]:
        said = error.strip().splitlines()[-1]
        assert said.endswith(
            "kraftlake's DAGs need apache-airflow-providers-apache-spark in Airflow's own "
            "environment: install airflow/requirements.lock there, as `make airflow` does"
        )


def test_spark_submit_is_called_as_it_is_recorded(airflow: Airflow, archive: Path) -> None:
    """REWRITE_AIRFLOW=1 records it anew; tests/airflow/test_recorded_lines.py parses it."""
    write_small_lake(airflow.state / "lake")
    shown = []
    for dag in DAGS:
        calls, variables = _recording(airflow)
        done = airflow.run(dag, AT, **variables, **_clusters(archive))
        assert done.returncode == 0, done.stdout
        shown.append(_shown(airflow, dag, calls.lines))
        calls.folder.rename(airflow.home / dag)
    text = "\n".join(shown)
    if os.environ.get("REWRITE_AIRFLOW"):
        LINES.write_text(text, encoding="utf-8")
    assert text == LINES.read_text(encoding="utf-8")


@pytest.mark.parametrize("uri", ["spark://local[2]", None])
def test_a_connection_that_can_t_be_read_is_no_reason_to_try_yarn(
    airflow: Airflow, uri: str | None
) -> None:
    calls, variables = _recording(airflow)
    connection = "AIRFLOW_CONN_SPARK_DEFAULT" if uri else "AIRFLOW_CONN_OTHER"
    settings = {"AIRFLOW_CONN_SPARK_DEFAULT": "", connection: uri or "spark://other"}
    done = airflow.run("kraftlake_maintenance", AT, **settings, **variables)
    assert done.returncode == 1
    assert calls.lines == []
    assert "the connection spark_default is missing or can't be read" in done.stdout
    assert (
        'AIRFLOW_CONN_SPARK_DEFAULT=\'{"conn_type": "spark", "host": "local[2]"}\'' in done.stdout
    )


def test_an_environment_without_spark_submit_is_told_how_to_make_one(airflow: Airflow) -> None:
    done = airflow.run("kraftlake_maintenance", AT, KRAFTLAKE_VENV="/nowhere")
    assert done.returncode == 1
    assert "/nowhere/bin/spark-submit: no such file: run `make setup` in" in done.stdout


@pytest.mark.parametrize(
    ("codes", "tries", "succeeds"),
    [((75, 137, 0), 3, True), ((1,), 1, False), ((2,), 1, False), ((75,) * 9, 5, False)],
)
def test_a_job_is_tried_again_where_that_may_help_and_keeps_its_run_id(
    airflow: Airflow, codes: tuple[int, ...], tries: int, succeeds: bool
) -> None:
    calls, variables = _recording(airflow, *codes)
    done = airflow.run("kraftlake_maintenance", AT, {"dry_run": True}, **variables)
    assert (done.returncode == 0) == succeeds, done.stdout
    assert len(calls.lines) == tries
    assert len({tuple(line) for line in calls.lines}) == 1
    assert _UUID.fullmatch(calls.lines[0][calls.lines[0].index("--run-id") + 1])
    assert calls.lines[0][-1] == "--dry-run"


@pytest.mark.parametrize(
    ("damaged", "conf", "jobs"),
    [
        (None, {}, ["build", "publish", "publish"]),
        ("new", {}, ["build", "report"]),
        ("new", {"publish_doubts": True}, ["build", "publish", "publish"]),
    ],
)
def test_a_lake_with_damage_is_published_only_where_the_settings_allow_it(
    airflow: Airflow, damaged: str | None, conf: dict[str, bool], jobs: list[str]
) -> None:
    write_small_lake(airflow.state / "lake", damaged=damaged)
    calls, variables = _recording(airflow)
    done = airflow.run("kraftlake_build", AT, conf, **variables)
    assert done.returncode == 0, done.stdout
    submitted = [word for line in calls.lines for word in line if word.endswith(".py")]
    assert [Path(word).stem for word in submitted] == jobs


@pytest.mark.parametrize(
    ("level", "gate", "jobs"),
    [
        ("at-risk", None, ["build", "report"]),
        ("outage", None, ["build", "publish", "publish"]),
        ("outage", {"stop": ["outage"]}, ["build", "report"]),
        ("at-risk", {"warn": ["at-risk"]}, ["build", "publish", "publish"]),
    ],
)
def test_the_gate_stops_at_the_levels_of_verdicts_that_the_settings_name(
    airflow: Airflow, level: str, gate: dict[str, list[str]] | None, jobs: list[str]
) -> None:
    write_small_lake(airflow.state / "lake", level=level)
    calls, variables = _recording(airflow)
    if gate is not None:
        variables = {**variables, "AIRFLOW_VAR_KRAFTLAKE_GATE": json.dumps(gate)}
    done = airflow.run("kraftlake_build", AT, {}, **variables)
    assert done.returncode == 0, done.stdout
    submitted = [word for line in calls.lines for word in line if word.endswith(".py")]
    assert [Path(word).stem for word in submitted] == jobs


def test_a_level_that_no_verdict_has_is_named(airflow: Airflow) -> None:
    write_small_lake(airflow.state / "lake")
    _, variables = _recording(airflow)
    gate = json.dumps({"stop": ["critical"]})
    done = airflow.run("kraftlake_build", AT, {}, **variables, AIRFLOW_VAR_KRAFTLAKE_GATE=gate)
    assert done.returncode == 1
    assert "the Variable kraftlake_gate has critical: expected lists stop and warn" in done.stdout


def test_a_cluster_that_nobody_has_configured_is_named(airflow: Airflow, archive: Path) -> None:
    calls, variables = _recording(airflow)
    conf = {"cluster": "payments"}
    done = airflow.run("kraftlake_ingest", AT, conf, **variables, **_clusters(archive))
    assert done.returncode == 1
    assert "the Variable kraftlake_clusters has no cluster payments: set it" in done.stdout
    assert calls.lines == []


def test_a_backfill_has_a_run_for_each_interval_of_the_past(airflow: Airflow) -> None:
    """Which captures such a run ingests, the recorded lines show."""
    assert airflow.python("-m", "airflow", "dags", "reserialize").returncode == 0
    between = ("--from-date", "2026-11-01T00:00:00", "--to-date", "2026-11-01T03:00:00")
    asked = ("backfill", "create", "--dag-id", "kraftlake_ingest", *between, "--dry-run")
    done = airflow.python("-m", "airflow", *asked)
    assert done.returncode == 0, done.stdout
    starts = re.findall(r"2026-11-01[T ](\d\d):00:00", done.stdout)
    assert {"00", "01", "02"} <= set(starts) <= {"00", "01", "02", "03"}, done.stdout
