"""Where committed records were lost, or nobody knows which history is right, timeline says what the
verdict says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.group import judge_group
from replica.doctor.timeline.causes import ElectionCause
from replica.doctor.timeline.event import Event
from replica.doctor.timeline.events import ELECTION, timeline
from replica.doctor.timeline.tails import DIVERGENCE, HISTORIES_PART
from replica.doctor.verdict.evidence_of_directories import clusters_of, evidence_of
from replica.format.discovery import discover
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.writing import write_capture
from tests.replica.doctor.timeline.test_branch import the_branch

LOST = ("restored-voter", "wiped-voter")
"""A voter forgot committed records, and helped to elect a leader without them."""


def look(name: str, folder: Path, *nodes: int) -> list[Examined]:
    """The directories of a scenario. nodes: of these alone."""
    if not folder.exists():
        write_capture(SCENARIOS_BY_NAME[name].capture(), str(folder))
    found = [examine(one) for one in discover([str(folder)])]
    return [one for one in found if not nodes or one.owner.node_id in nodes]


def of_kind(kind: str, events: tuple[Event, ...]) -> list[Event]:
    return [one for one in events if one.event == kind]


@pytest.mark.parametrize("name", LOST)
def test_what_the_verdict_calls_committed_no_event_denies(name: str, tmp_path: Path) -> None:
    members = look(name, tmp_path / "given")
    (cluster,) = clusters_of(judge_group(members, newest=True), {})
    (loss,) = evidence_of(cluster).to_lose
    assert loss.lost is not None
    events = timeline(the_branch(members)).events
    (parted,) = of_kind(HISTORIES_PART, events)
    assert f"held {loss.records} records ({loss.lost.committed} committed) from" in parted.detail
    assert " there, and it is unknown which history is right" in parted.detail
    common = f"; offset {parted.offset - 1}, of this time, is the last common record"
    assert parted.detail.endswith(common) == (parted.offset > 0)
    election = of_kind(ELECTION, events)[-1]
    assert election.cause == ElectionCause.WENT_BACK.value
    assert f"of which {loss.lost.committed} were committed" in election.detail
    assert "the disk of node 2 or 3 " in election.detail
    assert (parted.commitment, election.commitment) == ("unproven", "unproven")


@pytest.mark.parametrize("name", ["two-quorums", "lost-disks"])
def test_no_history_is_called_the_right_one_where_nobody_knows_which_is(
    name: str, tmp_path: Path
) -> None:
    branch = the_branch(look(name, tmp_path / "given"))
    events = timeline(branch).events
    (parted,) = of_kind(HISTORIES_PART, events)
    assert re.search(
        "that the history of nodes? [0-9 and,]+ lacks; it has other records of epoch 1 there, and "
        "it is unknown which history is right",
        parted.detail,
    )
    of_both = [one for one in events if one.commitment is not None]
    assert {one.commitment for one in of_both} == {"unproven"}
    assert branch.proven_end == 0


def test_what_an_earlier_look_proves_is_committed_on_a_tail_too(tmp_path: Path) -> None:
    """Later only a part of the other voters is there, which proves nothing."""
    folder = tmp_path / "given"
    before, after = look("restored-voter", folder, 1, 4, 5), look("restored-voter", folder, 3)
    branch = the_branch(before, after)
    (parted,) = of_kind(DIVERGENCE, timeline(branch).events)
    assert parted.detail.startswith(
        "held 8 records (8 committed) from offset 20 on that the agreed branch lacks"
    )
    assert parted.commitment == "proven"
    assert branch.commitment(20) == "unproven"
