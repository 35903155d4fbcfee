"""Nodes that never had a leader: what Kafka leaves there is no damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.cli.directories.recover import plan_of
from replica.doctor.check.examined import examine
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.format.discovery import discover
from tests.replica.doctor.check.editing import file, findings, judged, places, segment
from tests.replica.doctor.check.first_start import start


@pytest.mark.parametrize(
    ("voters", "between"),
    [((1, 2, 3), []), ((), ["formatted-without-voters"])],
    ids=["static", "without-voters"],
)
def test_a_quorum_before_its_first_election_is_sound(
    tmp_path: Path, voters: tuple[int, ...], between: list[str]
) -> None:
    nodes = [start(tmp_path / str(node), node, voters=voters) for node in (1, 2, 3)]
    group = judged(*nodes)
    assert [one.rule.id for one in group.findings] == between
    assert [places(member.findings) for member in group.members] == [[], [], []]
    assert [member.examined.directory.leader_epochs for member in group.members] == [()] * 3
    assert [member.examined.damages for member in group.members] == [()] * 3


def test_a_node_copied_before_it_had_a_segment_is_sound(tmp_path: Path) -> None:
    """Kafka makes leader-epoch-checkpoint first, then the segment, and last quorum-state."""
    node = start(tmp_path / "2", 2)
    segment(node, 0).unlink()
    file(node, "quorum-state").unlink()
    assert places(findings(node)) == []


def test_an_empty_checkpoint_beside_records_is_damage(tmp_path: Path) -> None:
    node = start(tmp_path / "1", 1)
    segment(node, 0).write_bytes(b"\1" * 80)  # bytes that are no batch
    assert ("state-file-broken", "leader-epoch-checkpoint", None) in places(findings(node))


@pytest.mark.parametrize("name", ["quorum-state", "partition.metadata", "meta.properties"])
def test_other_files_of_0_bytes_are_damage_before_the_first_election_too(
    tmp_path: Path, name: str
) -> None:
    node = start(tmp_path / "1", 1)
    path = node / name if name == "meta.properties" else file(node, name)
    path.write_bytes(b"")
    assert [place[1] for place in places(findings(node))] == [name]


def test_the_voters_that_quorum_state_lists_are_a_majority_before_the_first_election(
    tmp_path: Path,
) -> None:
    nodes = [start(tmp_path / str(node), node) for node in (1, 2)]
    members = [examine(one) for one in discover([str(node) for node in nodes])]
    plan, _ = plan_of(members)
    assert plan.answer is RecoveryDecision.SAFE
    assert plan.voters is not None
    assert sorted(key.node_id for key in plan.voters) == [1, 2, 3]
    assert sorted(key.node_id for key in plan.missing) == [3]
    alone, _ = plan_of(members[:1])
    assert alone.answer is RecoveryDecision.UNPROVEN
    assert alone.reasons[0].startswith("only 1 of 3 voters")
