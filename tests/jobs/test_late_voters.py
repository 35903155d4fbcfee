"""A voter whose log ends long before the newest one: its node was stopped, or its disk is an older
copy. Each answer about its start has this condition."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.check.test_leader_behind import nodes
from tests.replica.doctor.check.test_voter_behind import cut_whole

__all__ = ["nodes"]
OWN_DISK = "node 1 has to start with its own disk, not with an older copy: "


def numbers(lines: list[str], words: str) -> list[int]:
    return [number for number, line in enumerate(lines) if words in line]


@pytest.fixture
def late(nodes: list[Path]) -> list[Path]:
    """Node 1 is behind."""
    cut_whole(nodes[0], 40_000)
    return nodes


def test_a_plan_starts_a_late_voter_only_on_its_condition(
    kraftlake: Kraftlake, late: list[Path]
) -> None:
    planned = kraftlake("recover", "--plan", *late)
    assert planned.answer_lines[0].endswith(" is lost, if node 1 starts with its own disk")
    assert any(line.startswith(f"  needs: {OWN_DISK}") for line in planned.lines)
    (ranked,) = numbers(planned.lines, ": node 1 (")
    assert planned.lines[ranked + 1] == (
        "      the same log, but shorter: the first log has all records that it holds now"
    )
    (start,) = numbers(planned.lines, "Start node 1 only if its disk was not restored")
    (again,) = numbers(planned.lines, "Only if the disk of node 1 was restored from an older copy")
    starts = numbers(planned.lines, "-start.sh -daemon config/controller.properties  # on node 1")
    assert starts[0] == start + 1, "no start of node 1 comes before its condition"
    assert start < again < starts[1]


def test_the_timeline_does_not_say_that_a_late_voter_has_the_whole_log(
    kraftlake: Kraftlake, late: list[Path]
) -> None:
    first = kraftlake("timeline", *late).lines[0]
    assert re.search(r", by nodes 2, 3; node 1's log ends at offset \d+, .* before$", first)


@pytest.mark.slow
def test_a_rehearsal_has_the_condition_of_the_plan(kraftlake: Kraftlake, late: list[Path]) -> None:
    rehearsed = kraftlake("rehearse", "--seeds", "0:1", "--json", *late).rows[1]
    rows = kraftlake("recover", "--plan", "--rehearse", "--seeds", "0:1", "--json", *late).rows[1:]
    (need,) = (one for one in rehearsed["needs"] if one.startswith(OWN_DISK))
    assert all(need in row["needs"] for row in rows)
    played = {(row["rehearsed"]["answer"], row["rehearsed"]["as_predicted"]) for row in rows}
    assert played == {("safe", 1)}, "the steps are rehearsed with the disk that is here"


def test_without_a_late_voter_no_majority_is_left_and_it_does_not_join_again(
    kraftlake: Kraftlake, late: list[Path]
) -> None:
    planned = kraftlake("recover", "--plan", *late[:2]).out
    assert "make the plan again without its directory" in planned
    assert "Only if the disk of node 1" not in planned
