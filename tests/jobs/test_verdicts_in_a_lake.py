"""gold.verdicts has what `kraftlake check` says of the newest captures, and plan takes it from
there."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines import build as building
from replica.doctor.quorum.log_ends import COPYING_MS
from replica.doctor.quorum.registered_later import REGISTERING_MS
from replica.simulate.metadata_records import topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.jobs.lake_verdicts import lake_of, row_of, rows, verdict_by_check
from tests.replica.doctor.check.test_registered_later import cut_before_registering
from tests.replica.doctor.check.test_voter_behind import cut_whole

SPLIT = "kafka-4.1.1-dynamic/split"


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


def test_a_voter_that_is_behind_is_counted_by_no_plan_of_a_lake(
    tmp_path: Path, kraftlake: Kraftlake
) -> None:
    quorum = ScriptedQuorum("a voter behind in a lake", Layout(voters=3, observers=1))
    quorum.begin("orders")
    quorum.settle()
    quorum.cut([3])
    quorum.run_ms(COPYING_MS + 5_000)
    quorum.append(1, topic_config("orders", "retention.ms", "1"))
    quorum.run_ms(600)
    nodes = tmp_path / "nodes"
    write_capture(quorum.capture(), str(nodes))
    lake = lake_of(kraftlake, tmp_path / "lake", nodes)
    change = ("plan", "--json", "--remove-voter", "2")
    asked = [kraftlake(*change, nodes), kraftlake(*change, "--lake", lake)]
    by_files, by_lake = (ended.answers[0] for ended in asked)
    (reason,) = (one for one in by_files["reasons"] if "can't be counted" in one["detail"])
    assert "voter 3 can't be counted: its log ends " in reason["detail"]
    assert reason in by_lake["reasons"]
    assert by_files["answer"] == by_lake["answer"] == "unknown"
    exposure = ("state", "--exposure", "--json")
    left = [row["voters_left"] for row in kraftlake(*exposure, "--lake", lake).rows]
    assert left == [row["voters_left"] for row in kraftlake(*exposure, nodes).rows]
    assert left[0] == 2
    table = rows(lake, "SELECT voters_left FROM gold.failure_exposure WHERE kind = 'nothing'")
    assert [one["voters_left"] for one in table] in ([], [2])


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
