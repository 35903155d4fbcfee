"""kraft.version, and what voters tell their leader about themselves (KIP-853, H19-H21)."""

from dataclasses import replace

import pytest

from replica.model.control import KRaftVersion, KRaftVoters, LeaderChange
from replica.model.kafka_errors import ErrorCode
from replica.model.voters import without_directories
from replica.raft.inputs import Request
from replica.raft.messages import (
    FetchRequest,
    FetchResponse,
    UpdateFeaturesRequest,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from tests.replica.raft.host import (
    Host,
    begin,
    bootstrapped,
    config,
    dynamic,
    elect,
    key,
    voter,
    voters,
)
from tests.replica.raft.quorum import Quorum
from tests.replica.raft.test_membership import commit, leader


@pytest.mark.scenario("H19")
def test_a_leader_whose_endpoints_changed_writes_its_own_entry():
    host = leader()
    commit(host, 2, 3)
    moved = replace(dynamic(config(1)), local=voter(1, port=9))
    again = host.restarted(configuration=moved)
    again.after(1000)
    elect(again)
    assert [type(r) for r in again.disk.batches[-1].control] == [
        LeaderChange,
        KRaftVersion,
        KRaftVoters,
    ]
    assert again.raft.log.voters.voter(1).endpoints == voter(1, port=9).endpoints


@pytest.mark.scenario("H20")
def test_a_voter_whose_endpoints_changed_tells_its_leader_once_in_three_timeouts():
    for port, expected in ((9000, []), (9, [voter(1, port=9)])):
        local = replace(dynamic(config(1)), local=voter(1, port=port))
        host = Host(local, bootstrapped(1, 2, 3))
        begin(host, 2, epoch=1)
        assert [send.message.voter for send in updates_sent(host)] == expected


def updates_sent(host, answer=None):
    """The UpdateRaftVoter requests that `host` sends while it fetches for a little more than three
    fetch timeouts."""
    found = []
    for _ in range(130):
        sends, host.sends = host.sends, []
        for send in sends:
            if isinstance(send.message, FetchRequest):
                host.answer(send, FetchResponse(epoch=1, leader_id=2))
            elif isinstance(send.message, UpdateVoterRequest):
                found.append(send)
                host.answer(send, answer or VoterChangeResponse(epoch=1, leader_id=2))
        host.after(50)
    return found


@pytest.mark.scenario("H21")
def test_an_answer_to_an_update_that_names_a_newer_leader_is_followed():
    local = replace(dynamic(config(1)), local=voter(1, port=9))
    host = Host(local, bootstrapped(1, 2, 3))
    begin(host, 2, epoch=1)
    answer = VoterChangeResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=2, leader_id=3)
    updates_sent(host, answer)
    assert (host.raft.role.leader_id, host.raft.role.epoch) == (3, 2)


def static_without_directories():
    """Node 1 leading three static voters that it knows by id only, kraft.version 0."""
    plain = config(1, 1, 2, 3)
    known = replace(plain, static_voters=without_directories(plain.static_voters))
    host = Host(known)
    elect(host)
    commit(host, 2, 3)
    return host


def test_kraft_version_is_upgraded_once_all_voters_have_told_about_themselves():
    host = static_without_directories()
    upgrade = UpdateFeaturesRequest(kraft_version=1)
    assert host.ask(upgrade).error is ErrorCode.INVALID_UPDATE_VERSION
    for node_id in (2, 3):
        update = UpdateVoterRequest(epoch=1, voter=voter(node_id))
        assert host.ask(update).error is ErrorCode.NONE
    assert host.ask(replace(upgrade, validate_only=True)).error is ErrorCode.NONE
    assert host.raft.log.kraft_version == 0
    host.step(Request("upgrade", upgrade))
    assert host.disk.batches[-1].control == (KRaftVersion(1), KRaftVoters(voters(1, 2, 3)))
    assert host.raft.log.voters == voters(1, 2, 3)
    assert "upgrade" not in host.replies
    commit(host, 2)
    assert host.replies["upgrade"].error is ErrorCode.NONE
    assert host.ask(upgrade).error is ErrorCode.NONE
    lower = UpdateFeaturesRequest(kraft_version=0)
    assert host.ask(lower).error is ErrorCode.INVALID_UPDATE_VERSION
    assert host.ask(replace(upgrade, kraft_version=2)).error is ErrorCode.INVALID_UPDATE_VERSION


@pytest.mark.scenario("F12")
def test_a_leader_keeps_the_progress_of_voters_through_the_upgrade():
    host = static_without_directories()
    for node_id in (2, 3):
        host.ask(UpdateVoterRequest(epoch=1, voter=voter(node_id)))
    host.step(Request("upgrade", UpdateFeaturesRequest(kraft_version=1)))
    assert host.raft.role.progress.keys() == {key(2), key(3)}
    assert host.raft.high_watermark == 1


def test_an_upgrade_needs_every_voter_s_support():
    host = static_without_directories()
    host.ask(UpdateVoterRequest(epoch=1, voter=replace(voter(2), max_kraft_version=0)))
    host.ask(UpdateVoterRequest(epoch=1, voter=voter(3)))
    response = host.ask(UpdateFeaturesRequest(kraft_version=1))
    assert response.error is ErrorCode.INVALID_UPDATE_VERSION
    unknown = UpdateVoterRequest(epoch=1, voter=voter(7))
    assert host.ask(unknown).error is ErrorCode.VOTER_NOT_FOUND


def test_static_voters_tell_each_leader_about_themselves_so_that_a_quorum_can_upgrade():
    quorum = Quorum(1, 2, 3)
    quorum.run(12_000)
    quorum.leader.step(Request("upgrade", UpdateFeaturesRequest(kraft_version=1)))
    quorum.run(2000)
    assert quorum.leader.replies["upgrade"].error is ErrorCode.NONE
    assert {host.raft.log.kraft_version for host in quorum.hosts.values()} == {1}
