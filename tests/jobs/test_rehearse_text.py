"""What `rehearse` says of a node's log never says at once that it is kept and lost."""

from __future__ import annotations

import pytest

from jobs.cli.directories.played_start import PlayedStart
from jobs.cli.directories.rehearse_text import describe
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.rehearsal.captured import CapturedQuorum
from replica.doctor.rehearsal.outcome import Fate, Outcome
from replica.doctor.rehearsal.runs import OutcomeRuns, Rehearsal, ScenarioSafety
from replica.doctor.rehearsal.step import Scenario
from replica.history.commitment import Losses, classify
from replica.history.log import OffsetRange
from replica.history.ranges import Ranges
from replica.model.voters import VoterSet
from tests.replica.doctor.preflight.clusters import known

NOTHING, ONE = Losses(0, 0, 0), Losses(0, 1, 0)
LAST: Ranges = (OffsetRange(973, 974),)


def told(fate: Fate, doubt: VoterDoubt | None = None) -> list[str]:
    """The lines about the outcome in which the node has this fate. doubt: about the node's disk."""
    outcome = Outcome(5, (fate,), (), (), ())
    captured = CapturedQuorum(
        "cluster",
        {},
        VoterSet(),
        True,
        classify(()),
        classify(()),
        0,
        known(12, doubts={12: doubt} if doubt else {}),
    )
    found = OutcomeRuns(outcome, (0,), (4, 4))
    rehearsal = Rehearsal(captured, Scenario(), range(1), (found,))
    asked = PlayedStart(rehearsal, ScenarioSafety.SAFE, ())
    lines = list(describe(asked, None, None, ("nodes",)))
    return [line.strip() for line in lines[lines.index("") :] if line.startswith("  node 12")]


@pytest.mark.parametrize(
    ("fate", "expected"),
    [
        (
            Fate(12, None, (), None, LAST, ONE, is_behind=True, has_new_disk=False),
            "node 12 has not followed the leader yet; it is to lose offsets 973 to 973 (1 record): "
            "0 committed, 0 never committed, 1 unknown",
        ),
        (
            Fate(12, OffsetRange(973, 974), (3,), None, LAST, ONE, False, False),
            "node 12 truncates its log to offset 973 (epoch 3); it loses offsets 973 to 973 "
            "(1 record): 0 committed, 0 never committed, 1 unknown",
        ),
        (
            Fate(12, None, (), None, LAST, ONE, False, False, other=LAST),
            "node 12 keeps its log; it keeps offsets 973 to 973 (1 record), at which the leader "
            "has other records",
        ),
    ],
    ids=["not followed yet", "truncated", "kept beside the leader's"],
)
def test_a_log_is_kept_or_lost(fate: Fate, expected: str) -> None:
    assert told(fate)[0] == expected


@pytest.mark.parametrize("doubt", [VoterDoubt.CUT, VoterDoubt.UNREADABLE])
def test_of_a_log_that_is_known_in_part_no_sure_count_is_told(doubt: VoterDoubt) -> None:
    cut = Fate(12, OffsetRange(973, 974), (3,), None, LAST, ONE, False, False)
    assert "; it loses at least offsets 973 to 973 (1 record)" in told(cut, doubt)[0]
    none = Fate(12, OffsetRange(973, 974), (3,), None, (), NOTHING, False, False)
    assert told(none, doubt)[0].endswith("; it loses none that its directory shows")


def test_of_a_node_that_loses_nothing_nothing_is_said() -> None:
    assert told(Fate(12, None, (), None, (), NOTHING, False, False)) == []


@pytest.mark.parametrize("is_static", [True, False])
def test_a_static_quorum_needs_the_settings_of_each_node(is_static: bool) -> None:
    captured = CapturedQuorum("cluster", {}, VoterSet(), is_static, classify(()), classify(()), 0)
    asked = PlayedStart(Rehearsal(captured, Scenario(), range(1), ()), ScenarioSafety.SAFE, ())
    needs = [line for line in describe(asked, None, None, ()) if "needs:" in line]
    assert any("controller.quorum.voters of each node" in line for line in needs) is is_static
