"""The meaning of a leader's answer: lag, times by the leader's clock, and verdicts."""

from hypothesis import given
from hypothesis import strategies as st

from replica.admin.quorum import verdicts
from replica.model.keys import ReplicaKey
from replica.severity import Severity
from replica.wire.describe_quorum import DescribedQuorum, DescribedReplica

NOW = 1_000_000


def replica(node_id, log_end=10, ago=0, fetched=None):
    """A follower. ago: the ms from its last catching up to the leader's answer. fetched: the ms
    from its last fetch; None for the value of `ago`."""
    fetch = NOW - (ago if fetched is None else fetched)
    return DescribedReplica(ReplicaKey(node_id), log_end, fetch, NOW - ago)


def leader(node_id=1, log_end=10):
    return DescribedReplica(ReplicaKey(node_id), log_end, -1, NOW)


def quorum(*voters, observers=(), leader_id=1, high_watermark=10, kraft_version=1):
    features = {"kraft.version": kraft_version} if kraft_version else {}
    return DescribedQuorum(
        0,
        leader_id,
        3,
        high_watermark,
        tuple(voters),
        tuple(observers),
        cluster_id="c",
        features=features,
    )


def said(found, within_ms=2000):
    return [(verdict.severity.value, verdict.text) for verdict in verdicts(found, within_ms)]


def test_a_quorum_that_is_caught_up_gets_one_line_with_the_failures_that_it_survives():
    found = quorum(leader(), replica(2, ago=300), replica(3, log_end=9, ago=2000))
    assert said(found) == [
        ("info", "3 of 3 voters caught up: 1 may fail and records are still committed")
    ]


def test_lag_and_times_are_counted_from_the_leader():
    found = quorum(leader(), replica(2, log_end=4, ago=700, fetched=20))
    slow = found.voters[1]
    assert (found.lag(slow), found.ago(slow.last_fetch), found.ago(slow.last_caught_up)) == (
        6,
        20,
        700,
    )
    assert found.ago(-1) is None
    assert found.lag(DescribedReplica(ReplicaKey(9), -1, -1, -1)) is None


def test_a_voter_that_stopped_fetching_is_named_with_the_time_since_its_last_fetch():
    found = quorum(leader(), replica(2), replica(3, log_end=7, ago=5000))
    assert said(found) == [
        (
            "warning",
            "2 of 3 voters caught up: no other may fail, or nothing is committed any more",
        ),
        ("warning", "voter 3 has not fetched for 5000 ms, 3 records behind"),
    ]


def test_a_voter_that_fetches_and_lags_is_behind():
    found = quorum(leader(), replica(2), replica(3, log_end=7, ago=5000, fetched=10))
    assert said(found)[1] == ("warning", "voter 3 is 3 records behind")


def test_a_minority_commits_nothing():
    unheard = [DescribedReplica(ReplicaKey(node_id), 0, -1, -1) for node_id in (2, 3)]
    first, *behind = said(quorum(leader(), *unheard, high_watermark=-1))
    assert first[0] == "error"
    assert "1 of 3 voters caught up, a majority is 2" in first[1]
    assert ("warning", "voter 2 was never heard of in this epoch") in behind
    assert ("warning", "nothing is committed in this epoch yet") in behind


def test_an_observer_that_lags_is_a_warning():
    observers = [replica(8, ago=10), replica(9, log_end=2, ago=60_000)]
    assert said(quorum(leader(), observers=observers))[1:] == [
        ("warning", "observer 9 has not fetched for 60000 ms, 8 records behind")
    ]


def test_an_even_number_of_voters_and_static_ones_are_noted():
    notes = said(quorum(leader(), replica(2), kraft_version=0))[1:]
    assert [severity for severity, _ in notes] == ["info", "info"]
    assert "2 voters survive 0 failures, as 1 do" in notes[0][1]
    assert "kraft.version 1" in notes[1][1]


def test_a_removed_leader_that_still_leads_is_told():
    found = quorum(replica(2), replica(3), replica(4), observers=[leader()])
    assert "leader 1 is no voter" in said(found)[-1][1]


def test_without_times_the_log_end_decides():
    old = DescribedReplica(ReplicaKey(2), 10, None, None)
    behind = DescribedReplica(ReplicaKey(3), 8, None, None)
    found = quorum(DescribedReplica(ReplicaKey(1), 10, None, None), old, behind)
    assert found.is_caught_up(old, 1)
    assert said(found)[1] == ("warning", "voter 3 is 2 records behind")


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9000)), min_size=1, max_size=6),
    st.integers(1, 9000),
)
def test_the_first_verdict_is_an_error_exactly_where_no_majority_keeps_up(others, within_ms):
    voters = [leader(), *(replica(n + 2, end, ago) for n, (end, ago) in enumerate(others))]
    found = quorum(*voters)
    caught_up = sum(found.is_caught_up(voter, within_ms) for voter in voters)
    first = verdicts(found, within_ms)[0]
    assert (first.severity is Severity.ERROR) == (2 * caught_up <= len(voters))
    assert (first.severity is Severity.INFO) == (caught_up == len(voters))
