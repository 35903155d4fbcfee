"""What an election is put down to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.timeline.elections import ElectionCause, LostWrites, Won, cause_of, elections_of
from tests.replica.timeline.test_branch import DYNAMIC, look, the_branch

FORMER = Won(10, 1, 1_000, 1, (1, 2, 3), (1, 2), 900)


def next_won(**changed: object) -> Won:
    fields: dict[str, object] = {
        **{"offset": 20, "epoch": 2, "at": 50_000, "leader": 2},
        **{"voters": (1, 2, 3), "granting": (2, 3), "previous_at": 45_000},
    }
    return Won(**{**fields, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("won", "lost", "registered", "cause"),
    [
        (next_won(), {}, [], ElectionCause.SILENT),
        (next_won(previous_at=48_001), {}, [], ElectionCause.RESIGNED),
        (next_won(previous_at=48_000), {}, [], ElectionCause.SILENT),
        (next_won(granting=(1, 2)), {}, [], ElectionCause.RESIGNED),
        (next_won(previous_at=None), {}, [], ElectionCause.UNKNOWN),
        (next_won(voters=(2, 3)), {}, [], ElectionCause.REMOVED),
        (next_won(), {1: LostWrites(3, 52_000)}, [], ElectionCause.CUT_OFF),
        (next_won(), {7: LostWrites(3, 52_000)}, [], ElectionCause.SILENT),
        (next_won(), {}, [(110_000, 1)], ElectionCause.RESTARTED),
        (next_won(), {}, [(110_001, 1)], ElectionCause.SILENT),
        (next_won(), {}, [(49_999, 1)], ElectionCause.SILENT),
        (next_won(), {}, [(51_000, 3)], ElectionCause.SILENT),
        (next_won(leader=1, granting=(1, 2)), {}, [(51_000, 1)], ElectionCause.RESTARTED),
    ],
)
def test_the_cause_is_told_by_what_the_logs_hold(
    won: Won, lost: dict[int, LostWrites], registered: list[tuple[int, int]], cause: ElectionCause
) -> None:
    assert cause_of(FORMER, won, lost, registered)[0] is cause


def test_the_first_election_has_no_cause_before_it() -> None:
    assert cause_of(None, FORMER, {}, []) == (
        ElectionCause.FIRST,
        "these logs tell of no leader before",
    )


nodes = st.integers(0, 4)
times = st.integers(-(2**63), 2**63 - 1)
wons = st.builds(
    Won,
    st.integers(0, 99),
    st.integers(0, 9),
    times,
    nodes,
    st.tuples(nodes, nodes),
    st.tuples(nodes),
    st.none() | times,
)


@given(st.none() | wons, wons, st.dictionaries(nodes, st.builds(LostWrites, nodes, times)))
def test_every_election_has_a_cause_and_one_sentence(
    former: Won | None, won: Won, lost: dict[int, LostWrites]
) -> None:
    cause, because = cause_of(former, won, lost, [])
    assert (cause is ElectionCause.FIRST) == (former is None)
    assert because
    assert "\n" not in because


def test_the_recorded_leaders_were_killed_and_the_last_one_was_cut_off() -> None:
    branch = the_branch(look(f"{DYNAMIC}/split"))
    without = elections_of(branch, [])
    assert [(one.won.epoch, one.won.leader, one.former, one.without_winner) for one in without] == [
        (1, 2, None, 0),
        (2, 3, 2, 0),
        (3, 1, 3, 0),
        (5, 2, 1, 1),
        (6, 3, 2, 0),
    ]
    assert [one.cause.value for one in without] == [
        "first",
        "leader-silent",
        "leader-silent",
        "leader-silent",
        "leader-cut-off",
    ]
    assert "22 more records" in without[-1].because
    assert without[0].nodes == (1, 2, 3, 11, 12)
    assert without[-1].nodes == (1, 3, 12)
    assert all(one.on_branch for one in without)
