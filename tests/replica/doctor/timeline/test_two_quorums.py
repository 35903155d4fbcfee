"""Two quorums with one cluster id: an event of one never names nodes of the other."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from replica.doctor.check.examined import Examined, examine
from replica.doctor.timeline.elections import elections_of
from replica.doctor.timeline.events import ELECTION, timeline
from replica.format.discovery import discover
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.writing import write_capture
from tests.replica.doctor.timeline.test_branch import DATA, DYNAMIC, STATIC, the_branch

Sides = tuple[set[int], set[int]]
"""The ids of the nodes of each quorum."""


def simulated(folder: Path) -> Sides:
    write_capture(SCENARIOS_BY_NAME["two-quorums"].capture(), str(folder))
    return {1, 4}, {2, 3, 5}


def recorded(folder: Path, mine: Sequence[str], theirs: Sequence[str], name: str = "live") -> Sides:
    """Nodes of two recorded clusters, as if both were formatted with one cluster id."""
    sides: Sides = (set(), set())
    for side, (cluster, nodes) in enumerate(((DYNAMIC, mine), (STATIC, theirs))):
        for node in nodes:
            number = str(int(node) + 100 * side)
            meta = Path(shutil.copytree(DATA / cluster / name / node, folder / number))
            meta /= "meta.properties"
            lines = meta.read_text().splitlines()
            kept = [one for one in lines if not one.startswith(("cluster.id=", "node.id="))]
            meta.write_text("\n".join([*kept, f"cluster.id={'A' * 22}", f"node.id={number}", ""]))
            sides[side].add(int(number))
    return sides


@pytest.fixture(
    params=["simulated", "recorded voters", "recorded observers", "recorded, with elections"]
)
def sides(request: pytest.FixtureRequest, tmp_path: Path) -> Sides:
    if request.param == "simulated":
        return simulated(tmp_path)
    if request.param == "recorded voters":
        return recorded(tmp_path, ("1", "2"), ("1", "2", "3"))
    if request.param == "recorded observers":
        return recorded(tmp_path, ("11",), ("3", "11"))
    return recorded(tmp_path, ("1", "3"), ("1", "3"), "final")


def look(folder: Path) -> list[Examined]:
    return [examine(found) for found in discover([str(folder)])]


def test_each_quorum_has_elections_of_its_own(sides: Sides, tmp_path: Path) -> None:
    branch = the_branch(look(tmp_path))
    found = elections_of(branch, [])
    for mine in sides:
        own = [one for one in found if set(one.nodes) <= mine]
        assert own, "each quorum had a first leader"
        assert own[0].former is None
    assert all(any(set(one.nodes) <= mine for mine in sides) for one in found)
    assert [one for one in found if one.on_branch]
    assert [one for one in found if not one.on_branch], "the other quorum's"
    told = [one for one in timeline(branch).events if one.event == ELECTION]
    assert len(told) == len(found)


def test_no_event_names_nodes_of_both(sides: Sides, tmp_path: Path) -> None:
    for event in timeline(the_branch(look(tmp_path))).events:
        assert any(set(event.nodes) <= mine for mine in sides), event


def test_each_quorum_s_elections_have_the_causes_that_its_own_logs_show(
    sides: Sides, tmp_path: Path
) -> None:
    """What a quorum wrote between two elections of its own it didn't lose."""
    found = elections_of(the_branch(look(tmp_path)), [])
    for mine in sides:
        alone = [one for one in look(tmp_path) if one.owner.node_id in mine]
        own = [one for one in found if set(one.nodes) <= mine]
        expected = elections_of(the_branch(alone), [])
        assert [(one.cause, one.because) for one in own] == [
            (one.cause, one.because) for one in expected
        ]
