"""A process that is no voter, on the machine of a quorum of default settings: it may only read."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from replica.errors import AuthenticationError, UsageError
from replica.model.kafka_errors import ErrorCode
from replica.node.assembly import check_open_listeners
from replica.node.local_processes import sockets
from replica.wire.apis.fetching import FETCH, FETCH_SNAPSHOT
from replica.wire.apis.membership import (
    ADD_RAFT_VOTER,
    REMOVE_RAFT_VOTER,
    UNREGISTER_CONTROLLER,
    UPDATE_FEATURES,
    UPDATE_RAFT_VOTER,
)
from replica.wire.apis.quorum import BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, VOTE
from tests.interop.kafka_node import free_ports
from tests.replica.node.running import (
    CLUSTER,
    append,
    at,
    caught_up,
    client_of,
    leads,
    quorum_of_three,
    running,
)
from tests.replica.node.security.stranger import ask_as_stranger
from tests.replica.node.server_properties import settings

MOST = 2**31 - 1
DIRECTORY = "A" * 21 + "Q"
NOT_PROVEN = int(ErrorCode.BROKER_NOT_AVAILABLE)
NOT_ALLOWED = int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def topics(**partition):
    return [{"topicName": "orders", "partitions": [{"partitionIndex": 0, **partition}]}]


def vote(candidate, epoch):
    position = {"lastOffsetEpoch": 0, "lastOffset": 0, "replicaDirectoryId": DIRECTORY}
    entry = {"replicaEpoch": epoch, "replicaId": candidate, **position, "preVote": False}
    about = {"voterDirectoryId": DIRECTORY}
    return {"clusterId": CLUSTER, "voterId": -1, "topics": topics(**entry, **about)}


def begin(leader, epoch, port):
    entry = {"leaderId": leader, "leaderEpoch": epoch, "voterDirectoryId": DIRECTORY}
    endpoints = [{"name": "CONTROLLER", "host": "127.0.0.1", "port": port}]
    return {
        "clusterId": CLUSTER,
        "voterId": -1,
        "topics": topics(**entry),
        "leaderEndpoints": endpoints,
    }


def end(leader, epoch):
    entry = {"leaderId": leader, "leaderEpoch": epoch}
    lists = {"preferredSuccessors": [], "preferredCandidates": []}
    message = {"clusterId": CLUSTER, "topics": topics(**entry, **lists)}
    return {**message, "leaderEndpoints": []}


def update(voter, epoch, port):
    return {
        "clusterId": CLUSTER,
        "currentLeaderEpoch": epoch,
        "voterId": voter,
        "voterDirectoryId": DIRECTORY,
        "listeners": [{"name": "CONTROLLER", "host": "127.0.0.1", "port": port}],
        "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
    }


def facts(nodes):
    return [(n.driver.host.raft.role.epoch, n.driver.host.raft.role.leader_id) for n in nodes]


def told(story):
    async def main():
        async with asyncio.timeout(90):
            await story()

    asyncio.run(main())


async def answers(node, *asked, listen_on=0):
    """Of a stranger's request to a node, in a process of its own."""
    (listener,) = node.settings.listeners
    return await asyncio.to_thread(ask_as_stranger, listener.port, *asked, listen_on)


def test_no_stranger_votes_leads_or_moves_a_voter(tmp_path):
    async def story():
        async with quorum_of_three(tmp_path) as (leader, followers):
            nodes = [leader, *followers]
            before, victim = facts(nodes), followers[0]
            epoch, other = before[0][0], followers[1].replica.node_id
            (port,) = free_ports(1)
            for candidate in (other, 77):
                asked = vote(candidate, MOST)
                assert (await answers(victim, VOTE, 2, asked))["errorCode"] == NOT_PROVEN
            asked = begin(other, epoch + 5, port)
            found = await answers(victim, BEGIN_QUORUM_EPOCH, 1, asked, listen_on=port)
            assert found["errorCode"] == NOT_PROVEN
            found = await answers(victim, END_QUORUM_EPOCH, 1, end(leader.replica.node_id, epoch))
            assert found["errorCode"] == NOT_PROVEN
            asked = update(other, epoch, port)
            found = await answers(leader, UPDATE_RAFT_VOTER, 0, asked, listen_on=port)
            assert found["errorCode"] == NOT_PROVEN
            await append(leader, b"goes on")
            await caught_up(leader, followers)
            assert facts(nodes) == before

    told(story)


def test_no_stranger_fetches_as_a_voter_nor_changes_the_quorum(tmp_path):
    async def story():
        async with quorum_of_three(tmp_path) as (leader, followers):
            voter, epoch = followers[0].replica.node_id, facts([leader])[0][0]
            about = {"currentLeaderEpoch": epoch, "lastFetchedEpoch": epoch, "fetchOffset": 1}
            fetch = {"maxWaitMs": 0, "topics": at(FETCH, partitionMaxBytes=1000, **about)}
            fetch |= {"replicaState": {"replicaId": voter, "replicaEpoch": -1}}
            found = await answers(leader, FETCH, 17, fetch)
            assert found["responses"][0]["partitions"][0]["errorCode"] == NOT_PROVEN
            slice_of = {"replicaId": voter, "topics": []}
            assert (await answers(leader, FETCH_SNAPSHOT, 0, slice_of))["errorCode"] == NOT_PROVEN
            key = {"clusterId": CLUSTER, "voterId": voter, "voterDirectoryId": DIRECTORY}
            changes = {
                ADD_RAFT_VOTER: {**key, "timeoutMs": 100, "listeners": []},
                REMOVE_RAFT_VOTER: key,
                UPDATE_FEATURES: {"timeoutMs": 100, "featureUpdates": []},
                UNREGISTER_CONTROLLER: {"controllerId": voter},
            }
            for api, message in changes.items():
                found = await answers(leader, api, 0, message)
                assert found["errorCode"] == NOT_ALLOWED, api

    told(story)


def test_kafkas_defaults_stay_possible_by_a_setting_that_says_insecure(tmp_path):
    async def story():
        insecure = {"kraftlake__insecure__open__listeners": "true"}
        async with quorum_of_three(tmp_path, **insecure) as (_, followers):
            victim, other = followers
            epoch, _ = facts([victim])[0]
            asked = vote(other.replica.node_id, epoch)
            assert (await answers(victim, VOTE, 2, asked))["errorCode"] == 0
            found = await answers(victim, VOTE, 2, vote(other.replica.node_id, MOST))
            assert found["topics"][0]["partitions"][0]["errorCode"] == ErrorCode.INVALID_REQUEST
            assert facts([victim])[0][0] == epoch

    told(story)


def test_a_process_at_the_address_of_an_absent_voter_can_not_raise_the_epoch_without_end(tmp_path):
    async def story():
        (away,) = free_ports(1)
        (port,) = free_ports(1)
        voters = f"1@127.0.0.1:{port},2@127.0.0.1:{away}"
        async with running(tmp_path, 1, port, controller__quorum__voters=voters) as node:
            found = await answers(node, VOTE, 2, vote(2, MOST), listen_on=away)
            assert found["topics"][0]["partitions"][0]["errorCode"] == ErrorCode.INVALID_REQUEST
            assert node.driver.host.raft.role.epoch == 0

    told(story)


@pytest.mark.parametrize("host", ["node1.example", "10.0.0.1", "[fe80::1]"])
def test_a_replica_on_the_network_does_not_start_before_its_voters_are_named(tmp_path, host):
    changed = {
        "listeners": "CONTROLLER://0.0.0.0:1",
        "advertised__listeners": f"CONTROLLER://{host}:1",
    }
    with pytest.raises(UsageError, match=r"kraftlake\.principals\.voter: missing"):
        check_open_listeners(settings(tmp_path, **changed))
    named = {"kraftlake__principals__voter": "CN=node1;CN=node2"}
    check_open_listeners(settings(tmp_path, **changed, **named))
    check_open_listeners(settings(tmp_path, **changed, kraftlake__insecure__open__listeners="true"))


@pytest.mark.parametrize("voters", ["*", "ANONYMOUS", "CN=node1;*"])
def test_voters_for_every_principal_need_the_setting_that_says_it_is_insecure(tmp_path, voters):
    with pytest.raises(UsageError, match="could vote"):
        settings(tmp_path, kraftlake__principals__voter=voters)


@pytest.mark.parametrize("administrators", ["*", "ANONYMOUS"])
def test_administrators_for_everybody_on_the_network_need_a_login_or_the_insecure_setting(
    tmp_path, administrators
):
    changed = {
        "kraftlake__principals__administrator": administrators,
        "kraftlake__principals__voter": "CN=node1",
        "advertised__listeners": "CONTROLLER://node1.example:1",
    }
    check_open_listeners(settings(tmp_path, **changed))
    with pytest.raises(UsageError, match="everybody who can connect to CONTROLLER://:1,"):
        check_open_listeners(settings(tmp_path, listeners="CONTROLLER://:1", **changed))


def test_a_voter_believes_no_answer_of_another_users_process(tmp_path, monkeypatch):
    async def story():
        async with quorum_of_three(tmp_path) as (leader, followers):
            (listener,) = followers[0].settings.listeners
            connection = await leader.peers._pool.connection((listener.host, listener.port))
            with monkeypatch.context() as patched:
                patched.setattr("os.geteuid", lambda: 4711)
                with pytest.raises(AuthenticationError, match="isn't this user's"):
                    await leader.peers._check_owner(connection)

    told(story)


def test_a_request_in_a_voters_name_waits_for_two_looks_at_the_processes_at_most(
    tmp_path, monkeypatch
):
    looks = []

    def counted(*ports):
        looks.append(ports)
        return sockets(*ports)

    monkeypatch.setattr("replica.node.serve.voters.sockets", counted)

    async def story():
        async with running(tmp_path) as node, AsyncExitStack() as stack:
            await leads(node)
            clients = [await stack.enter_async_context(client_of(node)) for _ in range(60)]
            answers = await asyncio.gather(*(one.call(VOTE, vote(1, 1), 2) for one in clients))
            assert {answer.message["errorCode"] for answer in answers} == {0}
            assert looks
            assert len(looks) < 20, "many are judged by one look"

    told(story)
