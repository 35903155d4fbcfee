"""The role in which a replica starts, by what its disk holds (scenarios I)."""

import pytest

from replica.errors import UsageError
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.stored import ElectionState, LeaderAndEpoch, LogFacts
from replica.raft.inputs import Append, Tick
from replica.raft.leader.leading import NotLeaderError
from replica.raft.messages import (
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
)
from replica.raft.raft import Raft
from replica.raft.roles import Candidate, Follower, Leader, Resigned, Unattached
from tests.replica.raft.host import Disk, Host, batch, begin, config, elect, key, stored, vote
from tests.replica.raft.test_snapshots import content


def with_log(*batches, state=None):
    return Disk(state=state, batches=list(batches), flushed=batches[-1].end_offset)


def started(state, node_id=1, **disk):
    return Host(config(node_id, 1, 2, 3), Disk(state=state, **disk))


@pytest.mark.scenario("I03")
def test_a_stored_leader_is_followed_with_a_full_timeout():
    host = started(ElectionState(4, 2))
    assert isinstance(host.raft.role, Follower)
    assert host.raft.role.fetch_deadline == 2000
    assert host.take(FetchRequest)[0].node_id == 2


@pytest.mark.scenario("I04")
def test_a_stored_vote_for_another_is_kept():
    host = started(ElectionState(4, voted=key(2)))
    assert host.raft.role == Unattached(4, 1000, -1, key(2))


@pytest.mark.scenario("I05")
def test_a_stored_vote_for_the_local_node_without_directory_is_its_own_vote():
    host = started(ElectionState(4, voted=ReplicaKey(1), kraft_version=0))
    assert isinstance(host.raft.role, Candidate)
    assert host.raft.role.epoch == 4


@pytest.mark.scenario("I07")
def test_a_vote_on_the_disk_of_a_replica_without_id_is_refused():
    with pytest.raises(UsageError):
        Host(config(1, 2, 3, local=None), Disk(state=ElectionState(4, voted=key(2))))


@pytest.mark.scenario("I08")
def test_without_quorum_state_a_replica_starts_in_epoch_zero_and_first_stands_in_epoch_one():
    host = started(None)
    assert host.raft.role == Unattached(0, 1000)
    assert host.disk.state == ElectionState(0, kraft_version=0, voter_ids=(1, 2, 3))
    assert elect(host) == 1


def test_a_stored_epoch_older_than_the_log_s_gives_way_to_it():
    host = started(ElectionState(2, 3, key(3)), batches=[batch(0, 4, 5)], flushed=5)
    assert host.raft.role == Unattached(5, 1000)
    assert host.disk.state.epoch == 5


def test_a_stored_epoch_older_than_a_snapshot_s_gives_way_to_it():
    snapshot = OffsetAndEpoch(7, 6)
    host = started(ElectionState(2, 3), snapshots={snapshot: content(7, 6)})
    assert host.raft.role.epoch == 6
    assert host.take(VoteRequest) == []


def test_an_epoch_above_the_log_s_is_kept():
    host = started(ElectionState(9), batches=[batch(0, 4, 5)], flushed=5)
    assert host.raft.role.epoch == 9


@pytest.mark.scenario("I13")
def test_after_a_crash_a_log_without_its_unflushed_records_starts():
    host = Host(config(1, 1, 2, 3), Disk(batches=[batch(0, 4, 5)]))
    host.flushes_late = True
    begin(host, 2, epoch=6)
    records = FetchResponse(epoch=6, leader_id=2, batches=(batch(5, 5, 6),))
    host.answer(host.take(FetchRequest)[0], records)
    assert host.raft.log.log_end == 6
    again = host.restarted(crash=True)
    assert (again.raft.log.log_end, again.raft.log.last_epoch) == (5, 5)


def test_a_state_machine_is_told_the_stored_leader():
    assert started(ElectionState(4, 2)).leaders == [LeaderAndEpoch(2, 4)]
    assert started(ElectionState(4, 1)).leaders == []


def test_effects_of_the_start_come_with_the_first_step_that_raises_nothing():
    fresh = Raft(config(1, 1, 2, 3), LogFacts(), ElectionState(4, 2), lambda bound: 0, 0)
    with pytest.raises(NotLeaderError):
        fresh.step(Append(4, (b"a",)), 0)
    assert fresh.step(Tick(), 0).leader_change == LeaderAndEpoch(2, 4)
    assert fresh.step(Tick(), 0).leader_change is None


@pytest.mark.scenario("C01", "C02", "E23", "I06", "T04")
def test_a_restarted_leader_is_resigned_and_votes_for_nobody_in_its_epoch():
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, 1)))
    assert isinstance(host.raft.role, Resigned)
    assert host.raft.role.unacked == {2, 3}
    ended = host.take(EndQuorumEpochRequest)
    assert {(s.node_id, s.message.epoch) for s in ended} == {(2, 4), (3, 4)}
    with pytest.raises(NotLeaderError):
        host.append(b"a")
    for end_offset in (0, 99):
        assert not vote(host, 2, epoch=4, end_offset=end_offset).granted
    host.after(999)
    assert host.raft.role.epoch == 4
    host.after(1)
    assert host.raft.role.epoch == 5
    assert stored(host) == (5, -1, None)


@pytest.mark.scenario("C03", "C04", "I05", "T05")
def test_a_restarted_candidate_stays_in_its_epoch_with_its_vote():
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, voted=key(1))))
    assert isinstance(host.raft.role, Candidate)
    sent = host.take(VoteRequest)
    assert {(s.node_id, s.message.epoch, s.message.pre_vote) for s in sent} == {
        (2, 4, False),
        (3, 4, False),
    }
    assert not vote(host, 2, epoch=4, end_offset=99).granted
    assert host.raft.role.tally.granted == {1}


@pytest.mark.scenario("C06")
def test_a_lone_voter_that_led_an_epoch_leads_the_next_one_never_the_same():
    host = Host(config(1, 1), with_log(batch(0, 0, 2), state=ElectionState(2, 1)))
    assert isinstance(host.raft.role, Leader)
    assert host.raft.role.epoch == 3


@pytest.mark.scenario("C07", "I08")
def test_a_fresh_lone_voter_leads_epoch_one_at_once_without_network():
    host = Host(config(1, 1))
    assert isinstance(host.raft.role, Leader)
    assert (host.raft.role.epoch, host.sends) == (1, [])
    assert stored(host) == (1, 1, None)
