"""A quorum whose leader gave up, and where nobody leads since: every command says so first."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

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
    events = told[told.index("What happened:") + 1 : told.index("What to do:") - 1]
    assert " leader gave up: node " in events[-1]
    (row,) = (
        one
        for one in kraftlake("what-happened", "--json", leaderless).rows
        if one["kind"] == "leader_gave_up"
    )
    assert f"leader gave up: node {row['node_id']} gave up after this" in events[-1]


def test_no_broker_is_stopped_safely_meanwhile(kraftlake: Kraftlake, leaderless: Path) -> None:
    ended = kraftlake("plan", "--stop-broker", "11", leaderless)
    assert ended.code in (1, 3)
    assert "had no leader when the directories were copied" in ended.out
