"""Voters added, removed, updated; kraft.version upgraded (KIP-853, scenarios H)."""

from dataclasses import replace

import pytest

from replica.model.control import KRaftVersion, KRaftVoters, LeaderChange
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.model.voters import Voter
from replica.raft.inputs import Request, Resign
from replica.raft.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    RemoveVoterRequest,
    UpdateFeaturesRequest,
    UpdateVoterRequest,
)
from replica.raft.roles import Leader, Resigned, Unattached
from tests.replica.raft.host import (
    Disk,
    Host,
    batch,
    begin,
    bootstrapped,
    config,
    dynamic,
    elect,
    fetch,
    key,
    voter,
    voters,
)
from tests.replica.raft.quorum import Quorum
from tests.replica.raft.test_high_watermark import deliver


def leader(*voter_ids, committed=True):
    """Node 1 leading a quorum that keeps its voters in the log."""
    ids = voter_ids or (1, 2, 3)
    host = Host(dynamic(config(1)), bootstrapped(*ids))
    if len(ids) > 1:
        elect(host)
        if committed:
            commit(host, *ids[1:])
    return host


def commit(host, *node_ids):
    """Let others fetch at the log end."""
    for node_id in node_ids:
        fetch(host, node_id, host.disk.log_end)


def add(host, node_id=4, versions=(0, 1), request_id="add", **changes):
    """Ask to add a voter, and let the new voter answer when it is asked for its versions."""
    request = {"voter": key(node_id), "endpoints": voter(node_id).endpoints, **changes}
    host.step(Request(request_id, AddVoterRequest(**request)))
    asked = [s for s in host.sends if isinstance(s.message, ApiVersionsRequest)]
    host.sends.clear()
    if asked and versions is not None:
        lowest, highest = versions
        answer = ApiVersionsResponse(
            epoch=1, leader_id=1, min_kraft_version=lowest, max_kraft_version=highest
        )
        host.answer(asked[0], answer)
    return asked


def remove(host, who, request_id="remove"):
    host.step(Request(request_id, RemoveVoterRequest(voter=who)))


def caught_up(host, node_id=4):
    fetch(host, node_id, host.disk.log_end)


@pytest.mark.scenario("H01")
def test_a_caught_up_observer_is_a_voter_at_append_and_its_request_done_at_commit():
    host = leader()
    caught_up(host)
    asked = add(host)
    assert (asked[0].node_id, asked[0].endpoints) == (4, voter(4).endpoints)
    assert host.raft.log.voters.ids == (1, 2, 3, 4)
    assert host.disk.batches[-1].control == (KRaftVoters(voters(1, 2, 3, 4)),)
    assert "add" not in host.replies
    commit(host, 2, 3)
    assert host.replies["add"].error is ErrorCode.NONE


@pytest.mark.scenario("H02", "T16")
def test_no_change_of_voters_begins_before_a_commit_in_this_epoch():
    host = leader(committed=False)
    requests = [
        AddVoterRequest(voter=key(4), endpoints=voter(4).endpoints),
        RemoveVoterRequest(voter=key(3)),
        UpdateVoterRequest(epoch=1, voter=voter(3, port=9)),
        UpdateFeaturesRequest(kraft_version=1),
    ]
    for request in requests:
        assert host.ask(request).error is ErrorCode.REQUEST_TIMED_OUT
    assert host.raft.log.voters.ids == (1, 2, 3)


@pytest.mark.scenario("H03")
def test_one_change_at_a_time():
    host = leader()
    remove(host, key(3))
    requests = [
        AddVoterRequest(voter=key(4), endpoints=voter(4).endpoints),
        RemoveVoterRequest(voter=key(2)),
        UpdateVoterRequest(epoch=1, voter=voter(2, port=9)),
    ]
    for request in requests:
        assert host.ask(request).error is ErrorCode.REQUEST_TIMED_OUT
    assert host.raft.log.voters.ids == (1, 2)


@pytest.mark.scenario("H04", "T17")
def test_a_change_that_is_not_committed_in_time_stays_in_the_log():
    host = leader()
    caught_up(host)
    add(host, timeout_ms=1000)
    host.after(1000)
    assert host.replies["add"].error is ErrorCode.REQUEST_TIMED_OUT
    assert host.raft.log.voters.ids == (1, 2, 3, 4)
    assert host.ask(RemoveVoterRequest(voter=key(3))).error is ErrorCode.REQUEST_TIMED_OUT
    commit(host, 2, 3)
    remove(host, key(3))
    assert host.raft.log.voters.ids == (1, 2, 4)


@pytest.mark.scenario("H05", "T17")
def test_a_removal_survives_the_leader_that_lost_its_leadership():
    host = leader()
    remove(host, key(3))
    host.step(Resign(1))
    assert host.replies["remove"].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert host.raft.log.voters.ids == (1, 2)


@pytest.mark.scenario("H06")
@pytest.mark.parametrize("seen", [False, True])
def test_a_node_that_was_never_at_the_log_end_is_not_added(seen):
    host = leader()
    if seen:
        fetch(host, 4, 1)
    add(host)
    assert host.replies["add"].error is ErrorCode.REQUEST_TIMED_OUT
    assert host.raft.log.voters.ids == (1, 2, 3)


@pytest.mark.scenario("H07")
def test_a_node_id_that_is_a_voter_already_is_a_duplicate():
    host = leader()
    assert add(host, 3, voter=key(3, "new disk")) == []
    assert host.replies["add"].error is ErrorCode.DUPLICATE_VOTER


@pytest.mark.scenario("H08")
@pytest.mark.parametrize("wrong", [{"voter": ReplicaKey(4)}, {"endpoints": ()}])
def test_a_voter_needs_a_directory_and_the_default_listener(wrong):
    host = leader()
    caught_up(host)
    add(host, **wrong)
    assert host.replies["add"].error is ErrorCode.INVALID_REQUEST


@pytest.mark.scenario("H09")
def test_a_new_voter_must_support_the_finalized_version_and_answer():
    host = leader()
    caught_up(host)
    add(host, versions=(0, 0))
    assert host.replies["add"].error is ErrorCode.INVALID_REQUEST
    assert add(host, request_id="at once") == [], "a node is asked the same only after a pause"
    assert host.replies["at once"].error is ErrorCode.REQUEST_TIMED_OUT
    host.after(20)
    asked = add(host, versions=None, request_id="again")
    host.fail(asked[0])
    assert host.replies["again"].error is ErrorCode.REQUEST_TIMED_OUT
    assert host.raft.log.voters.ids == (1, 2, 3)


@pytest.mark.scenario("H10")
def test_static_voters_are_changed_by_no_request():
    host = Host(config(1, 1, 2, 3))
    elect(host)
    commit(host, 2)
    for request in (
        AddVoterRequest(voter=key(4), endpoints=voter(4).endpoints),
        RemoveVoterRequest(voter=key(3)),
    ):
        assert host.ask(request).error is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.scenario("H11")
def test_only_the_leader_changes_voters():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    for request in (
        AddVoterRequest(voter=key(4), endpoints=voter(4).endpoints),
        RemoveVoterRequest(voter=key(3)),
        UpdateVoterRequest(epoch=1, voter=voter(3)),
        UpdateFeaturesRequest(kraft_version=1),
    ):
        response = host.ask(request)
        assert (response.error, response.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 2)
        other = host.ask(replace(request, cluster_id="other"))
        assert other.error is ErrorCode.INCONSISTENT_CLUSTER_ID


@pytest.mark.scenario("H12")
def test_an_addition_that_waits_for_versions_ends_with_the_leadership():
    host = leader()
    caught_up(host)
    add(host, versions=None)
    host.step(Resign(1))
    assert host.replies["add"].error is ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.scenario("H13")
def test_a_removed_voter_is_out_at_append_and_the_rest_commits_it():
    host = leader()
    remove(host, key(3))
    assert host.raft.log.voters.ids == (1, 2)
    commit(host, 3)
    assert "remove" not in host.replies
    commit(host, 2)
    assert host.replies["remove"].error is ErrorCode.NONE


@pytest.mark.scenario("H14", "T18")
def test_a_leader_that_removes_itself_leads_till_commit_then_ends_as_observer():
    host = leader()
    remove(host, key(1))
    assert isinstance(host.raft.role, Leader)
    commit(host, 2)
    assert isinstance(host.raft.role, Leader)
    host.after(600)
    host.sends.clear()
    commit(host, 3)
    assert host.replies["remove"].error is ErrorCode.NONE
    assert isinstance(host.raft.role, Resigned)
    assert {s.node_id for s in host.take(EndQuorumEpochRequest)} == {2, 3}
    host.after(1000)
    assert isinstance(host.raft.role, Unattached)
    assert not host.raft.is_voter
    host.after(20_000)
    assert isinstance(host.raft.role, Unattached)


@pytest.mark.scenario("H15")
@pytest.mark.parametrize("who", [key(3, "other"), ReplicaKey(9, key(3).directory_id)])
def test_a_voter_is_named_by_id_and_directory(who):
    host = leader()
    remove(host, who)
    assert host.replies["remove"].error is ErrorCode.VOTER_NOT_FOUND
    update = UpdateVoterRequest(epoch=1, voter=Voter(who, voter(3).endpoints))
    assert host.ask(update).error is ErrorCode.VOTER_NOT_FOUND


@pytest.mark.scenario("H16")
def test_the_last_voter_stays():
    host = leader(1)
    remove(host, key(1))
    assert host.replies["remove"].error is ErrorCode.VOTER_NOT_FOUND
    assert host.raft.log.voters.ids == (1,)


@pytest.mark.scenario("H17")
def test_an_updated_voter_is_answered_before_the_commit():
    host = leader()
    response = host.ask(UpdateVoterRequest(epoch=1, voter=voter(3, port=9)))
    assert response.error is ErrorCode.NONE
    assert host.raft.log.voters.voter(3) == voter(3, port=9)
    assert host.raft.high_watermark < host.disk.log_end


@pytest.mark.scenario("H18")
def test_an_update_of_another_epoch_than_the_leader_s_is_refused():
    host = leader()
    for epoch, error in ((0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        response = host.ask(UpdateVoterRequest(epoch=epoch, voter=voter(3, port=9)))
        assert (response.error, response.leader_id, response.epoch) == (error, 1, 1)


def test_an_update_must_support_the_finalized_version_and_have_a_listener():
    host = leader()
    old = replace(voter(3), max_kraft_version=0)
    assert host.ask(UpdateVoterRequest(epoch=1, voter=old)).error is ErrorCode.INVALID_REQUEST
    bare = Voter(key(3))
    assert host.ask(UpdateVoterRequest(epoch=1, voter=bare)).error is ErrorCode.INVALID_REQUEST


@pytest.mark.scenario("H22")
def test_the_first_leader_writes_version_and_voters_of_the_bootstrap_snapshot():
    host = leader()
    first = host.disk.batches[0]
    keys = (key(1), key(2), key(3))
    assert first.control == (
        LeaderChange(1, keys, keys[:2]),
        KRaftVersion(1),
        KRaftVoters(voters(1, 2, 3)),
    )
    assert (first.base_offset, first.last_offset) == (0, 2)


@pytest.mark.scenario("H23")
def test_a_leader_of_static_voters_writes_no_voters():
    host = Host(config(1, 1, 2, 3))
    elect(host)
    assert [type(record) for record in host.disk.batches[0].control] == [LeaderChange]


@pytest.mark.scenario("H24", "T13")
def test_the_bootstrap_snapshot_is_offered_to_nobody():
    response = fetch(leader(), 2, 0, last_epoch=0)
    assert response.snapshot_id is None
    assert response.batches[0].base_offset == 0


@pytest.mark.scenario("H25")
def test_an_offered_bootstrap_snapshot_is_not_fetched():
    host = Host(dynamic(config(1)), bootstrapped(1, 2, 3))
    begin(host, 2, epoch=1)
    deliver(host, snapshot_id=OffsetAndEpoch(0, 0))
    host.after(20)
    assert [type(send.message) for send in host.sends] == [FetchRequest]


@pytest.mark.scenario("H26", "H27", "T17")
def test_a_follower_obeys_uncommitted_voters_until_they_are_truncated():
    host = Host(dynamic(config(1)), bootstrapped(1, 2, 3))
    begin(host, 2, epoch=1)
    records = (
        batch(0, 0, 1),
        batch(1, 1, 1, b"", (KRaftVoters(voters(1, 2)),)),
        batch(2, 2, 1, b"", (KRaftVoters(voters(1, 2, 4)),)),
    )
    deliver(host, batches=records)
    assert host.raft.log.voters.ids == (1, 2, 4)
    deliver(host, diverging=OffsetAndEpoch(2, 1))
    assert host.raft.log.voters.ids == (1, 2)
    deliver(host, diverging=OffsetAndEpoch(1, 1))
    assert host.raft.log.voters.ids == (1, 2, 3)


@pytest.mark.scenario("H34")
def test_voters_of_the_bootstrap_snapshot_win_over_configured_ones():
    host = Host(config(1, 1, 8, 9), bootstrapped(1, 2, 3))
    assert host.raft.log.voters.ids == (1, 2, 3)


def test_a_quorum_of_two_survives_a_leader_that_restarts_after_its_own_removal():
    """Kafka's quorum would elect nobody: the removed node doesn't stand, and the other node's log
    lacks the removal."""
    quorum = Quorum(1, 2, in_log=True)
    quorum.run(4000)
    old = quorum.leader
    node_id = old.config.local.key.node_id
    quorum.cut.add(node_id)
    remove(old, key(node_id))
    quorum.restart(node_id)
    quorum.cut.clear()
    quorum.run(20_000)
    assert quorum.leader is not None
    assert quorum.leader.config.local.key.node_id == 3 - node_id
    assert quorum.leader.raft.log.voters.ids == (3 - node_id,)


def test_a_wiped_disk_is_another_replica_and_no_voter():
    quorum = Quorum(1, 2, 3, in_log=True)
    quorum.run(4000)
    wiped = next(n for n, host in quorum.hosts.items() if host is not quorum.leader)
    fresh = replace(quorum.hosts[wiped].config, local=voter(wiped, "b"))
    quorum.hosts[wiped] = Host(fresh, Disk(), quorum.now)
    quorum.run(4000)
    assert not quorum.hosts[wiped].raft.is_voter
    quorum.leader.propose(b"a")
    quorum.run(1000)
    assert quorum.hosts[wiped].applied[-1][1] == b"a"
