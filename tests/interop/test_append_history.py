"""The judge of appends, held to a search over all orders."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.interop.append_history import Append, Outcome, contradictions

ACKNOWLEDGED, REFUSED, UNKNOWN = Outcome.ACKNOWLEDGED, Outcome.REFUSED, Outcome.UNKNOWN


def append(value: str, began: float, ended: float, outcome: Outcome = ACKNOWLEDGED) -> Append:
    return Append(value, began, ended, outcome)


@pytest.mark.parametrize(
    ("history", "log", "said"),
    [
        ([append("a", 0, 1)], [], "a was acknowledged, and is not in the log"),
        ([append("a", 0, 1)], ["a", "a"], "a is in the log 2 times"),
        ([append("a", 0, 1, REFUSED)], ["a"], "a was refused, and is in the log"),
        ([], ["a"], "a is in the log, and nobody appended it"),
        (
            [append("a", 0, 1), append("b", 2, 3)],
            ["b", "a"],
            "b is before a, and began after that had ended",
        ),
        (
            [append("a", 0, 1), append("b", 2, 3, UNKNOWN)],
            ["b", "a"],
            "b is before a, and began after that had ended",
        ),
    ],
)
def test_contradictions_of_linearizability_are_named(
    history: list[Append], log: list[str], said: str
) -> None:
    assert contradictions(history, log) == [said]


@pytest.mark.parametrize(
    ("history", "log"),
    [
        ([append("a", 0, 2), append("b", 1, 3)], ["b", "a"]),
        ([append("a", 0, 1, UNKNOWN), append("b", 2, 3)], ["b", "a"]),
        ([append("a", 0, 1, UNKNOWN), append("b", 2, 3)], ["b"]),
        ([append("a", 0, 1, REFUSED)], []),
    ],
)
def test_overlapping_late_and_lost_appends_contradict_nothing(
    history: list[Append], log: list[str]
) -> None:
    assert contradictions(history, log) == []


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Append], list[str]]:
    """Some appends, and a log that has some of them in some order."""
    times = st.integers(0, 6)
    made = []
    for value in "abcde"[: draw(st.integers(0, 5))]:
        began = draw(times)
        made.append(append(value, began, began + draw(times), draw(st.sampled_from(Outcome))))
    log = draw(st.permutations([each.value for each in made]))
    return made, log[: draw(st.integers(0, len(log)))]


def _has_an_order(history: list[Append], log: list[str]) -> bool:
    """Whether some order of the appends in the log gives the log, each at a moment between its
    begin and its end: Herlihy and Wing's definition, by trying all."""
    is_known = all(
        (each.value in log) == (each.outcome is ACKNOWLEDGED)
        for each in history
        if each.outcome is not UNKNOWN
    )
    present = [each for each in history if each.value in log]
    return is_known and any(
        [each.value for each in order] == log and _has_moments(order)
        for order in permutations(present)
    )


def _has_moments(order: tuple[Append, ...]) -> bool:
    moment = -math.inf
    for each in order:
        moment = max(moment, each.began)
        if each.outcome is ACKNOWLEDGED and moment > each.ended:
            return False
    return True


@given(histories())
def test_the_judge_agrees_with_a_search_over_all_orders(
    made: tuple[list[Append], list[str]],
) -> None:
    history, log = made
    assert (contradictions(history, log) == []) is _has_an_order(history, log)
