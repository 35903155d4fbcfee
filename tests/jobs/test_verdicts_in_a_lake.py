"""gold.verdicts has what `kraftlake check` says of the newest captures, and plan takes it from
there."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from jobs.build import run as build
from jobs.cli.commands.lake import BuildOptions, IngestOptions
from jobs.ingest import run as ingest
from pipelines import build as building
from pipelines.lake import Lake
from replica.doctor.quorum.log_ends import COPYING_MS
from replica.doctor.quorum.registered_later import REGISTERING_MS
from replica.doctor.verdict.verdict import Level
from replica.simulate.metadata_records import topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.jobs.lake_verdicts import lake_of, rows, verdict_by_check
from tests.jobs.two_histories import two_histories
from tests.replica.doctor.check.test_registered_later import cut_before_registering
from tests.replica.doctor.check.test_voter_behind import cut_whole
from tests.replica.doctor.verdict.test_without_winner import (
    lose_one_after_the_other,
    quorum_of,
    stands_alone,
)

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


def behind(folder: Path) -> Path:
    """Three voters, of which 3 has been cut off for longer than copying directories takes."""
    quorum = ScriptedQuorum("a voter behind in a lake", Layout(voters=3, observers=1))
    quorum.begin("orders")
    quorum.settle()
    quorum.cut([3])
    quorum.run_ms(COPYING_MS + 5_000)
    quorum.append(1, topic_config("orders", "retention.ms", "1"))
    quorum.run_ms(600)
    write_capture(quorum.capture(), str(folder))
    return folder


def old_log(folder: Path) -> Path:
    """The voters were formatted anew, and a broker has the longer log of the quorum before."""
    before, now = (
        ScriptedQuorum("a broker's old log in a lake", Layout(voters=3, observers=1))
        for _ in range(2)
    )
    before.begin("orders", "payments", "refunds")
    now.begin("invoices")
    for quorum in (before, now):
        quorum.settle()
    capture = now.capture()
    files = {**capture.files, 4: before.capture().files[4]}
    write_capture(replace(capture, files=files), str(folder))
    return folder


CASES = (
    "split", "endless-elections", "stale", "clean-failover", "stopped", "alone", "behind",
    "registered", "registered in an earlier epoch", "two-quorums", "old log", "two histories",
    "nobody elected",
)  # fmt: skip


@dataclass(frozen=True)
class LakeOfCases:
    """A lake that holds each case as a cluster, which an ingest of its own brought in."""

    place: Path
    nodes: Mapping[str, Path]
    """The directories of each case."""

    def cluster(self, case: str) -> str:
        return cluster_of(self.nodes[case])

    def asked(self, case: str) -> tuple[str | Path, ...]:
        """The options of a command that asks about a case."""
        return "--lake", self.place, "--cluster", self.cluster(case)

    def rows(self, case: str, table: str, more: str = "true") -> list[dict[str, Any]]:
        where = f"cluster_id = '{self.cluster(case)}' AND {more}"
        return rows(self.place, f"SELECT * FROM {table} WHERE {where}")

    def verdict(self, case: str) -> dict[str, Any]:
        (row,) = self.rows(case, "gold.verdicts")
        return row


@pytest.fixture(scope="module")
def lake(data: Path, tmp_path_factory: pytest.TempPathFactory) -> LakeOfCases:
    folder = tmp_path_factory.mktemp("cases")
    nodes, place = {}, folder / "lake"
    for number, name in enumerate(CASES):
        nodes[name] = folder / name / "nodes"
        write_case(data, nodes[name], name)
        if name in OF_RECORDED:
            rename(nodes[name], f"VerdictsInALake00000{number}A")
        ingest(IngestOptions([str(nodes[name])], Lake(place), accept_damage=True))
    assert build(BuildOptions(Lake(place))) == 0
    return LakeOfCases(place, nodes)


UNLIKE = ("behind", "two-quorums", "two histories")
"""The cases of which directories tell more: a lake has no text about whose disks were put back."""
OF_RECORDED = ("split", "alone", "registered", "registered in an earlier epoch")
"""The cases that are made of one recorded cluster, and get ids of their own."""


def write_case(data: Path, nodes: Path, name: str) -> None:
    if name == "split":
        shutil.copytree(data / SPLIT, nodes)
    elif name == "alone":
        shutil.copytree(data / SPLIT / "3", nodes / "3")
    elif name == "stale":
        stale(nodes)
    elif name == "stopped":
        stopped(nodes)
    elif name == "behind":
        behind(nodes)
    elif name == "old log":
        old_log(nodes)
    elif name == "two histories":
        two_histories(nodes)
    elif name == "nobody elected":
        quorum = quorum_of(3)
        lose_one_after_the_other(quorum)
        stands_alone(quorum, nodes, 1)
    elif name.startswith("registered"):
        older_than_its_process(data, nodes, in_an_earlier_epoch="epoch" in name)
    else:
        write_capture(SCENARIOS_BY_NAME[name].capture(), str(nodes))


def rename(nodes: Path, cluster_id: str) -> None:
    """Give the directories another cluster id."""
    old = cluster_of(nodes)
    for path in nodes.glob("*/meta.properties"):
        path.write_text(path.read_text().replace(old, cluster_id))


def cluster_of(nodes: Path) -> str:
    text = next(iter(nodes.glob("*/meta.properties"))).read_text()
    return text.partition("cluster.id=")[2].split()[0]


@pytest.mark.parametrize("name", [one for one in CASES if one not in UNLIKE])
def test_the_table_has_the_verdict_of_check(lake: LakeOfCases, name: str) -> None:
    expected = verdict_by_check(lake.nodes[name])
    if name == "old log":
        assert expected.facts[0].rules == ("conflict",)
        assert expected.state is not None
        assert expected.state.source != "node 4", "no leader has what the broker holds"
    if name == "nobody elected":
        assert expected.facts[0].rules == ("elections-without-winner",)
        assert expected.level is Level.OUTAGE
    if name.startswith("registered"):
        assert "stale-voter" in {rule for fact in expected.facts for rule in fact.rules}
    row = lake.verdict(name)
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


def test_a_stale_voter_is_a_finding_of_its_capture(lake: LakeOfCases, kraftlake: Kraftlake) -> None:
    found = kraftlake("check", "--json", lake.nodes["stale"]).findings
    expected = [
        (one["message"], one["file"], one["epoch"]) for one in found if one["rule"] == "stale-voter"
    ]
    table = lake.rows("stale", "gold.findings", "rule = 'stale-voter'")
    assert expected
    assert [(one["message"], one["file"], one["epoch"]) for one in table] == expected
    doubts = {one["node_id"]: one["doubt"] for one in lake.verdict("stale")["voters"]}
    assert [node for node, doubt in doubts.items() if doubt == "stale"] == [
        one["node_id"] for one in table
    ]


def test_what_no_majority_holds_is_told_by_the_lake_too(
    lake: LakeOfCases, kraftlake: Kraftlake
) -> None:
    nodes = lake.nodes["stopped"]
    (found,) = lake.rows("stopped", "gold.findings", "rule = 'majority-stopped'")
    (expected,) = (
        one
        for one in kraftlake("check", "--json", nodes).findings
        if one["rule"] == "majority-stopped"
    )
    assert (found["message"], found["offset"]) == (expected["message"], expected["offset"])
    row = lake.verdict("stopped")
    assert row["possible_end"] == found["offset"] > row["proven_end"] - 1
    # of 3 voters 2 have stopped: the figures about voters that are left say so, too
    figures = ("kind", "gone", "voters_left", "has_majority")
    exposed = [kraftlake("state", "--exposure", "--json", nodes),
               kraftlake("state", "--exposure", "--json", *lake.asked("stopped"))]  # fmt: skip
    by_files, by_lake = (
        [[one[name] for name in figures] for one in each.answers] for each in exposed
    )
    assert by_files[0] == ["nothing", [], 1, False]
    assert by_files == by_lake
    table = lake.rows("stopped", "gold.failure_exposure")
    assert sorted([kind, ",".join(gone), *others] for kind, gone, *others in by_files) == sorted(
        [one[name] for name in figures] for one in table
    )
    assert "voters 2 and 3: not counted: their logs end together" in exposed[0].err


@pytest.mark.parametrize("name", ["nobody elected", "endless-elections"])
def test_the_table_of_exposures_knows_that_nobody_leads(
    lake: LakeOfCases, kraftlake: Kraftlake, name: str
) -> None:
    """Then no partition gets another leader: the table was made without the verdict."""
    figures = ("kind", "leaderless", "needs_unclean", "voters_left", "has_majority")
    told = kraftlake("state", "--exposure", "--json", lake.nodes[name]).answers
    table = lake.rows(name, "gold.failure_exposure")
    assert sorted([",".join(one["gone"]), *(one[key] for key in figures)] for one in told) == (
        sorted([one["gone"], *(one[key] for key in figures)] for one in table)
    )


def test_a_voter_that_is_behind_is_counted_by_no_plan_of_a_lake(
    lake: LakeOfCases, kraftlake: Kraftlake
) -> None:
    nodes = lake.nodes["behind"]
    change = ("plan", "--json", "--remove-voter", "2")
    asked = [kraftlake(*change, nodes), kraftlake(*change, *lake.asked("behind"))]
    by_files, by_lake = (ended.answers[0] for ended in asked)
    (reason,) = (one for one in by_files["reasons"] if "can't be counted" in one["detail"])
    assert "voter 3 can't be counted: its log ends " in reason["detail"]
    assert reason in by_lake["reasons"]
    assert by_files["answer"] == by_lake["answer"] == "unknown"
    exposure = ("state", "--exposure", "--json")
    left = [row["voters_left"] for row in kraftlake(*exposure, *lake.asked("behind")).answers]
    assert left == [row["voters_left"] for row in kraftlake(*exposure, nodes).answers]
    assert left[0] == 2
    table = lake.rows("behind", "gold.failure_exposure", "kind = 'nothing'")
    assert [one["voters_left"] for one in table] in ([], [2])


def test_plan_stands_on_the_same_ground_in_a_lake(lake: LakeOfCases, kraftlake: Kraftlake) -> None:
    change = ("plan", "--json", "--stop-broker", "4")
    of_lake = kraftlake(*change, *lake.asked("two-quorums"))
    of_directories = kraftlake(*change, lake.nodes["two-quorums"])
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


def test_of_two_histories_none_is_called_uncommitted_and_none_is_planned_by(
    lake: LakeOfCases, kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """The lake's state may be of the history that is not that of the newest log."""
    asked = lake.asked("two histories")
    findings = lake.rows("two histories", "gold.findings")
    assert {one["offset"] for one in findings if one["rule"] == "conflict"} == {20}
    assert {one["rule"] for one in findings}.isdisjoint(("state-not-committed", "voter-behind"))
    report = kraftlake("report", *asked, "-o", tmp_path / "report.html")
    assert "from offset 20 on" in report.out
    assert "majority" not in report.out
    plans = [
        kraftlake("plan", "--json", "--roll", *each).answers[0]
        for each in (asked, (lake.nodes["two histories"],))
    ]
    told = [(one["first"], one["reasons"], one["needs"]) for one in plans]
    assert told[0] == told[1]
    assert not kraftlake("state", "--exposure", "--json", *asked).answers


def test_an_older_moment_has_a_verdict_of_its_state_alone(
    lake: LakeOfCases, kraftlake: Kraftlake
) -> None:
    change = ("plan", "--json", "--stop-broker", "12", *lake.asked("split"))
    verdict = kraftlake(*change, "--at-offset", "1000").rows[0]
    (gap,) = (one for one in verdict["not_judged"] if one["what"] == "the files of the nodes")
    assert gap["why"] == "the state of an earlier moment was asked for"
    assert kraftlake(*change).rows[0]["not_judged"] == []
