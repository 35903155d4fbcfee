"""BeginQuorumEpoch, EndQuorumEpoch, check-quorum, resignation, shutdown (scenarios E)."""

import pytest

from replica.errors import UsageError
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.stored import ElectionState, LeaderAndEpoch
from replica.raft.config import FOREVER
from replica.raft.effects import Stopped
from replica.raft.inputs import Resign, Shutdown
from replica.raft.leader.leading import NotLeaderError
from replica.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    RemoveVoterRequest,
    VoteRequest,
)
from replica.raft.roles import Follower, Leader, Prospective, Resigned, Unattached
from tests.replica.raft.host import (
    Disk,
    Host,
    begin,
    bootstrapped,
    config,
    dynamic,
    elect,
    fetch,
    key,
    vote,
    voter,
)

CHECK_QUORUM = 3000  # 1.5 fetch timeouts


def leader(*voter_ids, **changes):
    host = Host(config(1, *(voter_ids or (1, 2, 3)), **changes))
    elect(host)
    return host


def end(host, leader_id, epoch, *successors, **changes):
    message = EndQuorumEpochRequest(
        epoch=epoch, leader_id=leader_id, preferred_successors=successors, **changes
    )
    return host.ask(message)


@pytest.mark.scenario("E01")
def test_a_leader_that_no_voter_fetches_from_resigns_observers_don_t_count():
    host = leader()
    host.after(CHECK_QUORUM - 1)
    fetch(host, 9, 1)
    assert isinstance(host.raft.role, Leader)
    host.after(1)
    assert isinstance(host.raft.role, Resigned)


@pytest.mark.scenario("E02", "T15")
def test_a_snapshot_fetch_counts_for_check_quorum():
    host = leader()
    fetch(host, 2, 1)
    host.propose(b"a")
    fetch(host, 2, 2)
    snapshot_id = host.snapshot()
    host.after(CHECK_QUORUM - 1)
    host.ask(FetchSnapshotRequest(replica=key(3), epoch=1, snapshot_id=snapshot_id, position=0))
    host.after(CHECK_QUORUM - 1)
    assert isinstance(host.raft.role, Leader)
    host.after(1)
    assert isinstance(host.raft.role, Resigned)


@pytest.mark.scenario("E03")
def test_of_five_voters_two_others_must_fetch():
    host = leader(1, 2, 3, 4, 5)
    before = host.raft.role.check_quorum_deadline
    host.after(1000)
    fetch(host, 2, 1)
    fetch(host, 2, 1)
    fetch(host, 9, 1)
    assert host.raft.role.check_quorum_deadline == before
    host.after(1000)
    fetch(host, 3, 1)
    assert host.raft.role.check_quorum_deadline == host.now + CHECK_QUORUM


@pytest.mark.scenario("E04", "T15")
def test_a_removed_leader_doesn_t_count_itself_for_check_quorum():
    """Of four voters with the leader two others must fetch, and of the three that are left, two."""
    host = Host(dynamic(config(1)), bootstrapped(1, 2, 3, 4))
    elect(host)

    def resets(*node_ids):
        host.after(100)
        for node_id in node_ids:
            fetch(host, node_id, host.disk.log_end - 1)
        return host.raft.role.check_quorum_deadline == host.now + CHECK_QUORUM

    assert not resets(2)
    assert resets(3)
    for node_id in (2, 3):
        fetch(host, node_id, host.disk.log_end)
    host.ask(RemoveVoterRequest(voter=key(1)))
    assert host.raft.log.voters.ids == (2, 3, 4)
    assert not resets(2)
    assert resets(4)


@pytest.mark.scenario("E05")
def test_a_lone_voter_never_resigns_for_silence():
    host = leader(1)
    assert host.raft.role.check_quorum_deadline == FOREVER
    host.after(60_000)
    assert isinstance(host.raft.role, Leader)


@pytest.mark.scenario("E06", "E07")
def test_a_leader_makes_itself_known_at_once_and_every_half_fetch_timeout():
    host = leader()
    first = host.take(BeginQuorumEpochRequest)
    assert {(s.node_id, s.message.voter) for s in first} == {(2, key(2)), (3, key(3))}
    for send in first:
        host.answer(send, BeginQuorumEpochResponse(epoch=1, leader_id=1))
    host.after(999)
    assert host.take(BeginQuorumEpochRequest) == []
    host.after(1)
    assert {s.node_id for s in host.take(BeginQuorumEpochRequest)} == {2, 3}


@pytest.mark.scenario("E08", "E09")
def test_begin_quorum_epoch_is_followed_after_a_vote_and_by_former_leaders():
    host = Host(config(1, 1, 2, 3))
    vote(host, 2, epoch=1)
    assert begin(host, 2, epoch=1).error is ErrorCode.NONE
    assert (type(host.raft.role), host.raft.role.leader_id) == (Follower, 2)
    former = leader()
    begin(former, 3, epoch=2)
    assert (type(former.raft.role), former.raft.role.leader_id) == (Follower, 3)


@pytest.mark.scenario("E10")
def test_a_resigned_leader_follows_the_next_one_and_tells_its_state_machine():
    host = leader()
    host.step(Resign(1))
    begin(host, 2, epoch=2)
    assert isinstance(host.raft.role, Follower)
    assert host.leaders[-1] == LeaderAndEpoch(2, 2)


@pytest.mark.scenario("E11", "T07")
def test_begin_quorum_epoch_for_another_directory_is_refused_but_its_leader_is_followed():
    host = Host(config(1, 1, 2, 3))
    response = begin(host, 2, epoch=1, voter=key(1, "other"))
    assert (response.error, response.leader_id) == (ErrorCode.INVALID_VOTER_KEY, 2)
    assert isinstance(host.raft.role, Follower)


@pytest.mark.scenario("E12")
def test_a_leader_may_name_more_endpoints():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    more = (*voter(2).endpoints, *voter(2, port=9001).endpoints)
    begin(host, 2, epoch=1, leader_endpoints=more)
    host.after(600)
    assert host.take(FetchRequest)[-1].endpoints == more


@pytest.mark.scenario("E13")
def test_a_lost_begin_quorum_epoch_is_not_resent_before_its_period():
    host = leader()
    host.after(600)
    host.sends.clear()
    fetch(host, 2, 1)
    host.after(300)
    assert host.take(BeginQuorumEpochRequest) == []


@pytest.mark.scenario("E14")
def test_the_first_successor_stands_at_once():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    end(host, 2, 1, key(1), key(3))
    assert isinstance(host.raft.role, Prospective)


@pytest.mark.scenario("E15")
def test_the_second_successor_waits_and_keeps_fetching():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    fetching = host.take(FetchRequest)[0]
    end(host, 2, 1, key(3), key(1))
    resigned = FetchResponse(error=ErrorCode.NOT_LEADER_OR_FOLLOWER, epoch=1, leader_id=2)
    host.answer(fetching, resigned)
    host.after(499)
    assert isinstance(host.raft.role, Follower)
    assert len(host.take(FetchRequest)) == 1
    host.after(1)
    assert isinstance(host.raft.role, Prospective)


@pytest.mark.scenario("E15")
def test_a_voter_that_is_no_preferred_successor_waits_longest():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    end(host, 2, 1, key(3), key(1, "other"))
    assert host.raft.role.fetch_deadline == 1000


@pytest.mark.scenario("E16")
def test_an_unattached_first_successor_learns_the_leader_and_stands():
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4)))
    end(host, 2, 4, key(1))
    assert (type(host.raft.role), host.raft.role.leader_id) == (Prospective, 2)


@pytest.mark.scenario("E17", "E18")
def test_an_end_of_an_older_epoch_is_fenced():
    standing = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, voted=key(1))))
    before = standing.raft.role
    assert end(standing, 2, 3, key(1)).error is ErrorCode.FENCED_LEADER_EPOCH
    assert standing.raft.role == before
    leading = leader()
    assert end(leading, 2, 0, key(1)).error is ErrorCode.FENCED_LEADER_EPOCH
    assert isinstance(leading.raft.role, Leader)


@pytest.mark.scenario("E19", "E26")
def test_a_leader_that_shuts_down_names_the_most_advanced_first():
    host = leader()
    host.propose(b"a", b"b")
    fetch(host, 2, 1)
    fetch(host, 3, 3)
    host.sends.clear()
    host.after(600)
    host.sends.clear()
    host.step(Shutdown(5000))
    sent = host.take(EndQuorumEpochRequest)
    assert {s.node_id for s in sent} == {2, 3}
    assert sent[0].message.preferred_successors == (key(3), key(2))
    begin(host, 3, epoch=2)
    assert host.effects[-1].stopped is Stopped.GRACEFULLY


@pytest.mark.scenario("E20")
def test_a_resignation_is_repeated_to_the_silent_only():
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, 1)))
    first = host.take(EndQuorumEpochRequest)
    send = next(s for s in first if s.node_id == 2)
    host.answer(send, EndQuorumEpochResponse(epoch=4, leader_id=1))
    host.after(500)
    assert {s.node_id for s in host.take(EndQuorumEpochRequest)} == {3}


@pytest.mark.scenario("E21")
def test_a_resigned_leader_serves_nobody_but_is_the_leader_of_record():
    host = leader()
    host.step(Resign(1))
    response = fetch(host, 2, 1)
    assert (response.error, response.leader_id, response.epoch) == (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        1,
        1,
    )


@pytest.mark.scenario("E22")
def test_a_resigned_leader_moves_on_to_the_next_epoch_without_a_leader():
    host = leader()
    fetch(host, 2, 1)
    assert host.leaders[-1] == LeaderAndEpoch(1, 1)
    host.step(Resign(1))
    host.after(1000)
    assert (type(host.raft.role), host.raft.role.epoch) == (Unattached, 2)
    assert host.leaders[-1] == LeaderAndEpoch(-1, 2)


@pytest.mark.scenario("E24", "E25")
def test_resigning_is_for_the_leader_of_that_epoch():
    host = leader()
    host.step(Resign(0))
    assert isinstance(host.raft.role, Leader)
    with pytest.raises(UsageError):
        host.step(Resign(2))
    for configuration in (config(1, 1, 2, 3), config(9, 1, 2, 3), config(9, 1, 2, 3, local=None)):
        follower = Host(configuration)
        begin(follower, 2, epoch=1)
        with pytest.raises(NotLeaderError):
            follower.step(Resign(1))


@pytest.mark.scenario("E27")
def test_a_shutdown_that_nobody_answers_ends_at_its_timeout():
    host = leader()
    host.step(Shutdown(700))
    host.after(699)
    assert all(effects.stopped is None for effects in host.effects)
    host.after(1)
    assert Stopped.BY_TIMEOUT in [effects.stopped for effects in host.effects]


@pytest.mark.scenario("E28")
def test_a_replica_that_the_quorum_does_not_need_stops_at_once():
    follower = Host(config(1, 1, 2, 3))
    begin(follower, 2, epoch=1)
    for host in (follower, Host(config(9, 1, 2, 3)), leader(1)):
        host.step(Shutdown(700))
        assert host.effects[-1].stopped is Stopped.GRACEFULLY
        assert host.raft.next_deadline() == FOREVER


@pytest.mark.scenario("E29", "B16")
@pytest.mark.parametrize("cluster_id", ["", "other"])
def test_requests_of_another_cluster_are_refused(cluster_id):
    host = Host(config(1, 1, 2, 3))
    messages = [
        BeginQuorumEpochRequest(epoch=1, leader_id=2, cluster_id=cluster_id),
        EndQuorumEpochRequest(epoch=1, leader_id=2, cluster_id=cluster_id),
        VoteRequest(epoch=1, candidate=key(2), last_epoch=0, end_offset=0, cluster_id=cluster_id),
        FetchRequest(
            replica=key(2), epoch=0, fetch_offset=0, last_fetched_epoch=0, cluster_id=cluster_id
        ),
        FetchSnapshotRequest(
            replica=key(2),
            epoch=0,
            snapshot_id=OffsetAndEpoch(1, 1),
            position=0,
            cluster_id=cluster_id,
        ),
    ]
    for message in messages:
        assert host.ask(message).error is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert host.raft.role.epoch == 0


@pytest.mark.scenario("E29", "B16")
@pytest.mark.parametrize("cluster_id", [None, "cluster"])
def test_requests_of_this_cluster_or_of_none_are_taken(cluster_id):
    host = Host(config(1, 1, 2, 3))
    assert begin(host, 2, epoch=1, cluster_id=cluster_id).error is ErrorCode.NONE
    assert end(host, 2, 1, cluster_id=cluster_id).error is ErrorCode.NONE
    leading = leader()
    assert fetch(leading, 2, 1, cluster_id=cluster_id).error is ErrorCode.NONE
    later = {"epoch": 2, "last_epoch": 1, "end_offset": 1}
    assert vote(leading, 2, **later, cluster_id=cluster_id).granted


def test_a_leader_without_an_id_or_epoch_is_illegal():
    host = Host(config(1, 1, 2, 3))
    assert begin(host, -1, epoch=1).error is ErrorCode.INVALID_REQUEST
    assert begin(host, 2, epoch=-3).error is ErrorCode.INVALID_REQUEST
    assert begin(host, 1, epoch=5).error is ErrorCode.INVALID_REQUEST
    assert sum(host.raft.illegal_messages.values()) == 3
    assert host.raft.role.epoch == 0
