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
from tests.replica.doctor.check.first_start import CLUSTER, format_only, start

RECORDED, OTHER = "kafka-4.1.1-dynamic/final", "kafka-4.4.0-dynamic/final"
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
    ("node_id", "cluster_id", "rules"),
    [
        pytest.param(4, None, ["never-started"], marks=pytest.mark.slow),
        pytest.param(3, None, ["never-started", "voter-disk-empty"], marks=pytest.mark.slow),
        (3, ANOTHER, ["formatted-for-another-cluster", "voter-disk-empty"]),
    ],
    ids=["no voter", "a voter", "a voter's disk of another cluster"],
)
def test_a_lake_says_of_a_formatted_directory_what_check_says(
    data: Path,
    tmp_path: Path,
    kraftlake: Kraftlake,
    node_id: int,
    cluster_id: str | None,
    rules: list[str],
) -> None:
    nodes, lake, own = tmp_path / "nodes", tmp_path / "lake", cluster_of(data)
    for node in (1, 2):
        shutil.copytree(data / RECORDED / str(node), nodes / str(node))
    emptied = format_only(nodes / str(node_id), node_id, cluster_id or own)
    format_only(nodes / "1" / "disk-2", 1, own)  # another disk of a node that has started
    checked = kraftlake("check", "--json", nodes)
    (expected,) = checked.verdicts
    assert kraftlake("ingest", "--lake", lake, nodes).code in (0, 1)
    assert kraftlake("build", "--lake", lake).code == 0
    captures = "SELECT node_id, cluster_id, log_end_offset FROM bronze.captures ORDER BY node_id"
    assert [(one["node_id"], one["cluster_id"]) for one in rows(lake, captures)] == [
        (1, own), (2, own), (node_id, cluster_id or own)
    ]  # fmt: skip
    found = rows(lake, "SELECT * FROM gold.findings ORDER BY rule")
    mine = [one for one in found if one["file"] == f"{emptied}/meta.properties"]
    assert [one["rule"] for one in mine] == rules
    assert all(one["cluster_id"] == own for one in mine if one["rule"] == "voter-disk-empty")
    (row,) = rows(lake, "SELECT * FROM gold.verdicts")
    assert row["cluster_id"] == own
    assert as_of_check(row) == as_of_check(expected)
    assert row["notes"] == expected["notes"]
    doubts = {one["node_id"]: one["doubt"] for one in row["voters"]}
    assert doubts[3] == ("no-log" if node_id == 3 else "not-given")
    exposed = kraftlake("state", "--exposure", "--json", nodes).answers
    assert exposed == kraftlake("state", "--exposure", "--json", "--lake", lake).answers
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
    [
        pytest.param((CLUSTER,), marks=pytest.mark.slow),
        pytest.param((CLUSTER, CLUSTER, CLUSTER), marks=pytest.mark.slow),
        (CLUSTER, ANOTHER, A_THIRD),
    ],
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


@pytest.mark.parametrize("is_captured_first", [True, False])
def test_a_further_disk_of_a_broker_is_no_voter_that_lost_its_log(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, is_captured_first: bool
) -> None:
    nodes, lake, taken = tmp_path / "nodes", tmp_path / "lake", tmp_path / "taken"
    for node in (1, 2):
        shutil.copytree(data / RECORDED / str(node), nodes / str(node))
    disk = format_only(nodes / "3-disk2", 3, cluster_of(data))
    (disk / "orders-0").mkdir()
    (disk / "orders-0/partition.metadata").write_text("version: 0\n")
    (expected,) = kraftlake("check", "--json", nodes).verdicts
    if is_captured_first:
        assert kraftlake("capture", nodes, "-o", taken).code == 0
    source = taken if is_captured_first else nodes
    assert kraftlake("ingest", "--lake", lake, source).code in (0, 1)
    assert kraftlake("build", "--lake", lake).code == 0
    (row,) = rows(lake, "SELECT * FROM gold.verdicts")
    assert {one["node_id"]: one["doubt"] for one in row["voters"]}[3] == "not-given"
    found = [one["rule"] for one in rows(lake, "SELECT rule FROM gold.findings WHERE node_id = 3")]
    assert found == ([] if is_captured_first else ["metadata-log-not-given"])
    if not is_captured_first:
        assert as_of_check(row) == as_of_check(expected)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("stays", ["formatted", "of another cluster"])
def test_a_directory_of_another_cluster_that_stays_the_same_is_in_later_rounds_too(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, stays: str
) -> None:
    """What a look has shown is not forgotten by the next one: node 1 has changed, and the other
    directory is as it was."""
    own, lake, looks = cluster_of(data), tmp_path / "lake", ("live", "final")
    for look in looks:
        recorded, nodes = (data / RECORDED).parent / look, tmp_path / look
        shutil.copytree(recorded / "1", nodes / "1")
        if stays == "formatted":
            format_only(nodes / "3", 3, ANOTHER)
        else:
            shutil.copytree(data / OTHER / "3", nodes / "3")
        assert kraftlake("ingest", "--lake", lake, nodes).code in (0, 1)
        assert kraftlake("build", "--lake", lake).code == 0
        checked = kraftlake("check", "--json", nodes).verdicts
        (expected,) = (one for one in checked if one["cluster_id"] == own)
        (row,) = rows(lake, f"SELECT * FROM gold.verdicts WHERE cluster_id = '{own}'")
        assert as_of_check(row) == as_of_check(expected), look
        numbers = rows(lake, "SELECT cluster_id, max(ingest_seq) AS n FROM bronze.captures "
                             "GROUP BY cluster_id")  # fmt: skip
        assert {one["n"] for one in numbers} == {1 + looks.index(look)}, "of both, in each round"
    again = kraftlake("ingest", "--lake", lake, tmp_path / "final")
    assert "nothing new" in again.err


@pytest.mark.parametrize(
    ("voters", "given"),
    [((1, 2, 3), 3), *(pytest.param(one, 2, marks=pytest.mark.slow) for one in ((1, 2, 3), ()))],
)
def test_a_quorum_without_a_first_election_has_the_verdict_of_check(
    tmp_path: Path, kraftlake: Kraftlake, voters: tuple[int, ...], given: int
) -> None:
    nodes, lake = tmp_path / "nodes", tmp_path / "lake"
    for node_id in range(1, given + 1):
        start(nodes / str(node_id), node_id, voters=voters)
    (expected,) = kraftlake("check", "--json", nodes).verdicts
    assert kraftlake("ingest", "--lake", lake, nodes).code in (0, 1)
    assert kraftlake("build", "--lake", lake).code == 0
    (row,) = rows(lake, "SELECT * FROM gold.verdicts")
    assert as_of_check(row) == as_of_check(expected)
    found = {one["rule"] for one in rows(lake, "SELECT * FROM gold.findings")}
    assert ("formatted-without-voters" in found) is not bool(voters)
