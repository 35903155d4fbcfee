"""What Kafka does with a leader whose removal is in its own log alone, and not committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.cli.directories.rehearsed import rehearsed_quorum
from replica.doctor.check.examined import examine
from replica.doctor.rehearsal.captured import CapturedQuorum
from replica.doctor.rehearsal.runs import ScenarioSafety, judge, rehearse_all
from replica.doctor.rehearsal.step import Scenario
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER
from replica.raft.messages import RemoveVoterRequest
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture

SEEDS = range(3)


def of_removed_leader(voters: int, folder: Path) -> CapturedQuorum:
    """Leader 1 is cut off, and appends its own removal."""
    quorum = ScriptedQuorum(f"leader of {voters} removes itself", Layout(voters=voters))
    quorum.begin()
    quorum.cut([1])
    end = quorum.log_end(1)
    quorum.simulation.ask(quorum.nodes[1], RemoveVoterRequest(voter=quorum.nodes[1].local.key))
    quorum.run_until(lambda: quorum.log_end(1) > end)
    write_capture(quorum.capture(), str(folder))
    nodes = (folder / str(node_id) / METADATA_FOLDER for node_id in quorum.nodes)
    return rehearsed_quorum(
        [examine(DirectoryPath(str(node), str(node))) for node in nodes]
    ).captured


def test_one_of_two_voters_without_the_other_s_vote_never_leads(tmp_path: Path) -> None:
    """Its log lacks the removal, so the other would have to stand, which it doesn't in Kafka."""
    rehearsal = rehearse_all(of_removed_leader(2, tmp_path / "two"), Scenario(), SEEDS)
    assert [found.outcome.leader for found in rehearsal.outcomes] == [None]
    assert judge(rehearsal)[0] is ScenarioSafety.UNSAFE


@pytest.mark.parametrize("voters", [3, 5])
def test_of_more_voters_another_leads_and_the_removed_one_never(
    voters: int, tmp_path: Path
) -> None:
    rehearsal = rehearse_all(of_removed_leader(voters, tmp_path / "more"), Scenario(), SEEDS)
    assert {found.outcome.leader for found in rehearsal.outcomes} <= set(range(2, voters + 1))
    fates = [fate for found in rehearsal.outcomes for fate in found.outcome.fates]
    assert all(fate.lost for fate in fates if fate.node_id == 1)
