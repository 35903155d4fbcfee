"""A log that is behind names voters that have left since: the run asks them in vain."""

from __future__ import annotations

from pathlib import Path

from jobs.cli.directories.rehearsed import rehearsed_quorum
from replica.doctor.check.examined import examine
from replica.doctor.rehearsal.runs import rehearse_all
from replica.doctor.rehearsal.step import Scenario
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture


def test_a_voter_that_left_and_is_not_here_is_asked_in_vain(tmp_path: Path) -> None:
    """Node 3 is down while 5 leaves, so that its log still names 5."""
    quorum = ScriptedQuorum("voter that left", Layout(voters=5))
    quorum.begin()
    quorum.crash(3)
    quorum.remove_voter(1, 5)
    write_capture(quorum.capture(), str(tmp_path / "left"))
    nodes = (str(tmp_path / "left" / str(node_id) / METADATA_FOLDER) for node_id in (1, 2, 3, 4))
    captured = rehearsed_quorum([examine(DirectoryPath(node, node)) for node in nodes]).captured
    assert captured.node_ids == (1, 2, 3, 4)
    rehearsal = rehearse_all(captured, Scenario(), range(2))
    assert None not in {found.outcome.leader for found in rehearsal.outcomes}
