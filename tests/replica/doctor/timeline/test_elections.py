"""What an election is put down to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.doctor.timeline.causes import (
    ElectionCause,
    LostWrites,
    Registration,
    Won,
    cause_of,
)
from replica.doctor.timeline.elections import elections_of
from replica.doctor.timeline.events import timeline
from tests.replica.doctor.timeline.test_branch import DYNAMIC, look, the_branch

FORMER = Won(10, 1, 1_000, 1, (1, 2, 3), (1, 2), 900)


def next_won(**changed: object) -> Won:
    fields: dict[str, object] = {
        **{"offset": 20, "epoch": 2, "at": 50_000, "leader": 2},
        **{"voters": (1, 2, 3), "granting": (2, 3), "previous_at": 45_000},
    }
    return Won(**{**fields, **changed})  # type: ignore[arg-type]


def anew(at: int, node_id: int = 1) -> Registration:
    return Registration(at, node_id, is_new_process=True)


def once_more(at: int, node_id: int = 1) -> Registration:
    return Registration(at, node_id, is_new_process=False)


@pytest.mark.parametrize(
    ("won", "lost", "registered", "cause"),
    [
        (next_won(), {}, [], ElectionCause.SILENT),
        (next_won(previous_at=49_501), {}, [], ElectionCause.RESIGNED),
        # a leader that starts again resigns: it tells the other voters, and they elect another one
        (next_won(previous_at=49_500), {}, [], ElectionCause.UNKNOWN),
        (next_won(previous_at=48_501), {}, [], ElectionCause.UNKNOWN),
        (next_won(previous_at=48_501), {}, [once_more(60_000)], ElectionCause.RESIGNED),
        (next_won(previous_at=48_500), {}, [], ElectionCause.SILENT),
        (next_won(granting=(1, 2)), {}, [], ElectionCause.SILENT),
        # it voted for the next leader, as it may have after a start
        (next_won(granting=(1, 2), previous_at=49_500), {}, [], ElectionCause.UNKNOWN),
        (next_won(granting=(1, 2), previous_at=49_500), {}, [anew(52_000)], ElectionCause.UNKNOWN),
        (next_won(granting=(1, 2), previous_at=49_501), {}, [], ElectionCause.RESIGNED),
        (
            next_won(granting=(1, 2), previous_at=49_500),
            {},
            [once_more(60_000)],
            ElectionCause.RESIGNED,
        ),
        # it led so shortly that voters may not have heard of it
        (next_won(at=4_000, previous_at=2_999), {}, [], ElectionCause.UNKNOWN),
        (next_won(at=3_400, previous_at=3_000), {}, [], ElectionCause.RESIGNED),
        (next_won(leader=1, granting=(1, 2), previous_at=49_300), {}, [], ElectionCause.UNKNOWN),
        (next_won(previous_at=None), {}, [], ElectionCause.UNKNOWN),
        (next_won(voters=(2, 3)), {}, [], ElectionCause.REMOVED),
        (next_won(), {1: LostWrites(3, 52_000)}, [], ElectionCause.CUT_OFF),
        (next_won(), {1: LostWrites(3, 52_000)}, [anew(60_000)], ElectionCause.CUT_OFF),
        (next_won(), {1: LostWrites(3, 45_000)}, [], ElectionCause.CUT_OFF),
        (next_won(), {1: LostWrites(3, 45_000)}, [anew(60_000)], ElectionCause.RESTARTED),
        (next_won(), {1: LostWrites(3, 45_000)}, [once_more(60_000)], ElectionCause.CUT_OFF),
        (next_won(), {1: LostWrites(3, 52_000, 0, 3)}, [], ElectionCause.CUT_OFF),
        (next_won(), {1: LostWrites(3, 45_000, 3)}, [], ElectionCause.WENT_BACK),
        (next_won(), {1: LostWrites(3, 52_000, 1)}, [anew(60_000)], ElectionCause.WENT_BACK),
        (next_won(leader=1), {1: LostWrites(3, 45_000, 3)}, [], ElectionCause.WENT_BACK),
        (next_won(), {7: LostWrites(3, 52_000)}, [], ElectionCause.SILENT),
        (next_won(), {}, [anew(110_000)], ElectionCause.RESTARTED),
        (next_won(previous_at=None), {}, [anew(110_000)], ElectionCause.RESTARTED),
        (next_won(), {}, [anew(110_001)], ElectionCause.SILENT),
        (next_won(), {}, [anew(49_999)], ElectionCause.SILENT),
        (next_won(), {}, [anew(51_000, 3)], ElectionCause.SILENT),
        (next_won(leader=1, granting=(1, 2)), {}, [anew(51_000)], ElectionCause.RESTARTED),
    ],
)
def test_the_cause_is_told_by_what_the_logs_hold(
    won: Won, lost: dict[int, LostWrites], registered: list[Registration], cause: ElectionCause
) -> None:
    assert cause_of(FORMER, won, lost, registered)[0] is cause


@pytest.mark.parametrize(
    ("won", "registered", "cause"),
    [
        # it appended until it resigned, won again, and another process was started much later
        (next_won(leader=1, granting=(1, 3), previous_at=49_900), 36_000, ElectionCause.UNKNOWN),
        (next_won(granting=(1, 2), previous_at=49_900), 36_000, ElectionCause.RESIGNED),
        (next_won(previous_at=49_900), 36_000, ElectionCause.RESIGNED),
        # it was silent, but took part in the election, so its process hadn't ended
        (next_won(leader=1, granting=(1, 3)), 36_000, ElectionCause.SILENT),
        (next_won(granting=(1, 2)), 36_000, ElectionCause.SILENT),
        (next_won(granting=(1, 2), previous_at=None), 36_000, ElectionCause.UNKNOWN),
        # it was started soon enough to take part
        (next_won(granting=(1, 2)), 3_000, ElectionCause.RESTARTED),
    ],
)
def test_what_lies_before_an_election_counts_more_than_a_registration_long_after(
    won: Won, registered: int, cause: ElectionCause
) -> None:
    found, because = cause_of(FORMER, won, {}, [anew(won.at + registered)])
    assert found is cause
    assert (": its process had ended" in because) is (cause is ElectionCause.RESTARTED)


def test_a_process_that_registers_again_after_the_election_had_not_ended() -> None:
    """Kafka's controllers register again for other reasons than a start."""
    cause, because = cause_of(FORMER, next_won(), {}, [once_more(55_000), anew(70_000)])
    assert cause is ElectionCause.SILENT
    assert because.endswith("leader 1 was frozen or cut off")
    assert cause_of(FORMER, next_won(), {}, [])[1].endswith("had stopped, was frozen or cut off")


@pytest.mark.parametrize(
    ("writes", "granting", "because"),
    [
        (LostWrites(3, 45_000), (2, 3), "3 more records before it, which no majority has"),
        (
            LostWrites(1, 52_000, 0, 1),
            (2, 3),
            "1 more record until 2.0 s after this election, which the agreed branch lacks",
        ),
        (
            LostWrites(3, 45_000, 2),
            (2, 3),
            "3 more records before it, of which 2 were committed; the new leader has none of "
            "these: the disk of node 2 or 3 is older than it was, or was emptied",
        ),
        (
            LostWrites(3, 45_000, 1),
            (),
            "3 more records before it, of which 1 was committed; the new leader has none of "
            "these: the disk of a voter is older than it was, or was emptied",
        ),
    ],
)
def test_what_is_said_of_lost_writes_is_what_is_known_of_their_commitment(
    writes: LostWrites, granting: tuple[int, ...], because: str
) -> None:
    told = cause_of(FORMER, next_won(granting=granting), {1: writes}, [])[1]
    assert told == f"leader 1 had written {because}"


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


def test_an_epoch_of_which_no_record_is_left_may_have_had_a_winner() -> None:
    """Kafka writes quorum-state before the LeaderChange record, which may never reach another log:
    a recorded cluster had a leader of epoch 3, by quorum-state, and logs with epochs 2 and 4."""
    branch = the_branch(look(f"{DYNAMIC}/split"))
    events = timeline(branch).events
    (told,) = (one for one in events if (one.event, one.leader_epoch) == ("election", 5))
    assert told.detail.endswith("; these logs name no leader of epoch 4")
