"""Voter sets: membership by directory, overlapping majorities."""

import pytest

from replica.model.keys import ReplicaKey
from replica.model.voters import Voter, voter_set, without_directories


def key(node_id, directory="a"):
    return ReplicaKey(node_id, f"directory-{node_id}{directory}")


THREE = voter_set(Voter(key(n)) for n in (3, 1, 2))


def test_voters_stand_in_the_order_of_their_ids():
    assert THREE.ids == (1, 2, 3)


@pytest.mark.scenario("H32")
def test_a_voter_with_a_directory_is_matched_by_it_alone():
    assert THREE.is_voter(key(1))
    assert not THREE.is_voter(key(1, "b"))
    assert not THREE.is_voter(ReplicaKey(1))
    assert without_directories(THREE).is_voter(key(1, "b"))
    assert not without_directories(THREE).is_voter(key(4))


@pytest.mark.scenario("H30", "H31")
def test_majorities_overlap_exactly_when_at_most_one_voter_differs_each_way():
    replaced = THREE.with_voter(Voter(key(1, "b")))
    assert THREE.has_overlapping_majority(replaced)
    assert not THREE.has_overlapping_majority(replaced.with_voter(Voter(key(2, "b"))))
    four = THREE.with_voter(Voter(key(4)))
    assert THREE.has_overlapping_majority(four)
    assert not THREE.has_overlapping_majority(four.with_voter(Voter(key(5))))
    assert not THREE.has_overlapping_majority(THREE.without(key(1)).without(key(2)))


def test_the_other_voters_are_all_but_the_local_replica():
    assert [v.key.node_id for v in THREE.others(key(2))] == [1, 3]
    assert len(THREE.others(key(2, "b"))) == 3
    assert len(THREE.others(None)) == 3
