"""The high watermark; F.. are scenario ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.history.watermark import (
    HighWatermarkRegressionError,
    checked_leader_watermark,
    follower_high_watermark,
    leader_high_watermark,
)
from replica.model.keys import ReplicaKey
from replica.model.voters import majority

KEYS = [ReplicaKey(n, f"directory-{n}") for n in range(5)]


def watermark(ends, epoch_start, current=None, voters=None):
    """`ends[n]` is the flushed end of node n; the voters are all of them unless given."""
    ids = range(len(ends)) if voters is None else voters
    flushed = {KEYS[n]: end for n, end in enumerate(ends)}
    return leader_high_watermark(frozenset(KEYS[n] for n in ids), flushed, epoch_start, current)


@pytest.mark.scenario("F01", "F02", "F03")
@pytest.mark.parametrize(
    ("ends", "epoch_start", "expected"),
    [
        pytest.param([13, 10], 10, None, id="F01-not-past-the-epoch-start"),
        pytest.param([13, 11], 10, 11, id="F01-past-the-epoch-start"),
        pytest.param([15, 10, 10], 10, None, id="F02-minority"),
        pytest.param([15, 10, 15], 10, 15, id="F02-majority"),
        pytest.param([20, 20, 15], 10, 20, id="F02-majority-moves-on"),
        pytest.param([15], 15, None, id="F03-single-voter-without-a-record"),
        pytest.param([16], 15, 16, id="F03-single-voter"),
        pytest.param([20, 18, 16, 15], 10, 16, id="four-voters-need-three"),
    ],
)
def test_a_majority_moves_the_high_watermark_only_past_the_epoch_start(ends, epoch_start, expected):
    assert watermark(ends, epoch_start) == expected


@pytest.mark.scenario("F16")
def test_old_records_on_a_majority_commit_only_with_one_of_the_epoch():
    """F16 and Raft's figure 8."""
    assert watermark([10, 9], 9) is None
    assert watermark([10, 10], 9) == 10


@pytest.mark.scenario("F06", "F07")
def test_the_high_watermark_never_falls():
    assert watermark([15, 5], 4, current=10) == 10, "F06: a lost disk"
    assert watermark([20, 15, 10, 10], 4, current=15) == 15, "F07: a new voter behind"
    assert watermark([20, 16, 16, 10], 4, current=15) == 16, "F07: past it again"


@pytest.mark.scenario("F08")
def test_a_new_voter_that_has_caught_up_moves_the_high_watermark():
    assert watermark([15, 10, 15], 5, voters=[0, 1]) == 10
    assert watermark([15, 10, 15], 5, current=10, voters=[0, 1, 2]) == 15


@pytest.mark.scenario("F09")
def test_removing_a_caught_up_follower_moves_nothing():
    assert watermark([15, 15, 10], 5, current=15, voters=[0, 2]) == 15
    assert watermark([17, 15, 16], 5, current=15, voters=[0, 2]) == 16


@pytest.mark.scenario("F10")
def test_a_leader_outside_the_voter_set_does_not_count_itself():
    assert watermark([20, 12, 11], 5, current=11, voters=[1, 2]) == 11
    assert watermark([20, 12, 12], 5, current=11, voters=[1, 2]) == 12


def test_an_unheard_voter_counts_as_empty():
    ends = {KEYS[0]: 20}
    assert leader_high_watermark(frozenset(KEYS[:2]), ends, 5, None) is None


@pytest.mark.scenario("F04", "F20")
def test_a_followers_is_capped_and_never_falls_even_with_a_new_leader():
    assert follower_high_watermark(None, 3, 5) == 3
    assert follower_high_watermark(2, 101, 100) == 100, "F20"
    assert follower_high_watermark(10, None, 12) == 10, "F04: the new leader knows none yet"
    assert follower_high_watermark(10, 4, 12) == 10


@pytest.mark.scenario("F13", "F21")
@pytest.mark.parametrize("offered", [14, None])
def test_one_leader_naming_a_lower_one_is_an_error(offered):
    with pytest.raises(HighWatermarkRegressionError, match="fall from 15"):
        checked_leader_watermark(15, offered)


@pytest.mark.scenario("F13")
def test_one_leader_naming_the_same_or_a_higher_one_is_fine():
    assert checked_leader_watermark(15, 15) == 15
    assert checked_leader_watermark(None, None) is None
    assert checked_leader_watermark(15, 17) == 17


@given(st.lists(st.integers(0, 30), min_size=1, max_size=5), st.integers(0, 30))
def test_exactly_a_majority_has_what_it_commits(ends, epoch_start):
    found = watermark(ends, epoch_start)
    reaching = [
        end for end in sorted(set(ends)) if sum(e >= end for e in ends) >= majority(len(ends))
    ]
    assert found == (reaching[-1] if reaching[-1] > epoch_start else None)
