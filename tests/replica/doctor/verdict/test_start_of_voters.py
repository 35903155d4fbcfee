"""The value that says which voters start so that a quorum has a majority again."""

from __future__ import annotations

import pytest

from replica.doctor.quorum.known_voter import KnownVoter, VoterDoubt
from replica.doctor.verdict.start_of_voters import StartOfVoters, start_of_voters
from replica.model.keys import ReplicaKey

GONE, STALE = VoterDoubt.NOT_GIVEN, VoterDoubt.STALE


def known(*voters: int | VoterDoubt) -> tuple[KnownVoter, ...]:
    """The voters with the ids 1, 2 and so on. voters: for each voter the end of its log, or the
    doubt about its disk."""
    return tuple(
        KnownVoter(ReplicaKey(node), one)
        if isinstance(one, VoterDoubt)
        else KnownVoter(ReplicaKey(node), None, held_end=one)
        for node, one in enumerate(voters, start=1)
    )


def start(beside: tuple[int, ...], *voters: int | VoterDoubt) -> StartOfVoters:
    found = start_of_voters(beside, known(*voters))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("beside", "voters", "clause"),
    [
        ((1,), (9, 9, 7), "start node 2 first: with node 1 it is a majority"),
        ((1,), (9, 7, 9, 8, 5), "start nodes 3 and 4 first: with node 1 they are a majority"),
        ((1,), (9, GONE), "start node 2 with its own disk: with node 1 it is a majority of the 2 "
         "voters"),
        ((1, 3), (9, GONE, 9, GONE), "start node 2 or 4 with its own disk, whichever still has it: "
         "with nodes 1 and 3 it is a majority of the 4 voters"),
        ((1, 3), (9, STALE, 9, GONE), "start node 4 with its own disk: with nodes 1 and 3 it is a "
         "majority of the 4 voters"),
        ((1,), (9, GONE, GONE, GONE), "start 2 of nodes 2, 3 and 4 with their own disks, those "
         "that still have them: with node 1 they are a majority of the 4 voters"),
        ((1,), (9, 8, GONE, GONE), "start node 2 and node 3 or 4 with their own disks, those that "
         "still have them: with node 1 they are a majority of the 4 voters"),
    ],
)  # fmt: skip
def test_it_names_as_many_voters_as_a_majority_needs_with_the_longest_logs(
    beside: tuple[int, ...], voters: tuple[int | VoterDoubt, ...], clause: str
) -> None:
    found = start(beside, *voters)
    assert found.clause == clause
    assert found.text.startswith(f"{clause[0].upper()}{clause[1:]}") or found.holds_all
    assert found.text.endswith("Stop no broker before there is a leader.")
    assert "formatted anew" in found.text or "no disk has to be emptied" in found.text


@pytest.mark.parametrize(
    ("beside", "voters"),
    [((1, 2), (9, 9, 9)), ((1,), (9, STALE, STALE)), ((1, 2), (9, 9, STALE, STALE)), ((), (9, 9))],
)
def test_there_is_none_where_a_majority_runs_or_no_disk_could_make_one(
    beside: tuple[int, ...], voters: tuple[int | VoterDoubt, ...]
) -> None:
    assert start_of_voters(beside, known(*voters)) is None


def test_voters_that_may_have_a_leader_are_looked_for_first() -> None:
    found = start_of_voters((1,), known(9, GONE, GONE), may_run=True)
    assert found is not None
    assert found.clause == (
        "find out whether nodes 2 and 3 run, and start those that don't, each with its own disk "
        "(1 of them and node 1 are a majority)"
    )
    of_two = start_of_voters((1,), known(9, GONE), may_run=True)
    assert of_two is not None
    assert of_two.clause.startswith("find out whether node 2 runs; if not, start it with its own")
