"""The high watermark: when it rises, and when replicas learn of it (scenarios F). The rule itself
is tested in tests/replica/history."""

from dataclasses import replace

import pytest

from replica.model.epochs import EpochStart
from replica.model.keys import ReplicaKey
from replica.model.stored import ElectionState, LeaderAndEpoch
from replica.model.voters import without_directories
from replica.raft.inputs import Flushed, Proposal, Propose, Request
from replica.raft.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    RemoveVoterRequest,
    VoteRequest,
    VoteResponse,
)
from replica.raft.roles import Candidate, Unattached
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
    vote,
    voter,
    win,
)


def leader(*voter_ids, log=(), epoch=0):
    """Node 1 as leader, its LeaderChange right after `log`."""
    disk = Disk(ElectionState(epoch), batches=list(log))
    disk.flushed = disk.log_end
    host = Host(config(1, *(voter_ids or (1, 2, 3))), disk)
    elect(host)
    return host


def follower(end=0, epoch=1):
    """Node 1 following node 2, with one batch of `end` records; its fetch is in flight."""
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch)
    if end:
        deliver(host, batches=(batch(0, end - 1, epoch),))
    return host


def deliver(host, **response):
    send = host.take(FetchRequest)[0]
    epoch = host.raft.role.epoch
    host.answer(send, FetchResponse(**{"epoch": epoch, "leader_id": 2, **response}))


OLD = tuple(batch(n, n, 1) for n in range(10))


@pytest.mark.scenario("F01", "F16", "T01")
def test_nothing_of_old_epochs_is_committed_before_a_record_of_this_one():
    host = leader(1, 2, log=OLD, epoch=1)
    host.propose(b"a", b"b")
    fetch(host, 2, 10, last_epoch=1)
    assert host.raft.high_watermark is None
    assert host.applied == []
    fetch(host, 2, 11)
    assert host.raft.high_watermark == 11
    assert len(host.applied) == 10


@pytest.mark.scenario("A23")
def test_a_new_leader_s_epoch_begins_at_its_log_end():
    host = leader(log=OLD, epoch=1)
    assert host.raft.log.epochs == (EpochStart(1, 0), EpochStart(2, 10))


@pytest.mark.scenario("F02")
def test_of_three_voters_two_make_it_committed():
    host = leader(log=OLD, epoch=1)
    host.propose(*[b"x"] * 4)
    fetch(host, 2, 10, last_epoch=1)
    assert host.raft.high_watermark is None
    fetch(host, 3, 15)
    assert host.raft.high_watermark == 15
    host.propose(*[b"y"] * 5)
    fetch(host, 2, 20)
    assert host.raft.high_watermark == 20


@pytest.mark.scenario("F03")
def test_a_lone_voter_commits_what_it_has_flushed():
    host = leader(1)
    assert host.raft.high_watermark == 1
    host.propose(b"a", b"b", b"c")
    assert host.raft.high_watermark == 4
    first = fetch(host, 9, 0, last_epoch=0)
    assert [b.base_offset for b in first.batches] == [0, 1, 2, 3]
    assert first.batches[0].control
    assert first.high_watermark == 4


def test_a_leader_s_own_records_count_only_once_flushed():
    host = leader()
    host.raft.step(Propose(1, (Proposal(1, b"a"),)), host.now)
    fetch(host, 2, 2)
    assert host.raft.high_watermark == 1
    host.raft.step(Flushed(2), host.now)
    assert host.raft.high_watermark == 2


@pytest.mark.scenario("F04", "T02")
def test_a_new_leader_names_no_high_watermark_though_it_knew_one_as_follower():
    host = follower(end=10)
    deliver(host, high_watermark=10)
    assert host.raft.high_watermark == 10
    host.after(2000)
    win(host)
    assert host.raft.high_watermark is None
    assert fetch(host, 3, 10, last_epoch=1).high_watermark is None
    fetch(host, 3, 11)
    assert host.raft.high_watermark == 11


@pytest.mark.scenario("F05")
def test_a_follower_s_watermark_outlives_its_role():
    host = follower(end=10)
    deliver(host, high_watermark=10)
    vote(host, 3, epoch=2)
    assert host.raft.role.voted is None
    assert (type(host.raft.role), host.raft.high_watermark) == (Unattached, 10)
    vote(host, 3, epoch=2, last_epoch=1, end_offset=10)
    assert (host.raft.role.voted, host.raft.high_watermark) == (key(3), 10)
    host.after(1000)
    host.sends[:] = [s for s in host.sends if isinstance(s.message, VoteRequest)]
    host.answer(host.sends[0], VoteResponse(epoch=2, granted=True))
    assert (type(host.raft.role), host.raft.high_watermark) == (Candidate, 10)


@pytest.mark.scenario("F18")
@pytest.mark.parametrize("becomes", [Unattached, Candidate])
def test_a_former_leader_s_watermark_outlives_its_role_and_a_new_machine_gets_all_below(becomes):
    host = leader()
    host.propose(b"a")
    fetch(host, 2, 2)
    vote(host, 3, epoch=2, last_epoch=1, end_offset=2)
    if becomes is Candidate:
        host.after(1000)
        send = next(s for s in host.sends if isinstance(s.message, VoteRequest))
        host.answer(send, VoteResponse(epoch=2, granted=True))
    assert (type(host.raft.role), host.raft.high_watermark) == (becomes, 2)
    assert host.applied == [(1, b"a")]


@pytest.mark.scenario("F06", "T03")
def test_a_follower_that_lost_its_disk_doesn_t_pull_the_watermark_back():
    host = leader(1, 2)
    host.propose(b"a", b"b")
    fetch(host, 2, 3)
    assert host.raft.high_watermark == 3
    fetch(host, 2, 1)
    assert host.raft.high_watermark == 3
    assert host.raft.role.progress[key(2)].log_end == 1


def leader_of_two_with_observer(observer_end):
    """Node 1 leads voters 1 and 2, and 5 of its 6 records are committed. Observer 3 last fetched at
    `observer_end`."""
    host = Host(dynamic(config(1)), bootstrapped(1, 2))
    elect(host)
    host.propose(b"a", b"b")
    fetch(host, 2, 5)
    fetch(host, 3, 5)
    host.propose(b"c")
    fetch(host, 3, observer_end)
    assert host.raft.high_watermark == 5
    return host


@pytest.mark.scenario("F07")
def test_a_new_voter_that_lags_lowers_no_watermark():
    host = leader_of_two_with_observer(5)
    add_voter(host, 3)
    fetch(host, 3, 3)
    fetch(host, 2, 3)
    assert host.raft.high_watermark == 5
    fetch(host, 3, 6)
    assert host.raft.high_watermark == 6


@pytest.mark.scenario("F08")
def test_a_new_voter_that_has_more_raises_the_watermark_at_once():
    host = leader_of_two_with_observer(6)
    add_voter(host, 3)
    assert host.raft.high_watermark == 6


def add_voter(host, node_id):
    new = voter(node_id)
    host.step(Request("add", AddVoterRequest(voter=new.key, endpoints=new.endpoints)))
    asked = next(s for s in host.sends if isinstance(s.message, ApiVersionsRequest))
    host.answer(asked, ApiVersionsResponse(epoch=1, leader_id=1, max_kraft_version=1))


@pytest.mark.scenario("F09")
def test_removing_a_caught_up_voter_lowers_no_watermark():
    host = Host(dynamic(config(1)), bootstrapped(1, 2, 3))
    elect(host)
    host.propose(b"a")
    fetch(host, 2, 4)
    fetch(host, 3, 3)
    host.ask(RemoveVoterRequest(voter=key(2)))
    assert host.raft.high_watermark == 4
    fetch(host, 3, 4)
    assert host.raft.high_watermark == 4
    fetch(host, 3, 5)
    assert host.raft.high_watermark == 5


@pytest.mark.scenario("F10", "T18")
def test_a_leader_that_left_the_voters_doesn_t_count_itself():
    host = Host(dynamic(config(1)), bootstrapped(1, 2, 3))
    elect(host)
    end = host.disk.log_end
    fetch(host, 2, end)
    assert host.raft.high_watermark == end
    host.ask(RemoveVoterRequest(voter=key(1)))
    fetch(host, 2, end + 1)
    assert host.raft.high_watermark == end
    fetch(host, 3, end + 1)
    assert host.raft.high_watermark == end + 1


@pytest.mark.scenario("F12")
def test_fetches_with_directories_count_for_voters_without():
    plain = config(1, 1, 2, 3)
    host = Host(replace(plain, static_voters=without_directories(plain.static_voters)))
    elect(host)
    fetch(host, 2, 1)
    assert host.raft.high_watermark == 1
    assert ReplicaKey(2) in host.raft.role.progress


@pytest.mark.scenario("F13")
@pytest.mark.parametrize("fallen", [14, None])
def test_a_leader_s_watermark_that_falls_is_illegal_and_changes_nothing(fallen):
    host = follower(end=20)
    deliver(host, high_watermark=15)
    deliver(host, high_watermark=fallen)
    assert host.raft.leader_watermark == 15
    assert sum(host.raft.illegal_messages.values()) == 1
    host.after(100)
    deliver(host, high_watermark=15)
    assert sum(host.raft.illegal_messages.values()) == 1


@pytest.mark.scenario("F14")
def test_an_empty_answer_moves_the_watermark():
    host = follower(end=2)
    deliver(host, high_watermark=2)
    assert host.raft.high_watermark == 2
    assert host.applied == [(0, b"x")]


@pytest.mark.scenario("F15")
def test_records_wait_for_the_watermark_of_the_next_answer():
    host = follower()
    deliver(host, batches=(batch(0, 2, 1),), high_watermark=0)
    assert host.applied == []
    deliver(host, batches=(batch(3, 5, 1),), high_watermark=3)
    assert host.applied == [(0, b"x")]


@pytest.mark.scenario("F16")
def test_a_state_machine_is_told_that_it_leads_once_all_earlier_epochs_are_committed():
    host = leader(log=OLD, epoch=1)
    assert host.leaders[-1] == LeaderAndEpoch(-1, 2)
    fetch(host, 2, 3, last_epoch=1)
    assert host.leaders[-1] == LeaderAndEpoch(-1, 2)
    fetch(host, 2, 11)
    assert host.leaders[-1] == LeaderAndEpoch(1, 2)
    assert len(host.applied) == 10


@pytest.mark.scenario("F17")
def test_the_watermark_is_what_was_fetched_not_what_was_appended():
    host = leader(1, 2)
    host.propose(b"a", b"b", b"c")
    fetch(host, 2, 1)
    assert host.raft.high_watermark == 1
    fetch(host, 2, 4)
    assert host.raft.high_watermark == 4


@pytest.mark.scenario("F19", "F20")
def test_a_follower_s_watermark_is_capped_at_its_log_end_and_the_leader_s_is_kept_beside():
    host = follower(end=3)
    deliver(host, high_watermark=5)
    assert (host.raft.high_watermark, host.raft.leader_watermark) == (3, 5)
