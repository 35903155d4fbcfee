"""A log directory that was formatted and never started is known to a lake and its report, and
gold.verdicts says of it what `kraftlake check` says."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.asking.sql_delta_rs import named_rows
from pipelines.lake import Lake
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.first_start import CLUSTER, format_only

RECORDED = "kafka-4.1.1-dynamic/final"
ANOTHER = "SeqmQktRQ9eNfuKic4TCIg"


def rows(lake: Path, query: str) -> list[dict[str, Any]]:
    return [*named_rows(Lake(str(lake)), query)]


def cluster_of(data: Path) -> str:
    text = (data / RECORDED / "1/meta.properties").read_text()
    return text.partition("cluster.id=")[2].split()[0]


@pytest.mark.parametrize(
    ("cluster_id", "rule"),
    [(None, "never-started"), (ANOTHER, "formatted-for-another-cluster")],
)
def test_a_lake_says_of_a_formatted_directory_what_check_says(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, cluster_id: str | None, rule: str
) -> None:
    nodes, lake, own = tmp_path / "nodes", tmp_path / "lake", cluster_of(data)
    for node in (1, 2):
        shutil.copytree(data / RECORDED / str(node), nodes / str(node))
    format_only(nodes / "3", 3, cluster_id or own)
    format_only(nodes / "1" / "disk-2", 1, own)  # another disk of a node that has started
    checked = kraftlake("check", "--json", nodes)
    (expected,) = checked.verdicts
    assert kraftlake("ingest", "--lake", lake, nodes).code in (0, 1)
    assert kraftlake("build", "--lake", lake).code == 0
    captures = "SELECT node_id, cluster_id, log_end_offset FROM bronze.captures ORDER BY node_id"
    assert [(one["node_id"], one["cluster_id"]) for one in rows(lake, captures)] == [
        (1, own), (2, own), (3, cluster_id or own)
    ]  # fmt: skip
    found = rows(lake, "SELECT * FROM gold.findings WHERE node_id = 3")
    assert [(one["rule"], one["file"]) for one in found] == [(rule, f"{nodes}/3/meta.properties")]
    (row,) = rows(lake, "SELECT * FROM gold.verdicts")
    assert row["cluster_id"] == own
    for name in ("level", "headline", "notes", "next_steps"):
        assert row[name] == expected[name], name
    assert kraftlake("report", "--lake", lake, "-o", tmp_path / "report.html").code == 0
    page = (tmp_path / "report.html").read_text()
    assert ("formatted, never started" in page) == (cluster_id is None)


def test_a_capture_has_a_formatted_directory_too(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    nodes, own = tmp_path / "nodes", cluster_of(data)
    shutil.copytree(data / RECORDED / "1", nodes / "1")
    format_only(nodes / "1" / "disk-2", 1, own)
    format_only(nodes / "3", 3, own)
    assert kraftlake("capture", nodes, "-o", tmp_path / "capture").code == 0
    captured = sorted(one.name for one in (tmp_path / "capture").iterdir() if one.is_dir())
    assert captured == ["node-1", "node-3"]
    lake = tmp_path / "lake"
    assert kraftlake("ingest", "--lake", lake, tmp_path / "capture").code in (0, 1)
    (row,) = rows(
        lake,
        "SELECT has_own_time, source FROM bronze.captures AS c JOIN bronze.findings AS f "
        "ON f.capture_id = c.capture_id WHERE f.rule = 'never-started'",
    )
    assert row["has_own_time"], "capture.json tells it"
    assert row["source"].startswith(f"{tmp_path}/capture/node-3/")


def test_a_lake_of_formatted_directories_alone_knows_no_cluster_yet(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    nodes, lake = tmp_path / "nodes", tmp_path / "lake"
    format_only(nodes / "1", 1)
    assert kraftlake("ingest", "--lake", lake, nodes).code == 0
    assert kraftlake("build", "--lake", lake).code == 0
    (found,) = rows(lake, "SELECT cluster_id, rule FROM gold.findings")
    assert found == {"cluster_id": CLUSTER, "rule": "never-started"}
    assert rows(lake, "SELECT * FROM gold.verdicts") == []
