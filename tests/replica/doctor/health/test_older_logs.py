"""The changes before the beginning of a log, by another node's log."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.group import judge_group
from replica.doctor.health.of_directories import steps_of
from replica.doctor.verdict.evidence import Since
from replica.doctor.verdict.evidence_of_directories import clusters_of, evidence_of
from replica.format.discovery import discover
from replica.simulate.metadata_records import change_leader, no_op
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture


def nodes_of(folder: Path, *elected: int) -> dict[int, Examined]:
    """The directories of five nodes, after each of these was elected. A partition lost its leader
    before the log of node 1 begins, which has the newest state."""
    quorum = ScriptedQuorum("older logs", Layout(voters=3, observers=2))
    quorum.restart(1, retention_bytes=0)
    quorum.begin("orders")
    leader = 1
    for node_id in elected:
        quorum.resign(leader)
        leader = node_id
        quorum.elect(leader)
    quorum.commit(leader, change_leader("orders", 0, -1, (5,)))
    quorum.settle()
    quorum.snapshot(1)
    quorum.commit(leader, no_op())
    quorum.settle()
    write_capture(quorum.capture(), str(folder))
    found = (examine(one) for one in discover([str(folder)]))
    return {one.owner.node_id: one for one in found}


@pytest.fixture
def nodes(tmp_path: Path) -> dict[int, Examined]:
    return nodes_of(tmp_path)


def since(*group: Examined) -> Since | None:
    (cluster,) = clusters_of(judge_group(group, newest=True), {})
    return evidence_of(cluster).leaderless


def test_another_node_s_log_tells_since_when_a_partition_has_no_leader(
    nodes: dict[int, Examined],
) -> None:
    assert since(nodes[1]) is None, "its log begins later"
    told = since(nodes[2])
    assert told is not None
    assert since(*nodes.values()) == since(nodes[1], nodes[2]) == told


def test_two_logs_give_the_changes_of_one_that_has_all(nodes: dict[int, Examined]) -> None:
    first, whole = nodes[1], nodes[2]
    end = first.directory.segments[-1].end_offset
    assert [*steps_of(first, end)] == []
    assert [*steps_of(first, end, [first, whole])] == [*steps_of(whole, end)] != []


def test_a_log_of_another_history_gives_none(nodes: dict[int, Examined], tmp_path: Path) -> None:
    first = nodes[1]
    other = nodes_of(tmp_path / "other", 2, 3)[2]
    end = first.directory.segments[-1].end_offset
    assert [*steps_of(first, end, [other])] == []
