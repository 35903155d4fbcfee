"""A quorum whose leader gave up, and where nobody leads since: every command says so first."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path

import pytest

from replica.simulate.metadata_records import topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake

FIRST = "OUTAGE      The quorum has no leader, and accepts no change: node "


@pytest.fixture
def leaderless(data: Path, tmp_path: Path) -> Path:
    """The nodes of a dynamic quorum whose last leader went on to a newer epoch without a leader."""
    folder = tmp_path / "nodes"
    shutil.copytree(data / "kafka-4.4.0-dynamic/final", folder)
    states = list(folder.glob("*/__cluster_metadata-0/quorum-state"))
    leader = max(
        (json.loads(path.read_text()) for path in states), key=lambda one: one["leaderEpoch"]
    )
    path = folder / str(leader["leaderId"]) / "__cluster_metadata-0/quorum-state"
    gave_up = {"leaderId": -1, "leaderEpoch": leader["leaderEpoch"] + 1, "votedId": -1}
    path.write_text(json.dumps({**json.loads(path.read_text()), **gave_up}))
    return folder


def test_the_outage_is_said(kraftlake: Kraftlake, leaderless: Path) -> None:
    for command in (("check",), ("what-happened",), ("recover", "--plan")):
        said = kraftlake(*command, leaderless)
        assert any(FIRST.removeprefix("OUTAGE      ") in line for line in said.lines[:4]), command
    assert "leader-gave-up" in kraftlake("check", leaderless).out
    told = kraftlake("what-happened", leaderless).lines
    events = told[told.index("What happened:") + 1 :][:5]
    assert " leader gave up: node " in events[-1]
    (row,) = (
        one
        for one in kraftlake("what-happened", "--json", leaderless).rows
        if one["kind"] == "leader_gave_up"
    )
    assert f"leader gave up: node {row['node_id']} gave up after this" in events[-1]


def test_the_first_lines_of_the_timeline_have_it(kraftlake: Kraftlake, leaderless: Path) -> None:
    """No record shows that a leader gave up, so it is no event of the list."""
    said = kraftlake("timeline", leaderless).lines
    assert re.match(r"after the last record, 20.* UTC: node \d gave up leading the quorum", said[1])
    assert re.match(r"newest decisive events of \d+(; the last level .*)?:$", said[2])


def test_every_command_begins_with_the_start_that_brings_a_leader_back(
    kraftlake: Kraftlake, tmp_path: Path
) -> None:
    """Of three voters one has another disk, so the quorum needs the one that stopped."""
    quorum = ScriptedQuorum("one of two", Layout(voters=3, observers=1))
    quorum.begin("orders")
    quorum.settle()
    quorum.crash(3)
    quorum.run_ms(3_000)
    quorum.crash(2)
    quorum.run_ms(600)
    quorum.append(1, topic_config("orders", "retention.ms", "2"))
    quorum.run_ms(10_000)
    folder = tmp_path / "nodes"
    write_capture(quorum.capture(), str(folder))
    path = folder / "3/meta.properties"
    other = "directory.id=aQ8fZ3mXRGuW0p5yJ2kLtg"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(other if "directory.id=" in one else one for one in lines) + "\n")
    (verdict,) = kraftlake("check", "--json", folder).verdicts
    said = r"change: node 1 gave up .* UTC, .*; voter 2's log ends 3\.\d s earlier; a leader needs"
    assert re.search(said, verdict["headline"]), verdict
    first, *_ = verdict["next_steps"]
    assert first.startswith("Start node 2: its log ends at offset "), verdict
    assert " s before the newest log. Then start the other voters" in first
    for command in (("check",), ("what-happened",), ("recover", "--plan"), ("plan", "--roll")):
        lines = kraftlake(*command, folder).lines[:10]
        assert any(line.endswith(first) for line in lines), command
    reported = kraftlake("report", folder, "-o", tmp_path / "report.html")
    assert reported.lines[0].startswith(FIRST)
    assert reported.lines[1] == f"  next      {first}"
    assert reported.lines[-1] == str(tmp_path / "report.html")
    work = [one for one in reported.complaints if one.startswith(("ingest:", "build:"))]
    assert work == [], "the work for the page is no news for who reads the verdict"
    page = html.unescape((tmp_path / "report.html").read_text())
    assert first in page
    assert "and gave up: nobody is known to lead since" in page
    assert " leads since " not in page


def test_no_broker_is_stopped_safely_meanwhile(kraftlake: Kraftlake, leaderless: Path) -> None:
    ended = kraftlake("plan", "--stop-broker", "11", leaderless)
    assert ended.code in (1, 3)
    assert "had no leader when the directories were copied" in ended.out
