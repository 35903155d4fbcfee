"""dbt builds the project on a built lake, as its page says; its models hold what the lake has."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from pipelines.tables import gold
from tests.docs.pages import ROOT, blocks
from tests.pipelines.lake_rows import rows_of

pytestmark = pytest.mark.slow
PAGE = ROOT / "docs" / "how-to" / "dbt.md"


def page() -> tuple[list[str], str]:
    """The commands of the page, and the answer that it shows."""
    script, answer = (one.body for one in blocks(PAGE.read_text(encoding="utf-8")))
    lines = script.replace("\n  ", " ").splitlines()
    assert lines[0].startswith("make demo dbt ")
    return lines[2:], answer


@pytest.fixture(scope="module")
def models(
    built_lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[duckdb.DuckDBPyConnection, list[str]]]:
    """What the models made, and what the page's commands printed."""
    make = ("make", "--silent", "dbt", f"PYTHON={sys.executable}")
    subprocess.run(make, cwd=ROOT, check=True, timeout=880)
    folder = tmp_path_factory.mktemp("dbt")
    variables = {
        "KRAFTLAKE_LAKE": str(built_lake),
        "KRAFTLAKE_DBT": str(folder / "models.duckdb"),
        "DBT_TARGET_PATH": str(folder / "target"),
        "DBT_LOG_PATH": str(folder / "logs"),
    }
    printed = []
    for line in page()[0]:
        ran = subprocess.run(
            shlex.split(line), cwd=ROOT, env=os.environ | variables, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        printed.append(ran.stdout)
    with duckdb.connect(folder / "models.duckdb", read_only=True) as database:
        yield database, printed


Models = tuple[duckdb.DuckDBPyConnection, list[str]]


def test_all_tests_of_the_project_pass_and_the_page_shows_what_is_printed(models: Models) -> None:
    _, (built, shown) = models
    assert "Completed successfully" in built
    assert "WARN=0 ERROR=0 SKIP=0" in built
    assert page()[1].strip() == shown.strip()


def test_nodes_led_as_long_as_their_epochs_lasted(models: Models, built_lake: Path) -> None:
    ends = {row.cluster_id: row.at for row in rows_of(built_lake, gold.VERDICTS)}
    wanted: defaultdict[tuple[str, int], float] = defaultdict(float)
    for row in rows_of(built_lake, gold.LEADER_EPOCH_HISTORY):
        ended = row.ended_at or ends[row.cluster_id]
        wanted[row.cluster_id, row.leader_id] += (ended - row.started_at).total_seconds() / 3600
    found = models[0].sql("SELECT cluster_id, node_id, hours FROM leadership_hours").fetchall()
    assert {(cluster, node): hours for cluster, node, hours in found} == pytest.approx(
        wanted, abs=0.0001
    )


def test_each_change_of_a_topic_s_config_counts_once(models: Models, built_lake: Path) -> None:
    changes = rows_of(
        built_lake, gold.METADATA_CHANGES, "entity = 'config' AND commitment <> 'superseded'"
    )
    of_topics = [row for row in changes if row.name.startswith("topic ")]
    assert of_topics
    query = "SELECT sum(changes), sum(removed), count(DISTINCT topic) FROM topic_configs_changed"
    removed = sum(row.change == "config_removed" for row in of_topics)
    topics = {row.name.split(": ")[0] for row in of_topics}
    assert models[0].sql(query).fetchall() == [(len(of_topics), removed, len(topics))]


def test_partitions_lack_replicas_from_isr_change_to_isr_change(
    models: Models, built_lake: Path
) -> None:
    ends = {row.cluster_id: row.at for row in rows_of(built_lake, gold.VERDICTS)}
    keys: defaultdict[str, set[str]] = defaultdict(set)
    hours: defaultdict[str, float] = defaultdict(float)
    for row in rows_of(built_lake, gold.METADATA_HISTORY, "entity = 'partition'"):
        value = json.loads(row.value)
        ended = row.valid_to or ends[row.cluster_id]
        if len(value["isr"]) < len(value["replicas"]) and ended > row.valid_from:
            keys[row.cluster_id].add(row.key)
            hours[row.cluster_id] += (ended - row.valid_from).total_seconds() / 3600
    assert keys
    query = "SELECT cluster_id, partitions, partition_hours FROM partitions_without_full_isr"
    found = models[0].sql(query).fetchall()
    assert {cluster: count for cluster, count, _ in found} == {one: len(keys[one]) for one in keys}
    assert {cluster: sum_of for cluster, _, sum_of in found} == pytest.approx(hours, abs=0.0001)
