"""What directories say of each other, as a lake tells it: other clusters, names and leaders."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from jobs.build import run as build
from jobs.cli.commands.lake import BuildOptions, IngestOptions
from jobs.ingest import run as ingest
from pipelines import build as building
from pipelines.lake import Lake
from replica.doctor.check import membership
from replica.format.file_names import METADATA_FOLDER
from tests.jobs.conftest import Kraftlake
from tests.jobs.lake_verdicts import lake_of, row_of, rows, verdicts_by_check
from tests.jobs.test_disks_of_several_clusters import cluster_of
from tests.replica.doctor.check.first_start import start

SPLIT = "kafka-4.1.1-dynamic/split"


def renamed(data: Path, folder: Path) -> None:
    """A quorum of which a node's meta.properties names another cluster."""
    shutil.copytree(data / "kafka-4.1.1-dynamic/final", folder)
    meta = folder / "3/meta.properties"
    text = meta.read_text()
    name = next(line for line in text.splitlines() if line.startswith("cluster.id="))
    meta.write_text(text.replace(name, "cluster.id=SeqmQktRQ9eNfuKic4TCIg"))


def of_two_clusters(data: Path, folder: Path) -> None:
    """Two voters of one cluster, and the disk of another cluster's in place of the third's."""
    for node, source in ((1, "kafka-4.1.1-dynamic"), (2, "kafka-4.1.1-dynamic"),
                         (3, "kafka-4.4.0-dynamic")):  # fmt: skip
        shutil.copytree(data / source / f"final/{node}", folder / str(node))


def two_leaders(data: Path, folder: Path) -> None:
    """A quorum of which two nodes' quorum-state files name two leaders of one epoch."""
    shutil.copytree(data / "kafka-4.1.1-dynamic/final", folder)
    path = folder / f"3/{METADATA_FOLDER}/quorum-state"
    state = json.loads(path.read_text())
    path.write_text(json.dumps(state | {"leaderId": 3 if state["leaderId"] != 3 else 1}))


def formatted_apart(data: Path, folder: Path) -> None:
    """Nodes that name each other as voters, formatted with three cluster ids, and never led."""
    ids = ("wK4Z31XJSxyKdzPVlZaFsg", "umhhrJzySwu63ILwBFi6wQ", "SeqmQktRQ9eNfuKic4TCIg")
    for node, cluster_id in enumerate(ids, start=1):
        start(folder / str(node), node, cluster_id)


def foreign_and_empty(data: Path, folder: Path) -> None:
    """A voter's node started with a disk of another cluster that holds no record."""
    shutil.copytree(data / "kafka-4.1.1-dynamic/final/2", folder / "2")
    start(folder / "1", 1)


class Mixed(NamedTuple):
    """The directories of of_two_clusters, and a lake of them. Read only."""

    nodes: Path
    lake: Path


@pytest.fixture(scope="module")
def mixed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    folder = tmp_path_factory.mktemp("mixed")
    of_two_clusters(data, folder / "nodes")
    lake = Lake(folder / "lake")
    assert ingest(IngestOptions([str(folder / "nodes")], lake)) in (0, 1)
    assert build(BuildOptions(lake)) == 0
    return Mixed(folder / "nodes", folder / "lake")


@pytest.mark.parametrize(
    "nodes_of",
    [
        renamed,
        of_two_clusters,
        pytest.param(two_leaders, marks=pytest.mark.slow),
        formatted_apart,
        foreign_and_empty,
    ],
)
def test_the_verdict_counts_what_directories_say_of_each_other(
    data: Path,
    tmp_path: Path,
    kraftlake: Kraftlake,
    mixed: Mixed,
    nodes_of: Callable[[Path, Path], None],
) -> None:
    nodes, lake = mixed
    if nodes_of is not of_two_clusters:
        nodes = tmp_path / "nodes"
        nodes_of(data, nodes)
        lake = lake_of(kraftlake, tmp_path / "lake", nodes)
    told = {row["cluster_id"]: row for row in rows(lake, "SELECT * FROM gold.verdicts")}
    expected = {one.cluster_id: one for one in verdicts_by_check(nodes)}
    assert told.keys() == expected.keys()
    for cluster_id, verdict in expected.items():
        row = told[cluster_id]
        assert (row["level"], row["headline"]) == (verdict.level.value, verdict.headline)
        assert [tuple(fact["rules"]) for fact in row["facts"]] == [
            fact.rules for fact in verdict.facts
        ]
        if row["end_offset"] is not None:  # a lake has other words where no record tells a state
            assert tuple(row["next_steps"]) == verdict.next_steps
        assert [one["next_step"] for one in row["facts"]] == [
            fact.next_step for fact in verdict.facts
        ]
        assert row["notes"] == verdict.notes
    between = {rule.id for rule in membership.RULES}
    assert between & {rule for row in told.values() for fact in row["facts"] for rule in
                      fact["rules"]}  # fmt: skip


@pytest.mark.slow
def test_a_later_build_keeps_what_directories_said_of_each_other(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, mixed: Mixed
) -> None:
    lake = Path(shutil.copytree(mixed.lake, tmp_path / "lake"))
    before = rows(lake, "SELECT * FROM gold.verdicts ORDER BY cluster_id")
    # an older capture of both, so that no round is new that has their newest ones
    old = ("--captured-at", "2020-01-01T00:00:00Z")
    earlier = data / "kafka-4.1.1-dynamic/live"
    assert kraftlake("ingest", "--lake", lake, *old, earlier).code in (0, 1)
    assert kraftlake("build", "--lake", lake).code == 0
    after = rows(lake, "SELECT * FROM gold.verdicts ORDER BY cluster_id")
    assert [one["headline"] for one in after] == [one["headline"] for one in before]
    assert [len(one["facts"]) for one in after] == [len(one["facts"]) for one in before]


@pytest.mark.slow
def test_a_build_of_more_captures_replaces_the_verdict(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lake = lake_of(kraftlake, tmp_path / "lake", data / "kafka-4.1.1-dynamic/live")
    assert row_of(lake)["level"] == "healthy"
    lake_of(kraftlake, lake, data / SPLIT)
    assert row_of(lake)["level"] == "outage"


def test_disks_of_two_clusters_are_told_by_the_lake_too(kraftlake: Kraftlake, mixed: Mixed) -> None:
    nodes, lake = mixed
    found = rows(lake, "SELECT * FROM gold.findings WHERE rule = 'disk-of-another-cluster'")
    (expected,) = (
        one
        for one in kraftlake("check", "--json", nodes).findings
        if one["rule"] == "disk-of-another-cluster"
    )
    assert [(one["message"], one["file"]) for one in found] == [
        (expected["message"], expected["file"])
    ]


def test_a_voter_whose_node_has_another_cluster_s_disk_is_counted_by_no_plan_of_a_lake(
    kraftlake: Kraftlake, mixed: Mixed
) -> None:
    nodes, lake = mixed
    held = rows(lake, "SELECT cluster_id, voters FROM gold.verdicts")
    doubts = {tuple(one["doubt"] for one in row["voters"]) for row in held}
    foreign = "of-another-cluster"
    assert doubts == {(None, None, foreign), (foreign, foreign, None)}
    ours = next(row["cluster_id"] for row in held if row["voters"][0]["doubt"] is None)
    plan = "plan", "--json", "--roll", "--cluster", ours
    of_lake, of_files = kraftlake(*plan, "--lake", lake), kraftlake(*plan, nodes)
    told = [[(one["answer"], one["detail"]) for one in ended.answers[0]["reasons"]]
            for ended in (of_lake, of_files)]  # fmt: skip
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "derived",
    [
        "in one unit",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("in several stages", "grown")),
    ],
)
def test_a_lake_counts_the_voters_beside_another_cluster_s_disk_that_check_counts(
    data: Path,
    tmp_path: Path,
    kraftlake: Kraftlake,
    mixed: Mixed,
    monkeypatch: pytest.MonkeyPatch,
    derived: str,
) -> None:
    nodes, lake = mixed
    if derived != "in one unit":
        lake = tmp_path / "lake"
        if derived == "in several stages":
            monkeypatch.setattr(building, "_MOST_RECORDS", 100)
        else:
            live = data / "kafka-4.1.1-dynamic/live"
            lake_of(kraftlake, lake, live / "1", live / "2")
        lake_of(kraftlake, lake, nodes)
    health = [row for row in kraftlake("check", "--json", nodes).findings
              if row["family"] == "health"]  # fmt: skip
    found = rows(lake, "SELECT * FROM gold.findings WHERE family = 'health'")
    assert {(one["rule"], one["message"]) for one in health} == {
        (one["rule"], one["message"]) for one in found
    }
    left = {}
    for row in rows(lake, "SELECT cluster_id FROM gold.verdicts"):
        cluster = row["cluster_id"]
        by_files = kraftlake("state", "--exposure", "--json", "--cluster", cluster, nodes).answers
        where = f"WHERE cluster_id = '{cluster}'"
        table = rows(lake, f"SELECT * FROM gold.failure_exposure {where}")
        figures = ("leaderless", "below_min_isr", "voters_left", "has_majority")
        assert {(one["kind"], ",".join(one["gone"])): [one[name] for name in figures]
                for one in by_files} == {
            (one["kind"], one["gone"]): [one[name] for name in figures] for one in table
        }  # fmt: skip
        left[cluster] = next(one["voters_left"] for one in table if one["kind"] == "nothing")
    assert sorted(left.values()) == [1, 2]


def test_a_foreign_disk_stands_above_an_outage_in_one_line_and_on_the_report_s_page(
    kraftlake: Kraftlake, mixed: Mixed, tmp_path: Path
) -> None:
    (nodes, lake), page = mixed, tmp_path / "page"
    ours, told = cluster_of(nodes / "1"), "Node 3's disk is of another cluster: "
    outage, other = kraftlake("check", "-q", nodes).lines
    assert outage.startswith("OUTAGE ")
    assert f" Before any start: {told}" in outage
    assert other.startswith(f"AT RISK     {told}")
    ended = kraftlake("report", "--lake", lake, "--cluster", ours, "-o", page)
    first, second, third, *_ = ended.lines
    assert first.startswith(f"AT RISK     {told}")
    assert second.startswith("  next      Node 3: Give the node its own disk: ")
    assert third.startswith("OUTAGE      933 of 1105 partitions")
    assert any(one.startswith(f"cluster     {ours}") for one in ended.lines)
    (summary,) = re.findall(r'<section class="verdict.*?</section>', page.read_text(), re.DOTALL)
    assert summary.index("disk is of another cluster") < summary.index("933 of 1105")
