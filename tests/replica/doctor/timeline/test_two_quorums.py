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


def recorded(folder: Path, mine: Sequence[str], theirs: Sequence[str]) -> Sides:
    """Nodes of two recorded clusters, as if both were formatted with one cluster id."""
    sides: Sides = (set(), set())
    for side, (cluster, nodes) in enumerate(((DYNAMIC, mine), (STATIC, theirs))):
        for node in nodes:
            name = str(int(node) + 100 * side)
            meta = Path(shutil.copytree(DATA / cluster / "live" / node, folder / name))
            meta /= "meta.properties"
            lines = meta.read_text().splitlines()
            kept = [one for one in lines if not one.startswith(("cluster.id=", "node.id="))]
            meta.write_text("\n".join([*kept, f"cluster.id={'A' * 22}", f"node.id={name}", ""]))
            sides[side].add(int(name))
    return sides


@pytest.fixture(params=["simulated", "recorded voters", "recorded observers"])
def sides(request: pytest.FixtureRequest, tmp_path: Path) -> Sides:
    if request.param == "simulated":
        return simulated(tmp_path)
    if request.param == "recorded voters":
        return recorded(tmp_path, ("1", "2"), ("1", "2", "3"))
    return recorded(tmp_path, ("11",), ("3", "11"))


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


def test_other_records_of_one_epoch_are_of_another_quorum(tmp_path: Path) -> None:
    simulated(tmp_path)
    told = [one.detail for one in timeline(the_branch(look(tmp_path))).events]
    assert [one for one in told if one.endswith(" of epoch 1 there, of another quorum")]
