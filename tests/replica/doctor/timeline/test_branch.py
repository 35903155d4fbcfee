"""The branch that several looks at replicas agree on, and the tails beside it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest

from replica.doctor.check.examined import Examined, examine
from replica.doctor.timeline.branch import Branch, branches_of
from replica.format.discovery import discover

DATA = Path(__file__).parents[3] / "data"
DYNAMIC, STATIC = "kafka-4.1.1-dynamic", "kafka-3.7.2-static"


def look(*folders: str) -> list[Examined]:
    return [examine(found) for found in discover([str(DATA / folder) for folder in folders])]


def the_branch(*looks: Sequence[Examined]) -> Branch:
    (branch,) = branches_of(looks)
    return branch


def tails(branch: Branch) -> list[tuple[int, int, list[int]]]:
    return [
        (tail.start, tail.end, [one.replica.node_id for one in tail.holders if one.replica])
        for tail in branch.tails
    ]


@pytest.mark.parametrize(
    ("scenario", "end", "tail"),
    [(DYNAMIC, 2712, (1526, 1548, [2, 11])), (STATIC, 1435, (750, 772, [2, 11]))],
)
def test_the_branch_is_that_of_the_majority_and_the_cut_off_leader_has_a_tail(
    scenario: str, end: int, tail: tuple[int, int, list[int]]
) -> None:
    branch = the_branch(look(f"{scenario}/split"))
    assert (branch.log.first_offset, branch.log.end_offset) == (0, end)
    assert tails(branch) == [tail]
    assert branch.commitment(tail[0]) == "proven"
    assert branch.commitment(tail[0], branch.tails[0]) == "superseded"


def test_the_order_of_looks_changes_nothing() -> None:
    looks = [look(f"{STATIC}/{name}") for name in ("live", "split", "final")]
    told = set()
    for order in permutations(looks):
        branch = the_branch(*order)
        log = branch.log
        told.add((log.batches, branch.proven_end, tuple(map(str, tails(branch)))))
    assert len(told) == 1


def test_an_earlier_look_gives_the_head_that_a_later_one_has_deleted() -> None:
    """The log of node 3 begins at 519 in `split`; `live` has it from offset 0 on."""
    late = the_branch(look(f"{STATIC}/split/3"))
    assert late.log.first_offset > 0
    both = the_branch(look(f"{STATIC}/split/3"), look(f"{STATIC}/live/1"))
    assert both.log.first_offset == 0
    assert both.log.end_offset == late.log.end_offset
    offsets = [batch.base_offset for batch in both.log.batches]
    assert offsets == sorted(set(offsets))


def test_each_cluster_has_a_branch_of_its_own() -> None:
    found = branches_of([look(f"{DYNAMIC}/final/1", f"{STATIC}/final/1")])
    assert [one.cluster_id for one in found] == ["Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"]


def test_of_directories_without_an_entry_there_is_no_branch() -> None:
    assert branches_of([[]]) == []


def test_the_members_of_a_branch_can_be_read_again_and_again() -> None:
    """The second of two fenced brokers was told without the end of its own copy of the log, because
    the first had used up the members."""
    branch = the_branch(look(f"{DYNAMIC}/split"))
    members = branch.members
    assert [*members] == [*members] == [one for of in branch.rounds for one in of]
    assert len([*members]) == 5
