"""Replicas outside of the voter set: how they find their leader (scenarios B43-B46)."""

from dataclasses import replace

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.model.stored import ElectionState
from replica.raft.messages import FetchRequest, FetchResponse
from replica.raft.roles import Follower, Unattached
from tests.replica.raft.host import Disk, Host, batch, begin, bootstrapped, config, dynamic, voter
from tests.replica.raft.quorum import Quorum


@pytest.mark.scenario("B43")
def test_an_observer_without_a_leader_asks_one_bootstrap_server_after_the_other():
    host = Host(config(9, 1, 2, 3, bootstrap_ids=(-2, -3)))
    first = host.take(FetchRequest)[0]
    host.fail(first)
    second = host.take(FetchRequest)[0]
    assert {first.node_id, second.node_id} == {-2, -3}
    host.fail(second)
    assert host.take(FetchRequest) == []
    host.after(20)
    assert len(host.take(FetchRequest)) == 1


@pytest.mark.scenario("B44")
def test_an_observer_follows_the_leader_that_a_bootstrap_server_names():
    host = Host(config(9, 1, 2, 3, bootstrap_ids=(-2,)))
    answer = FetchResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=5, leader_id=2)
    host.answer(host.take(FetchRequest)[0], answer)
    assert (host.raft.role.leader_id, host.raft.role.epoch) == (2, 5)
    assert host.take(FetchRequest)[0].node_id == 2


@pytest.mark.scenario("B45", "B46")
def test_an_observer_asks_a_bootstrap_server_when_its_leader_is_silent():
    host = Host(config(9, 1, 2, 3, bootstrap_ids=(-2,)))
    begin(host, 2, epoch=5)
    host.sends.clear()
    host.after(600)
    asked = host.take(FetchRequest)
    assert asked[-1].node_id == -2
    assert asked[-1].message.epoch == 5


@pytest.mark.scenario("B46")
def test_the_same_records_from_two_servers_are_appended_once():
    host = Host(config(9, 1, 2, 3, bootstrap_ids=(-2,)))
    begin(host, 2, epoch=5)
    to_leader = next(s for s in host.take(FetchRequest) if s.node_id == 2)
    host.after(600)
    to_server = host.take(FetchRequest)[-1]
    records = FetchResponse(epoch=5, leader_id=2, batches=(batch(0, 0, 5), batch(1, 1, 5)))
    for send in (to_server, to_leader):
        host.answer(send, records)
    again = host.take(FetchRequest)[-1]
    host.answer(again, records)
    assert [b.base_offset for b in host.disk.batches] == [0, 1]
    assert host.raft.illegal_messages == {}


def test_an_observer_without_bootstrap_servers_asks_the_configured_voters_at_once_who_leads():
    host = Host(config(9, 1, 2, 3))
    asked = set()
    for _ in range(3):
        (send,) = host.take(FetchRequest)
        asked.add(send.node_id)
        host.fail(send)
    assert asked == {1, 2, 3}
    host.after(20)
    (send,) = host.take(FetchRequest)
    answer = FetchResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=5, leader_id=2)
    host.answer(send, answer)
    assert (host.raft.role.leader_id, host.raft.role.epoch) == (2, 5)
    assert host.take(FetchRequest)[0].node_id == 2


def test_an_observer_without_bootstrap_servers_finds_the_leader_that_follows_a_dead_one():
    host = Host(config(9, 1, 2, 3))
    begin(host, 3, epoch=5)
    for _ in range(60):
        for send in host.take(FetchRequest):
            if send.node_id == 3:
                host.fail(send)
            else:
                refusal = FetchResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=6, leader_id=1)
                host.answer(send, refusal)
        host.after(100)
        if host.raft.role.epoch == 6:
            break
    assert (host.raft.role.leader_id, host.raft.role.epoch) == (1, 6)


def test_a_static_voter_without_a_leader_asks_the_other_voters_who_leads():
    """A voter of Kafka's also asks itself."""
    host = Host(config(1, 1, 2, 3))
    asked = set()
    for _ in range(2):
        (send,) = host.take(FetchRequest)
        asked.add(send.node_id)
        host.fail(send)
    assert asked == {2, 3}
    assert host.take(FetchRequest) == []
    host.after(20)
    assert len(host.take(FetchRequest)) == 1


def test_a_static_voter_asks_its_bootstrap_servers_where_it_has_any():
    host = Host(config(1, 1, 2, 3, bootstrap_ids=(-2,)))
    assert [send.node_id for send in host.take(FetchRequest)] == [-2]


def test_a_static_voter_on_an_empty_disk_follows_the_leader_before_its_election_timeout():
    """The leader told the voter of the epoch when it had its former disk, and won't do so again."""
    quorum = Quorum(1, 2, 3)
    for host in list(quorum.hosts.values()):
        host.config = replace(host.config, bootstrap_ids=())
        quorum.restart(host.config.local.key.node_id)
    quorum.run(5000)
    leader = quorum.leader.raft.role
    wiped = next(n for n in quorum.hosts if n != quorum.leader.config.local.key.node_id)
    quorum.hosts[wiped].disk = Disk()
    quorum.restart(wiped)
    quorum.settle()
    role = quorum.hosts[wiped].raft.role
    assert (role.epoch, role.leader_id) == (leader.epoch, quorum.leader.config.local.key.node_id)
    assert quorum.leader.raft.role.epoch == leader.epoch


def test_an_observer_comes_back_to_a_leader_that_only_others_name():
    host = Host(config(9, 1, 2, 3, bootstrap_ids=(-2,)))
    begin(host, 3, epoch=5)
    asked = set()
    for _ in range(60):
        for send in host.take(FetchRequest):
            asked.add((host.now > 2500, send.node_id))
            if send.node_id == -2:
                refusal = FetchResponse(
                    error=ErrorCode.NOT_LEADER_OR_FOLLOWER, epoch=5, leader_id=3
                )
                host.answer(send, refusal)
        host.after(100)
    assert asked == {(late, node_id) for late in (False, True) for node_id in (3, -2)}


def test_an_observer_flushes_as_it_may_become_a_voter_that_is_counted_at_once():
    host = Host(config(9, 1, 2, 3))
    (asked_before,) = host.take(FetchRequest)
    begin(host, 3, epoch=5)
    host.fail(asked_before)
    records = FetchResponse(epoch=5, leader_id=3, batches=(batch(0, 0, 5),))
    host.answer(host.take(FetchRequest)[0], records)
    assert host.disk.flushed == 1


def test_a_wiped_node_hears_that_its_former_self_leads_and_waits_for_another_epoch():
    host = Host(dynamic(config(3, bootstrap_ids=(-11,))))
    told = FetchResponse(error=ErrorCode.NOT_LEADER_OR_FOLLOWER, epoch=5, leader_id=3)
    host.answer(host.take(FetchRequest)[0], told)
    assert (host.raft.role.epoch, host.raft.role.leader_id) == (5, -1)
    host.after(20)
    host.answer(host.take(FetchRequest)[0], told)
    assert host.take(FetchRequest) == [], "who learns nothing new doesn't spin"
    assert host.raft.illegal_messages == {}


def test_a_voter_that_never_led_an_epoch_does_not_follow_requests_that_name_it_as_leader():
    host = Host(dynamic(config(3)), bootstrapped(1, 2, 3))
    begin(host, 3, epoch=5)
    assert (host.raft.role.epoch, host.raft.role.leader_id) == (0, -1)
    (offence,) = host.raft.illegal_messages
    assert offence.mistake == "a second leader of one epoch"


def test_an_observer_asks_the_voters_of_its_log_too_for_bootstrap_servers_may_be_none_any_more():
    host = Host(dynamic(config(9, bootstrap_ids=(-2,))), bootstrapped(5))
    asked = set()
    for _ in range(20):
        for send in host.take(FetchRequest):
            asked.add(send.node_id)
            host.fail(send)
        host.after(20)
    assert asked == {-2, 5}


def test_a_leader_whose_endpoints_are_unknown_is_followed_once_its_own_answer_names_them():
    """The log is lost and quorum-state is not; a bootstrap server is the leader itself. Kafka's
    process ends itself there (KafkaRaftClient.handleFetchResponse expects a follower)."""
    lost = Disk(state=ElectionState(5, 3))
    host = Host(dynamic(config(9, bootstrap_ids=(-2,))), lost)
    assert isinstance(host.raft.role, Unattached)
    answer = FetchResponse(epoch=5, leader_id=3, batches=(batch(0, 0, 5),))
    host.answer(host.take(FetchRequest)[0], answer)
    assert host.take(FetchRequest) == [], "who learns nothing new doesn't spin"
    host.after(20)
    named = replace(answer, leader_endpoints=voter(3).endpoints)
    host.answer(host.take(FetchRequest)[0], named)
    assert (type(host.raft.role), host.raft.role.leader_id) == (Follower, 3)
    assert host.raft.log.log_end == 1
    assert host.take(FetchRequest)[0].node_id == 3
