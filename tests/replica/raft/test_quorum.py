"""Whole quorums on a network without faults."""

import pytest

from replica.model.stored import ElectionState
from replica.raft.inputs import Clean
from replica.raft.messages import RemoveVoterRequest
from replica.raft.roles import Follower, Leader
from tests.replica.raft.host import key
from tests.replica.raft.quorum import Quorum


def test_three_voters_elect_a_leader_and_commit_what_it_appends():
    quorum = Quorum(1, 2, 3)
    quorum.run(4000)
    leader = quorum.leader
    leader.propose(b"a", b"b")
    quorum.run(1000)
    assert [host.applied for host in quorum.hosts.values()] == [[(1, b"a"), (2, b"b")]] * 3


def test_an_observer_follows_and_applies_but_never_leads():
    quorum = Quorum(1, 2, 3, observers=(9,))
    quorum.run(4000)
    quorum.leader.propose(b"a")
    quorum.run(1000)
    observer = quorum.hosts[9]
    assert isinstance(observer.raft.role, Follower)
    assert observer.applied == [(1, b"a")]
    quorum.cut |= {1, 2, 3}
    quorum.run(20_000)
    assert isinstance(observer.raft.role, Follower)
    assert observer.disk.state.voted is None


def test_a_new_leader_is_elected_when_the_old_one_is_cut_off():
    quorum = Quorum(1, 2, 3)
    quorum.run(4000)
    old = quorum.leader
    quorum.cut.add(old.config.local.key.node_id)
    old.propose(b"ghost")
    quorum.run(8000)
    new = quorum.leader
    assert new is not old
    assert new.raft.role.epoch > old.raft.role.epoch
    assert not isinstance(old.raft.role, Leader)
    new.propose(b"real")
    quorum.cut.clear()
    quorum.run(4000)
    assert [data for _, data in old.applied] == [b"real"]


def test_a_voter_removed_after_it_stood_in_a_newer_epoch_costs_one_election_and_gets_the_log():
    quorum = Quorum(1, 2, 3, in_log=True)
    quorum.run(4000)
    leader = quorum.leader
    removed = next(n for n, host in quorum.hosts.items() if host is not leader)
    quorum.cut.add(removed)
    leader.ask(RemoveVoterRequest(voter=key(removed)))
    quorum.run(2000)
    epoch = leader.raft.role.epoch
    quorum.hosts[removed].disk.state = ElectionState(epoch + 1, voted=key(removed))
    quorum.restart(removed)
    quorum.cut.clear()
    quorum.run(5000)
    assert quorum.leader.raft.role.epoch == epoch + 2
    quorum.leader.propose(b"a")
    quorum.run(60_000)
    assert quorum.leader.raft.role.epoch == epoch + 2
    assert [data for _, data in quorum.hosts[removed].applied] == [b"a"]
    assert not quorum.hosts[removed].raft.is_voter


def test_a_lone_voter_leads_and_commits_by_itself():
    quorum = Quorum(1)
    quorum.run(3000)
    quorum.leader.propose(b"a")
    assert quorum.leader.applied == [(1, b"a")]
    quorum.restart(1)
    quorum.run(3000)
    assert quorum.leader.raft.role.epoch > 1
    assert quorum.leader.applied == [(1, b"a")]


@pytest.mark.scenario("B39")
def test_a_follower_far_behind_gets_a_snapshot_in_slices():
    quorum = Quorum(1, 2, 3, fetch_snapshot_max_bytes=100, retention_bytes=0)
    quorum.run(4000)
    leader = quorum.leader
    late = next(n for n, host in quorum.hosts.items() if host is not leader)
    quorum.cut.add(late)
    for number in range(30):
        leader.propose(b"value-%d" % number)
        quorum.run(100)
    assert leader.snapshot() is not None
    leader.propose(b"last")
    quorum.run(500)
    leader.snapshot()
    leader.step(Clean(10**6))
    assert leader.disk.log_start == leader.disk.log_end
    quorum.cut.clear()
    quorum.run(8000)
    assert quorum.hosts[late].loaded
    assert quorum.hosts[late].applied == quorum.leader.applied
    assert quorum.hosts[late].disk.log_start >= leader.disk.log_start
    assert quorum.hosts[late].disk.log_end == quorum.leader.disk.log_end
