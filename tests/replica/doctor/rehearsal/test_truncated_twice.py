"""A follower whose log goes on in an epoch that the leader begins anew earlier.

The leader's end of that epoch is the first thing that it names, and lies behind the epoch's start:
so the follower truncates to it, fetches again in the epoch before, and truncates a second time.
Kafka 3.9.1 did so with the log of an earlier, rolled back migration.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobs.cli.directories.rehearsed import rehearsed_quorum
from replica.doctor.check.examined import examine
from replica.doctor.rehearsal.runs import rehearse_all
from replica.doctor.rehearsal.step import Scenario
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture

VOTER, BROKER = 1, 2


@pytest.mark.parametrize("topics", [("a",), ("a", "b", "c")])
def test_the_follower_ends_where_the_leader_s_epoch_begins(
    tmp_path: Path, topics: tuple[str, ...]
) -> None:
    """topics: those that are created after the only voter's disk was copied."""
    quorum = ScriptedQuorum("an old disk comes back", Layout(voters=1, observers=1))
    quorum.run_until(lambda: quorum.simulation.leader() is not None)
    quorum.populate(VOTER, "orders")
    quorum.settle(BROKER)
    old, end = quorum.capture().files[VOTER], quorum.log_end(VOTER)
    quorum.populate(VOTER, *topics)
    quorum.settle(BROKER)
    quorum.restart(VOTER)
    quorum.settle(BROKER)
    assert quorum.log_end(BROKER) > end + 1
    now = quorum.capture()
    mixed = replace(now, files={VOTER: old, BROKER: now.files[BROKER]})
    write_capture(mixed, str(tmp_path / "mixed"))
    nodes = [str(tmp_path / "mixed" / str(node) / METADATA_FOLDER) for node in (VOTER, BROKER)]
    captured = rehearsed_quorum([examine(DirectoryPath(node, node)) for node in nodes]).captured
    rehearsal = rehearse_all(captured, Scenario(), range(2))
    for found in rehearsal.outcomes:
        assert found.outcome.leader == VOTER
        (fate,) = (one for one in found.outcome.fates if one.node_id == BROKER)
        assert fate.truncated is not None
        assert (fate.truncated.start, fate.is_behind) == (end, False)
