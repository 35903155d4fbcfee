"""Observers that make themselves voters (KIP-853, KIP-1186: controller.quorum.auto.join.enable)."""

from dataclasses import replace

import pytest

from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.raft.messages import (
    AddVoterRequest,
    FetchRequest,
    FetchResponse,
    RemoveVoterRequest,
    VoterChangeResponse,
)
from replica.raft.roles import Follower
from tests.replica.raft.host import (
    Host,
    batch,
    begin,
    bootstrapped,
    config,
    dynamic,
    key,
    voter,
    voters,
)
from tests.replica.raft.quorum import Quorum

CHANGES = (AddVoterRequest, RemoveVoterRequest)
PERIOD_MS = 6000
"""Three fetch timeouts."""
TAKEN = VoterChangeResponse()
"""As AddRaftVoter and RemoveRaftVoter answer on the wire: without an epoch."""


def observer(node_id=4, **changes):
    """A replica that may join, following leader 2 of epoch 1."""
    host = Host(dynamic(config(node_id, auto_join=True, **changes)))
    begin(host, 2, epoch=1, leader_endpoints=voters(2).voter(2).endpoints)
    return host


def control(*records, base):
    return batch(base, base + len(records) - 1, 1, b"", records)


class Leader:
    """Leader 2, which answers fetches with its batches up to its high watermark, and a change of
    voters with `answer` (None for no answer)."""

    def __init__(self, *voter_ids, kraft_version=1, answer=TAKEN):
        first = (KRaftVersion(kraft_version), KRaftVoters(voters(*voter_ids)))
        self.batches = [control(*first, base=0)] if kraft_version else [batch(0, 0, 1)]
        self.high_watermark = self.end
        self.epoch = 1
        self.answer = answer
        self.asked = []
        """(ms, request) of the changes that it was asked for."""

    @property
    def end(self):
        return self.batches[-1].end_offset

    def decide(self, *voter_ids):
        self.batches.append(control(KRaftVoters(voters(*voter_ids)), base=self.end))
        self.high_watermark = self.end

    def serve(self, host, ms):
        """Let time pass; fetches at the log end are answered 100 ms later."""
        for _ in range(ms // 100):
            sends, host.sends = host.sends, []
            host.after(100)
            for send in sends:
                self._answer(host, send)

    def _answer(self, host, send):
        request = send.message
        if isinstance(request, CHANGES):
            self.asked.append((host.now, request))
            if self.answer is not None:
                host.answer(send, self.answer)
        elif isinstance(request, FetchRequest):
            news = tuple(b for b in self.batches if b.end_offset > request.fetch_offset)
            answer = FetchResponse(
                epoch=self.epoch,
                leader_id=2,
                batches=news[:1],
                high_watermark=self.high_watermark,
            )
            host.answer(send, answer)


@pytest.mark.scenario("H36")
def test_an_observer_asks_to_be_added_after_three_fetch_timeouts_and_again():
    host, leader = observer(), Leader(1, 2, 3)
    leader.serve(host, PERIOD_MS - 500)
    assert leader.asked == []
    leader.serve(host, 2 * PERIOD_MS)
    first, second = leader.asked
    assert first[0] - PERIOD_MS in range(0, 500)
    assert second[0] - first[0] in range(PERIOD_MS, PERIOD_MS + 500)
    request = first[1]
    assert (request.voter, request.endpoints) == (key(4), host.config.local.endpoints)
    assert request.ack_when_committed is False
    assert request.timeout_ms == host.config.request_timeout_ms
    assert request.cluster_id == "cluster"


@pytest.mark.scenario("H36")
@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NONE,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.DUPLICATE_VOTER,
        ErrorCode.INVALID_REQUEST,
    ],
)
def test_the_next_request_after_an_answer_is_a_fetch(error):
    host, leader = observer(), Leader(1, 2, 3, answer=VoterChangeResponse(error=error))
    leader.serve(host, PERIOD_MS - 500)
    while not leader.asked:
        leader.serve(host, 100)
    host.after(20)
    assert [type(send.message) for send in host.sends] == [FetchRequest]


@pytest.mark.scenario("H36")
def test_an_observer_whose_request_is_not_answered_fetches_after_the_request_timeout():
    host, leader = observer(bootstrap_ids=(-2,)), Leader(1, 2, 3, answer=None)
    leader.serve(host, PERIOD_MS - 500)
    while not leader.asked:
        leader.serve(host, 100)
    assert host.take(FetchRequest) == []
    host.after(host.config.request_timeout_ms)
    assert host.take(FetchRequest)
    leader.serve(host, PERIOD_MS)
    assert len(leader.asked) == 2


@pytest.mark.scenario("H37")
def test_an_observer_asks_to_remove_its_older_directory_until_the_log_lacks_it():
    host, leader = Host(dynamic(config(3, auto_join=True))), Leader(1, 2, 3)
    older = replace(host.config.local, key=key(3, "older"))
    leader.batches = [control(KRaftVersion(1), KRaftVoters(voters(1, 2).with_voter(older)), base=0)]
    begin(host, 2, epoch=1, leader_endpoints=voters(2).voter(2).endpoints)
    leader.serve(host, 2 * PERIOD_MS + 1000)
    requests = [request for _, request in leader.asked]
    assert [type(request) for request in requests] == [RemoveVoterRequest] * 2
    assert {request.voter for request in requests} == {key(3, "older")}


@pytest.mark.scenario("H38")
def test_an_observer_whose_older_directory_is_removed_adds_itself_and_then_only_fetches():
    host, leader = Host(dynamic(config(3, auto_join=True))), Leader(1, 2)
    older = replace(host.config.local, key=key(3, "older"))
    leader.batches = [control(KRaftVersion(1), KRaftVoters(voters(1, 2).with_voter(older)), base=0)]
    begin(host, 2, epoch=1, leader_endpoints=voters(2).voter(2).endpoints)
    leader.serve(host, PERIOD_MS + 500)
    leader.decide(1, 2)
    leader.serve(host, PERIOD_MS + 500)
    leader.decide(1, 2, 3)
    leader.serve(host, 3 * PERIOD_MS)
    kinds = [type(request) for _, request in leader.asked]
    assert kinds == [RemoveVoterRequest, AddVoterRequest]
    assert host.raft.is_voter


@pytest.mark.scenario("H39")
@pytest.mark.parametrize("why", ["not told to", "no endpoints", "no id", "kraft.version 0"])
def test_an_observer_that_may_not_join_only_fetches(why):
    host = observer(9) if why == "kraft.version 0" else _unable(why)
    leader = Leader(1, 2, 3, kraft_version=0 if why == "kraft.version 0" else 1)
    leader.serve(host, 3 * PERIOD_MS)
    assert leader.asked == []
    assert host.disk.log_end == leader.end


def _unable(why):
    configuration = dynamic(config(9, auto_join=why != "not told to"))
    if why == "no endpoints":
        configuration = replace(configuration, local=replace(configuration.local, endpoints=()))
    if why == "no id":
        configuration = replace(configuration, local=None)
    host = Host(configuration)
    begin(host, 2, epoch=1, leader_endpoints=voters(2).voter(2).endpoints)
    return host


def test_an_observer_that_lags_behind_asks_for_nothing():
    """Its log may name voters that were removed since, and the leader would refuse it."""
    host, leader = observer(), Leader(1, 2, 3)
    leader.high_watermark = leader.end + 5
    leader.serve(host, 2 * PERIOD_MS)
    assert leader.asked == []
    leader.batches.append(batch(leader.end, leader.end + 4, 1))
    leader.serve(host, 500)
    assert len(leader.asked) == 1


def test_an_observer_whose_leader_names_no_high_watermark_asks_for_nothing():
    """A new leader names none until a record of its own epoch is committed."""
    host, leader = observer(), Leader(1, 2, 3)
    leader.high_watermark = None
    leader.serve(host, 3 * PERIOD_MS)
    assert leader.asked == []


def test_an_observer_whose_principal_may_not_change_voters_goes_on_fetching():
    refusal = VoterChangeResponse(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    host, leader = observer(), Leader(1, 2, 3, answer=refusal)
    leader.serve(host, 2 * PERIOD_MS + 1000)
    assert len(leader.asked) == 2
    assert isinstance(host.raft.role, Follower)


def test_a_removed_voter_does_not_join_again_by_itself_until_it_restarts():
    """In Kafka it asks to be added again after three fetch timeouts, unless it was stopped
    first."""
    host, leader = observer(), Leader(1, 2, 3)
    leader.serve(host, PERIOD_MS + 500)
    leader.decide(1, 2, 3, 4)
    leader.serve(host, 500)
    assert host.raft.is_voter
    leader.decide(1, 2, 3)
    leader.serve(host, 3 * PERIOD_MS)
    assert not host.raft.is_voter
    assert len(leader.asked) == 1
    again = host.restarted()
    begin(again, 2, epoch=1, leader_endpoints=voters(2).voter(2).endpoints)
    leader.serve(again, PERIOD_MS + 1000)
    assert len(leader.asked) == 2


def test_a_replica_whose_addition_was_truncated_asks_to_be_a_voter_again():
    host, leader = observer(), Leader(1, 2, 3)
    leader.serve(host, PERIOD_MS + 500)
    leader.batches.append(control(KRaftVoters(voters(1, 2, 3, 4)), base=leader.end))
    leader.serve(host, 500)
    assert host.raft.is_voter
    begin(host, 2, epoch=2, leader_endpoints=voters(2).voter(2).endpoints)
    leader.epoch, _ = 2, leader.batches.pop()
    cut = OffsetAndEpoch(leader.end, 1)
    host.answer(host.take(FetchRequest)[-1], FetchResponse(epoch=2, leader_id=2, diverging=cut))
    assert not host.raft.is_voter
    leader.serve(host, PERIOD_MS + 500)
    assert len(leader.asked) == 2


def test_a_quorum_of_one_gets_a_second_voter_that_adds_itself():
    """Two voters commit nothing before the new one fetches, so the answer must not wait for the
    commit."""
    quorum = Quorum(1, observers=(2,), in_log=True, auto_join=True)
    quorum.run(2 * PERIOD_MS)
    assert quorum.leader.raft.log.voters.ids == (1, 2)
    assert quorum.hosts[2].raft.is_voter
    assert quorum.leader.raft.high_watermark == quorum.leader.disk.log_end


def test_observers_that_join_at_once_become_voters_one_after_the_other():
    quorum = Quorum(1, 2, 3, observers=(4, 5), in_log=True, auto_join=True)
    quorum.run(5 * PERIOD_MS)
    assert quorum.leader.raft.log.voters.ids == (1, 2, 3, 4, 5)


def test_a_voter_whose_disk_was_wiped_takes_its_own_place():
    quorum = Quorum(1, 2, 3, in_log=True, auto_join=True)
    quorum.run(4000)
    wiped = next(n for n, host in quorum.hosts.items() if host is not quorum.leader)
    fresh = replace(quorum.hosts[wiped].config, local=voter(wiped, "b"))
    quorum.hosts[wiped] = Host(fresh, now=quorum.now)
    quorum.run(4 * PERIOD_MS)
    assert quorum.leader.raft.log.voters.ids == (1, 2, 3)
    assert quorum.leader.raft.log.voters.is_voter(key(wiped, "b"))
    assert quorum.hosts[wiped].raft.is_voter


def test_a_voter_from_the_beginning_asks_for_nothing():
    host = Host(dynamic(config(3, auto_join=True)), bootstrapped(1, 2, 3))
    begin(host, 2, epoch=1, leader_endpoints=voters(2).voter(2).endpoints)
    leader = Leader(1, 2, 3)
    leader.serve(host, 3 * PERIOD_MS)
    assert leader.asked == []
    assert host.raft.is_voter
