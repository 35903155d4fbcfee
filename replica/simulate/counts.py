"""Counts how often a run made each change of role, was struck by each fault, and checked each
invariant. The numbers of a campaign's runs can be added up."""

from __future__ import annotations

from collections.abc import Mapping

from replica.raft.transitions import TRANSITIONS, Transition
from replica.simulate.broken import INVARIANTS
from replica.simulate.coverage import Coverage
from replica.simulate.nemesis import FAULTS

ALL_TRANSITIONS = tuple(
    Transition(of, cause, to) for (of, cause), roles in TRANSITIONS.items() for to in roles
)
COUNTED: tuple[Transition | str, ...] = (*ALL_TRANSITIONS, *FAULTS, *INVARIANTS)
"""The names of the numbers in `counts`, in their order. Faults and invariants share no name."""


def counts(coverage: Coverage, judged: Mapping[str, int]) -> tuple[int, ...]:
    """A number for each of COUNTED. judged: see Invariants."""
    return (
        *(coverage.transitions[transition] for transition in ALL_TRANSITIONS),
        *(coverage.faults[fault] for fault in FAULTS),
        *(judged.get(name, 0) for name in INVARIANTS),
    )
