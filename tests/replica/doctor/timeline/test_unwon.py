"""Elections that nobody won since the log's last record, which only quorum-state tells of."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from replica.doctor.check.examined import examine
from replica.doctor.timeline.branch import Branch, branches_of
from replica.doctor.timeline.decisive import decisive
from replica.doctor.timeline.event import Event
from replica.doctor.timeline.events import UNWON, timeline
from replica.format.discovery import discover
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.replica.doctor.check.editing import edit_quorum_state


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Voter 1 and brokers 4 and 5 of a quorum whose other voters are lost."""
    folder = tmp_path_factory.mktemp("made") / "nodes"
    quorum = ScriptedQuorum("lost voters", Layout(voters=3, observers=2))
    quorum.begin("orders")
    quorum.settle()
    write_capture(quorum.capture(), str(folder))
    for lost in ("2", "3"):
        shutil.rmtree(folder / lost)
    return folder


@pytest.fixture
def nodes(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "nodes"))


def the_branch(folder: Path) -> Branch:
    (branch,) = branches_of([[examine(found) for found in discover([str(folder)])]])
    return branch


def told(folder: Path, states: Mapping[int, tuple[int, int, int]]) -> list[Event]:
    """The events about elections that nobody won. The epoch of an event is given as its distance
    from the log's last epoch. states: for each node the distance of its epoch from the log's last
    epoch, the id of the leader and the id of the node for which it voted.
    """
    last = the_branch(folder).log.batches[-1].epoch
    for node, (ahead, leader, voted) in states.items():
        fields = {"leaderEpoch": last + ahead, "leaderId": leader, "votedId": voted}
        edit_quorum_state(folder / f"{node}", **fields)
    events = decisive(timeline(the_branch(folder)).events)
    return [
        one._replace(leader_epoch=one.leader_epoch - last) for one in events if one.event == UNWON
    ]


def test_elections_that_nobody_won_are_an_event_after_the_last_record(nodes: Path) -> None:
    (found,) = told(nodes, {1: (8, -1, 1), 4: (4, -1, -1), 5: (5, -1, -1)})
    branch = the_branch(nodes)
    end = branch.log.end_offset - 1
    epoch = branch.log.batches[-1].epoch
    assert (found.offset, found.leader_epoch, found.nodes) == (end, 0, (1, 4, 5))
    assert (found.cause, found.commitment) == (None, None)
    assert found.name == "nodes 1, 4 and 5"
    assert found.detail == (
        f"know of no election that was won after offset {end}: node 1 is in epoch {epoch + 8} and "
        f"voted for itself, node 5 is in epoch {epoch + 5} and node 4 is in epoch {epoch + 4}; the "
        f"log's last epoch is {epoch}"
    )


@pytest.mark.parametrize(
    "states",
    [
        {1: (4, -1, 1)},
        {1: (8, -1, 1), 4: (8, 2, -1)},
        {1: (8, -1, 1), 5: (4, 3, -1)},
        {1: (8, 2, -1)},
        {1: (0, -1, -1)},
    ],
)
def test_a_few_epochs_or_a_leader_whom_any_file_names_are_no_such_event(
    nodes: Path, states: dict[int, tuple[int, int, int]]
) -> None:
    assert told(nodes, states) == []


def test_an_election_that_only_quorum_state_knows_was_won_all_the_same(nodes: Path) -> None:
    (found,) = told(nodes, {1: (9, -1, 1), 4: (2, 3, -1)})
    assert (found.leader_epoch, found.nodes, found.name) == (2, (1,), "node 1")
    assert found.detail.startswith("knows of no election that was won after offset ")
    assert " in an epoch above " in found.detail
