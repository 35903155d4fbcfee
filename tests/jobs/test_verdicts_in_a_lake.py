"""gold.verdicts has what `kraftlake check` says of the newest captures, and plan takes it from
there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs.cli.asking.sql_delta_rs import named_rows
from pipelines import build as building
from pipelines.lake import Lake
from replica.doctor.check import membership
from replica.doctor.check.examined import examine
from replica.doctor.check.group import judge_group
from replica.doctor.quorum.registered_later import REGISTERING_MS
from replica.doctor.verdict.evidence_of_directories import clusters_of, evidence_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Verdict
from replica.format.discovery import discover
from replica.format.file_names import METADATA_FOLDER
from replica.simulate.metadata_records import topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.first_start import start
from tests.replica.doctor.check.test_registered_later import cut_before_registering
from tests.replica.doctor.check.test_voter_behind import cut_whole

SPLIT = "kafka-4.1.1-dynamic/split"


def lake_of(kraftlake: Kraftlake, place: Path, *nodes: Path) -> Path:
    """A lake of these directories, which one ingest brought in."""
    assert kraftlake("ingest", "--lake", place, *nodes).code in (0, 1)
    built = kraftlake("build", "--lake", place)
    assert built.code == 0, built.err
    return place


def rows(lake: Path, query: str) -> list[dict[str, Any]]:
    return [*named_rows(Lake(str(lake)), query)]


def verdicts_by_check(*nodes: Path) -> list[Verdict]:
    group = [examine(found) for found in discover([*map(str, nodes)])]
    return [
        verdict_on(evidence_of(one)) for one in clusters_of(judge_group(group, newest=True), {})
    ]


def verdict_by_check(*nodes: Path) -> Verdict:
    (verdict,) = verdicts_by_check(*nodes)
    return verdict


def row_of(lake: Path) -> dict[str, Any]:
    (row,) = rows(lake, "SELECT * FROM gold.verdicts")
    return row


def stopped(folder: Path) -> Path:
    """A quorum of which only the leader and an observer are left, and take changes."""
    quorum = ScriptedQuorum("stopped quorum in a lake", Layout(voters=3, observers=1))
    quorum.begin("orders")
    quorum.settle()
    quorum.crash(2, 3)
    quorum.append(1, topic_config("orders", "retention.ms", "1"))
    quorum.run_ms(600)
    quorum.append(1, topic_config("orders", "retention.ms", "2"))
    quorum.run_ms(100)
    write_capture(quorum.capture(), str(folder))
    return folder


@pytest.mark.parametrize(
    "name",
    ["split", "endless-elections", "stale", "clean-failover", "stopped", "alone",
     "registered", "registered in an earlier epoch"],
)  # fmt: skip
def test_the_table_has_the_verdict_of_check(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, name: str
) -> None:
    nodes = tmp_path / "nodes"
    if name == "split":
        shutil.copytree(data / SPLIT, nodes)
    elif name == "alone":
        shutil.copytree(data / SPLIT / "3", nodes / "3")
    elif name == "stale":
        stale(nodes)
    elif name == "stopped":
        stopped(nodes)
    elif name.startswith("registered"):
        older_than_its_process(data, nodes, in_an_earlier_epoch="epoch" in name)
    else:
        write_capture(SCENARIOS_BY_NAME[name].capture(), str(nodes))
    expected = verdict_by_check(nodes)
    if name.startswith("registered"):
        assert "stale-voter" in {rule for fact in expected.facts for rule in fact.rules}
    row = row_of(lake_of(kraftlake, tmp_path / "lake", nodes))
    assert (row["level"], row["headline"]) == (expected.level.value, expected.headline)
    told = [(one["level"], tuple(one["rules"])) for one in row["facts"]]
    assert told == [(fact.level.value, fact.rules) for fact in expected.facts]
    assert [one["what"] for one in row["not_judged"]] == [gap.what for gap in expected.not_judged]
    assert tuple(row["next_steps"]) == expected.next_steps
    assert row["end_offset"] == (None if expected.state is None else expected.state.end_offset)


def older_than_its_process(data: Path, folder: Path, *, in_an_earlier_epoch: bool) -> None:
    """A quorum of which voter 2's log ends before its process registered."""
    for node in ("1", "2", "3"):
        shutil.copytree(data / "kafka-4.1.1-dynamic/final" / node, folder / node)
    if in_an_earlier_epoch:
        cut_whole(folder / "2", 29_500)  # the last epoch began 28.4 s before the end
    else:
        cut_before_registering(folder / "2", REGISTERING_MS + 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("derived", ["in several stages", "grown"])
def test_a_lake_in_parts_finds_a_disk_that_is_older_than_its_process(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch, derived: str
) -> None:
    older_than_its_process(data, tmp_path / "nodes", in_an_earlier_epoch=True)
    if derived == "in several stages":
        monkeypatch.setattr(building, "_MOST_RECORDS", 100)
    else:
        lake_of(kraftlake, tmp_path / "lake", data / "kafka-4.1.1-dynamic/live/1")
    lake = lake_of(kraftlake, tmp_path / "lake", tmp_path / "nodes")
    (found,) = rows(lake, "SELECT node_id, message FROM gold.findings WHERE rule = 'stale-voter'")
    assert found["node_id"] == 2
    assert "its process registered at offset" in found["message"]


def stale(folder: Path) -> Path:
    """Three voters, of which 2 led an epoch that its directory doesn't know."""
    quorum = ScriptedQuorum("stale voter in a lake", Layout(voters=3, observers=1))
    quorum.begin("orders")
    quorum.settle()
    old = quorum.capture().files[2]
    quorum.crash(1)
    quorum.elect(2)
    quorum.populate(2, "payments")
    quorum.start(1)
    quorum.settle()
    now = quorum.capture()
    write_capture(replace(now, files={**now.files, 2: old}), str(folder))
    return folder


def test_a_stale_voter_is_a_finding_of_its_capture(tmp_path: Path, kraftlake: Kraftlake) -> None:
    nodes = stale(tmp_path / "nodes")
    lake = lake_of(kraftlake, tmp_path / "lake", nodes)
    found = kraftlake("check", "--json", nodes).findings
    expected = [
        (one["message"], one["file"], one["epoch"]) for one in found if one["rule"] == "stale-voter"
    ]
    table = rows(lake, "SELECT * FROM gold.findings WHERE rule = 'stale-voter'")
    assert expected
    assert [(one["message"], one["file"], one["epoch"]) for one in table] == expected
    doubts = {one["node_id"]: one["doubt"] for one in row_of(lake)["voters"]}
    assert [node for node, doubt in doubts.items() if doubt == "stale"] == [
        one["node_id"] for one in table
    ]


def test_what_no_majority_holds_is_told_by_the_lake_too(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    nodes = stopped(tmp_path / "nodes")
    lake = lake_of(kraftlake, tmp_path / "lake", nodes)
    (found,) = rows(lake, "SELECT * FROM gold.findings WHERE rule = 'majority-stopped'")
    (expected,) = (
        one
        for one in kraftlake("check", "--json", nodes).findings
        if one["rule"] == "majority-stopped"
    )
    assert (found["message"], found["offset"]) == (expected["message"], expected["offset"])
    row = row_of(lake)
    assert row["possible_end"] == found["offset"] > row["proven_end"] - 1
    # of 3 voters 2 have stopped: the figures about voters that are left say so, too
    figures = ("kind", "gone", "voters_left", "has_majority")
    exposed = [kraftlake("state", "--exposure", "--json", nodes),
               kraftlake("state", "--exposure", "--json", "--lake", lake)]  # fmt: skip
    by_files, by_lake = ([[one[name] for name in figures] for one in each.rows] for each in exposed)
    assert by_files[0] == ["nothing", [], 1, False]
    assert by_files == by_lake
    table = rows(lake, f"SELECT {', '.join(figures)} FROM gold.failure_exposure")
    assert sorted([kind, ",".join(gone), *others] for kind, gone, *others in by_files) == sorted(
        [*one.values()] for one in table
    )
    assert "voters 2 and 3: not counted: their logs end together" in exposed[0].err


def test_plan_stands_on_the_same_ground_in_a_lake(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    conflicting = tmp_path / "nodes"
    write_capture(SCENARIOS_BY_NAME["two-quorums"].capture(), str(conflicting))
    lake = lake_of(kraftlake, tmp_path / "lake", conflicting)
    change = ("plan", "--json", "--stop-broker", "4")
    of_lake = kraftlake(*change, "--lake", lake)
    of_directories = kraftlake(*change, conflicting)
    assert of_lake.rows[0]["level"] == of_directories.rows[0]["level"]
    said = [
        [
            (one["answer"], one["detail"])
            for one in ended.answers[0]["reasons"]
            if one["subject"] == "state" and "start n" in one["detail"]
        ]
        for ended in (of_lake, of_directories)
    ]
    assert said[0] == said[1]
    assert said[0], "the conflict is a reason"


def test_an_older_moment_has_a_verdict_of_its_state_alone(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lake = lake_of(kraftlake, tmp_path / "lake", data / SPLIT)
    change = ("plan", "--json", "--stop-broker", "12", "--lake", lake)
    verdict = kraftlake(*change, "--at-offset", "1000").rows[0]
    (gap,) = (one for one in verdict["not_judged"] if one["what"] == "the files of the nodes")
    assert gap["why"] == "the state of an earlier moment was asked for"
    assert kraftlake(*change).rows[0]["not_judged"] == []


def test_disks_of_two_clusters_are_told_by_the_lake_too(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    nodes = tmp_path / "nodes"
    of_two_clusters(data, nodes)
    lake = lake_of(kraftlake, tmp_path / "lake", nodes)
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
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    nodes = tmp_path / "nodes"
    of_two_clusters(data, nodes)
    lake = lake_of(kraftlake, tmp_path / "lake", nodes)
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


@pytest.mark.parametrize("derived", ["in one unit", "in several stages", "grown"])
def test_a_lake_counts_the_voters_beside_another_cluster_s_disk_that_check_counts(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, monkeypatch: pytest.MonkeyPatch, derived: str
) -> None:
    nodes, lake = tmp_path / "nodes", tmp_path / "lake"
    of_two_clusters(data, nodes)
    if derived == "in several stages":
        monkeypatch.setattr(building, "_MOST_RECORDS", 100)
    elif derived == "grown":
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
        by_files = kraftlake("state", "--exposure", "--json", "--cluster", cluster, nodes).rows
        where = f"WHERE cluster_id = '{cluster}'"
        table = rows(lake, f"SELECT * FROM gold.failure_exposure {where}")
        figures = ("leaderless", "below_min_isr", "voters_left", "has_majority")
        assert {(one["kind"], ",".join(one["gone"])): [one[name] for name in figures]
                for one in by_files} == {
            (one["kind"], one["gone"]): [one[name] for name in figures] for one in table
        }  # fmt: skip
        left[cluster] = next(one["voters_left"] for one in table if one["kind"] == "nothing")
    assert sorted(left.values()) == [1, 2]


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


@pytest.mark.parametrize(
    "nodes_of", [renamed, of_two_clusters, two_leaders, formatted_apart, foreign_and_empty]
)
def test_the_verdict_counts_what_directories_say_of_each_other(
    data: Path, tmp_path: Path, kraftlake: Kraftlake, nodes_of: Callable[[Path, Path], None]
) -> None:
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


def test_a_later_build_keeps_what_directories_said_of_each_other(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    of_two_clusters(data, tmp_path / "nodes")
    lake = lake_of(kraftlake, tmp_path / "lake", tmp_path / "nodes")
    before = rows(lake, "SELECT * FROM gold.verdicts ORDER BY cluster_id")
    # an older capture of both, so that no round is new that has their newest ones
    old = ("--captured-at", "2020-01-01T00:00:00Z")
    earlier = data / "kafka-4.1.1-dynamic/live"
    assert kraftlake("ingest", "--lake", lake, *old, earlier).code in (0, 1)
    assert kraftlake("build", "--lake", lake).code == 0
    after = rows(lake, "SELECT * FROM gold.verdicts ORDER BY cluster_id")
    assert [one["headline"] for one in after] == [one["headline"] for one in before]
    assert [len(one["facts"]) for one in after] == [len(one["facts"]) for one in before]


def test_a_build_of_more_captures_replaces_the_verdict(
    data: Path, tmp_path: Path, kraftlake: Kraftlake
) -> None:
    lake = lake_of(kraftlake, tmp_path / "lake", data / "kafka-4.1.1-dynamic/live")
    assert row_of(lake)["level"] == "healthy"
    lake_of(kraftlake, lake, data / SPLIT)
    assert row_of(lake)["level"] == "outage"
