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
A_THIRD = "SeqmQktRQ9eNfuKic4TCIh"
OF_CHECK = ("level", "headline", "next_steps", "not_judged", "facts")


def rows(lake: Path, query: str) -> list[dict[str, Any]]:
    return [*named_rows(Lake(str(lake)), query)]


def as_of_check(verdict: dict[str, Any]) -> dict[str, Any]:
    """A row of gold.verdicts, or a line of `check --json`, without what tells of a state."""
    return {name: verdict[name] for name in OF_CHECK}


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
    """Of a node that is no voter: a lake doesn't know yet that a voter's disk was emptied."""
    nodes, lake, own = tmp_path / "nodes", tmp_path / "lake", cluster_of(data)
    for node in (1, 2):
        shutil.copytree(data / RECORDED / str(node), nodes / str(node))
    format_only(nodes / "4", 4, cluster_id or own)
    format_only(nodes / "1" / "disk-2", 1, own)  # another disk of a node that has started
    checked = kraftlake("check", "--json", nodes)
    (expected,) = checked.verdicts
    assert kraftlake("ingest", "--lake", lake, nodes).code in (0, 1)
    assert kraftlake("build", "--lake", lake).code == 0
    captures = "SELECT node_id, cluster_id, log_end_offset FROM bronze.captures ORDER BY node_id"
    assert [(one["node_id"], one["cluster_id"]) for one in rows(lake, captures)] == [
        (1, own), (2, own), (4, cluster_id or own)
    ]  # fmt: skip
    found = rows(lake, "SELECT * FROM gold.findings WHERE node_id = 4")
    assert [(one["rule"], one["file"]) for one in found] == [(rule, f"{nodes}/4/meta.properties")]
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


@pytest.mark.parametrize(
    "cluster_ids",
    [(CLUSTER,), (CLUSTER, CLUSTER, CLUSTER), (CLUSTER, ANOTHER, A_THIRD)],
    ids=["one directory", "three of one cluster", "three of three clusters"],
)
def test_directories_that_were_only_formatted_have_the_verdict_of_check(
    tmp_path: Path, kraftlake: Kraftlake, cluster_ids: tuple[str, ...]
) -> None:
    nodes, lake = tmp_path / "nodes", tmp_path / "lake"
    for node_id, cluster_id in enumerate(cluster_ids, start=1):
        format_only(nodes / str(node_id), node_id, cluster_id)
    checked = kraftlake("check", "--json", nodes)
    (expected,) = checked.verdicts
    assert kraftlake("ingest", "--lake", lake, nodes).code == 0
    assert kraftlake("build", "--lake", lake).code == 0
    held = rows(lake, "SELECT * FROM gold.verdicts ORDER BY cluster_id")
    assert [one["cluster_id"] for one in held] == sorted({*cluster_ids})
    for row in held:
        assert as_of_check(row) == as_of_check(expected)
        assert (row["source"], row["end_offset"], row["voters"]) == ("", None, [])
    assert sum(one["notes"] for one in held) == expected["notes"] == len(cluster_ids)


def test_a_later_round_of_formatted_directories_has_a_verdict_too(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    """A build that goes on with another says what one build of all rounds says."""
    own, rounds = cluster_of(data), [tmp_path / name for name in ("first", "second", "third")]
    shutil.copytree(data / RECORDED / "1", rounds[0] / "1")
    format_only(rounds[1] / "4", 4, ANOTHER)  # a cluster that the lake doesn't know
    shutil.copytree(data / RECORDED / "2", rounds[2] / "2")
    format_only(rounds[2] / "3", 3, ANOTHER)  # now it counts for the cluster beside it

    def ingest(lake: Path, taken: Path) -> None:
        assert kraftlake("ingest", "--lake", lake, taken).code in (0, 1)

    def build(lake: Path) -> dict[str, dict[str, Any]]:
        assert kraftlake("build", "--lake", lake).code == 0
        held = rows(lake, "SELECT * FROM gold.verdicts")
        return {one["cluster_id"]: as_of_check(one) for one in held}

    told = []
    for number, taken in enumerate(rounds, start=1):
        ingest(tmp_path / "grown", taken)
        told.append(build(tmp_path / "grown"))
        for earlier in rounds[:number]:
            ingest(tmp_path / f"at-once-{number}", earlier)
        assert build(tmp_path / f"at-once-{number}") == told[-1]
    assert [{*one} for one in told] == [{own}, {own, ANOTHER}, {own}]
    assert told[1][own] == told[0][own]
    assert told[1][ANOTHER]["level"] == "incomplete"
    rules = [rule for fact in told[2][own]["facts"] for rule in fact["rules"]]
    assert "formatted-for-another-cluster" in rules
