"""Whose id an observer may not take."""

import pytest

from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.node.observer.guard import RECENT_MS, conflict, may_be_alive
from replica.raft.messages import DescribeQuorumResponse, ReplicaState

OURS, THEIRS = "4nHfNbFbTIWzYIQBhTuVDA", "sZ3XTpIORUSvUTLyzXIrrQ"
NOW_MS = 1_795_231_128_672


def state(node_id, directory_id=THEIRS, last_fetch=NOW_MS):
    return ReplicaState(ReplicaKey(node_id, directory_id), 10, last_fetch, last_fetch)


def quorum(*observers):
    return DescribeQuorumResponse(voters=(state(1), state(2)), observers=observers)


@pytest.mark.parametrize("directory_id", [OURS, THEIRS, ZERO_UUID])
def test_an_observer_can_not_have_a_voters_id_with_any_directory(directory_id):
    assert "voter's" in conflict(quorum(), ReplicaKey(2, directory_id))


def test_a_registered_nodes_id_is_taken():
    assert "broker's or controller's" in conflict(quorum(), ReplicaKey(11, OURS), {11, 12})


def test_another_observers_id_is_taken():
    assert THEIRS in conflict(quorum(state(70)), ReplicaKey(70, OURS))


def test_an_observer_before_its_restart_is_no_conflict():
    assert conflict(quorum(state(70, OURS)), ReplicaKey(70, OURS)) is None
    assert not may_be_alive(quorum(state(70, OURS)), ReplicaKey(70, OURS))


@pytest.mark.parametrize(("silent_ms", "alive"), [(RECENT_MS - 1, True), (RECENT_MS, False)])
def test_an_observer_without_directory_id_counts_as_alive_while_it_fetches(silent_ms, alive):
    described = quorum(state(70, ZERO_UUID, NOW_MS - silent_ms))

    assert conflict(described, ReplicaKey(70, OURS)) is None
    assert may_be_alive(described, ReplicaKey(70, OURS)) is alive


def test_an_unused_node_id_is_free():
    assert conflict(quorum(state(70)), ReplicaKey(71, OURS), {1, 2, 11}) is None
