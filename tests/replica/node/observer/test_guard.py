"""What goes out to a quorum from an observer whose id may have become somebody else's."""

import asyncio
from types import SimpleNamespace

import pytest

from replica.errors import UnreachablePeerError
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.model.voters import Voter, VoterSet, voter_set
from replica.node.observer.guard import Guard, RefusedObserverError
from replica.raft.effects import Send
from replica.raft.messages import (
    ApiVersionsRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    FetchRequest,
    FetchResponse,
    ReplicaState,
)

KEY = ReplicaKey(70, "4nHfNbFbTIWzYIQBhTuVDA")
OTHER = ReplicaKey(70, "sZ3XTpIORUSvUTLyzXIrrQ")


NOBODY = VoterSet()


def described(*observers, voters=(1,), error=ErrorCode.NONE):
    return DescribeQuorumResponse(
        error=error,
        voters=tuple(ReplicaState(ReplicaKey(node_id), 0, 0, 0) for node_id in voters),
        observers=tuple(ReplicaState(key, 0, 0, 0) for key in observers),
    )


def fetch(node_id=1, epoch=5):
    message = FetchRequest(
        cluster_id="c",
        replica=KEY,
        epoch=epoch,
        fetch_offset=0,
        last_fetched_epoch=0,
        max_wait_ms=1,
        max_bytes=1,
        high_watermark=0,
    )
    return Send(node_id, (), 1, message)


class Network:
    """Answers fetches, and DescribeQuorum with `quorum`; `sent` in the order it went out."""

    def __init__(self, quorum, fetched=ErrorCode.NONE):
        self.quorum = quorum
        self.fetched = fetched
        self.sent = []

    async def call(self, send):
        self.sent.append(type(send.message))
        if isinstance(send.message, DescribeQuorumRequest):
            return self.quorum
        return FetchResponse(error=self.fetched)


def guarded(network, *sends, voters=NOBODY, key=KEY):
    """Send all of them; the error that the guard ends with, None for none."""

    async def main():
        raft = SimpleNamespace(log=SimpleNamespace(voters=voters))
        guard = Guard(network.call, raft, key)
        for send in sends:
            try:
                await guard.call(send)
            except UnreachablePeerError:
                break
        if guard.failed.done():
            return guard.failed.exception()
        guard.failed.cancel()
        return None

    return asyncio.run(main())


def test_each_leader_is_asked_before_the_first_fetch_in_its_epoch():
    network = Network(described())
    assert guarded(network, fetch(), fetch(), fetch(epoch=6), fetch(2, 6)) is None

    asked, fetched = DescribeQuorumRequest, FetchRequest
    assert network.sent == [asked, fetched, fetched, asked, fetched, asked, fetched]


@pytest.mark.parametrize("quorum", [described(voters=(1, 70)), described(OTHER)])
def test_no_fetch_goes_out_under_an_id_that_another_node_has(quorum):
    network = Network(quorum)
    error = guarded(network, fetch(), fetch())

    assert isinstance(error, RefusedObserverError)
    assert "node id 70" in str(error)
    assert network.sent == [DescribeQuorumRequest]


@pytest.mark.parametrize("voter", [OTHER, KEY])
@pytest.mark.parametrize("send", [fetch(), Send(1, (), 1, ApiVersionsRequest())])
def test_nothing_at_all_goes_out_once_the_log_names_the_id_as_a_voters(voter, send):
    network = Network(described())
    error = guarded(network, send, voters=voter_set([Voter(voter)]))

    assert "node id 70 has become a voter's" in str(error)
    assert network.sent == []


def test_an_observer_that_may_not_ask_does_not_fetch():
    network = Network(described(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    error = guarded(network, fetch())

    assert "--anonymous" in str(error)
    assert network.sent == [DescribeQuorumRequest]


def test_a_node_that_does_not_lead_is_only_asked_for_the_leader():
    network = Network(described(error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert guarded(network, fetch(-2), fetch(-2)) is None

    assert network.sent == [DescribeQuorumRequest, FetchRequest] * 2


def test_an_anonymous_observer_needs_not_ask():
    network = Network(described(voters=(70,)))
    assert guarded(network, fetch(), voters=voter_set([Voter(OTHER)]), key=None) is None

    assert network.sent == [FetchRequest]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ErrorCode.INCONSISTENT_CLUSTER_ID, "correct --cluster-id"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "--operation ClusterAction"),
    ],
)
def test_an_error_that_no_retry_cures_ends_the_recording_with_advice(error, text):
    assert text in str(guarded(Network(described(), fetched=error), fetch()))
