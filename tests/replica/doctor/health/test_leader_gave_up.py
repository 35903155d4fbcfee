"""The finding about a quorum whose leader gave up."""

from __future__ import annotations

from replica.doctor.health.cluster import Lag
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.model.keys import ReplicaKey
from tests.replica.doctor.health.clusters import healthy, judged, names

NOW = 1_764_500_000_000
"""2025-11-30T10:53:20Z."""


def test_it_names_the_leader_the_time_and_the_voters_that_are_behind() -> None:
    leaderless = KnownQuorum(is_leaderless=True, gave_up=ReplicaKey(2))
    lags = {3: Lag(5, 12_300)}
    found = judged(healthy(), quorum=leaderless, now=NOW, lags=lags)["leader-gave-up"]
    assert found.message == (
        "node 2 gave up leading after 2025-11-30 10:53:20 UTC, and no directory here names a later "
        "leader; voter 3's log ends 12.3 s earlier; a leader needs 2 of the 3 voters (1, 2 and 3)"
    )
    assert names(found) == ["voter 3"]
    assert [one.offset for one in found.subjects] == [4]


def test_it_says_what_is_not_known() -> None:
    found = judged(healthy(), quorum=KnownQuorum(is_leaderless=True), voters=frozenset({1}))
    assert found["leader-gave-up"].message == (
        "the last leader gave up leading, and no directory here names a later leader"
    )
    assert found["leader-gave-up"].subjects == ()


def test_a_led_quorum_has_no_such_finding() -> None:
    assert "leader-gave-up" not in judged(healthy(), quorum=KnownQuorum(), now=NOW)


def test_of_an_even_number_of_voters_more_than_half_are_needed() -> None:
    """A controller was added, and the one that it replaces is still a voter."""
    four = frozenset({1, 2, 3, 4})
    found = judged(healthy(), quorum=KnownQuorum(is_leaderless=True), voters=four)
    assert found["leader-gave-up"].message.endswith(
        "; a leader needs 3 of the 4 voters (1, 2, 3 and 4)"
    )
