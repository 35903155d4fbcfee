"""Partitions whose replicas moved to other brokers are told when the move is done."""

from __future__ import annotations

from pathlib import Path

from replica.doctor.check.examined import examine
from replica.doctor.timeline.branch import branches_of
from replica.doctor.timeline.events import timeline
from replica.format.discovery import discover
from tests.replica.doctor.timeline.test_events import change, events, node, partition, record

__all__ = ["node"]
REPLICAS = "replicas_changed"


def made(node: Path, *numbers: int) -> None:
    for number in numbers:
        partition(node, number, "", replicas=(21, 22, 23), isr=(21, 22, 23), directories=())


def told(node: Path) -> list[tuple[str, str]]:
    return [(one.name, one.detail) for one in events(node, REPLICAS)]


def test_a_reassignment_that_needs_no_copy_is_told(node: Path) -> None:
    made(node, 0, 1)
    change(node, 0, replicas=(23, 21), isr=(21, 23))
    change(node, 1, isr=(21,))
    assert told(node) == [("partition moved-0", "21, 22 and 23 -> 23 and 21")]


def test_a_reassignment_is_told_when_it_ends_and_not_if_it_was_cancelled(node: Path) -> None:
    made(node, 0, 1, 2)
    for number in range(3):
        change(
            node, number, replicas=(24, 21, 22, 23),
            addingReplicas=(24,), removingReplicas=() if number == 2 else (22, 23),
        )  # fmt: skip
    assert told(node) == []
    change(node, 0, replicas=(24, 21), isr=(24, 21), addingReplicas=(), removingReplicas=())
    change(node, 1, replicas=(21, 22, 23), addingReplicas=(), removingReplicas=())
    assert told(node) == [("partition moved-0", "21, 22 and 23 -> 24 and 21")]
    change(node, 2, isr=(24, 21, 22, 23), addingReplicas=(), removingReplicas=())
    ((name, detail),) = told(node)
    assert name == "topic moved"
    assert detail == "2 partitions, such as moved-0: 21, 22 and 23 -> 24 and 21"


def test_the_partitions_of_a_topic_are_one_event_within_an_hour(node: Path) -> None:
    made(node, *range(4))
    for number in range(3):
        change(node, number, replicas=(22, 21, 23))
    record(node, "NO_OP_RECORD", later_ms=3_600_001)
    change(node, 3, replicas=(21,))
    change(node, 3, replicas=(22,))
    assert told(node) == [
        ("topic moved", "3 partitions, such as moved-0: 21, 22 and 23 -> 22, 21 and 23"),
        ("partition moved-3", "21, 22 and 23 -> 21"),
        ("partition moved-3", "21 -> 22"),
    ]


def test_the_latest_ones_are_recent_changes_and_are_counted(node: Path) -> None:
    made(node, 0)
    change(node, 0, replicas=(21, 22))
    record(node, "NO_OP_RECORD", later_ms=3_700_000)
    assert recent(node) == ([], 1)
    change(node, 0, replicas=(22, 23))
    assert recent(node) == (["partition moved-0"], 2)


def recent(node: Path) -> tuple[list[str], int]:
    (branch,) = branches_of([[examine(one) for one in discover([str(node)])]])
    told = timeline(branch)
    names = [one.name for one in told.recent if one.event == REPLICAS]
    return names, told.asked_for.since(0)["replicas"]
