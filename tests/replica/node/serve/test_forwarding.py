"""Administrators' requests at replicas that don't lead: sent on, or answered with the leader."""

import asyncio
from dataclasses import replace

import pytest

from replica.format.whole_batch import value_batch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.node.authorizer import Authorizer, PrincipalRole
from replica.node.rpcs import RPCS
from replica.node.serve.forwarding import FORWARDER, Forwarder
from replica.raft.roles import Leader, Resigned
from replica.wire.apis.cluster import METADATA
from replica.wire.apis.membership import REMOVE_RAFT_VOTER, UPDATE_FEATURES
from replica.wire.apis.quorum import DESCRIBE_QUORUM
from replica.wire.apis.writing import PRODUCE
from replica.wire.client import ClientConfig
from replica.wire.header import WireRequest
from replica.wire.server import Client
from tests.replica.node.running import TOPIC, at, client_of, free_port, leads, running, the

ADMINISTRATOR = {"kraftlake__principals__administrator": "*"}
DESCRIBE = {"topics": [{"topicName": TOPIC, "partitions": [{"partitionIndex": 0}]}]}
REMOVE = {"voterId": 9, "voterDirectoryId": "B" * 21 + "A"}
UPGRADE = {"featureUpdates": [{"feature": "kraft.version", "maxVersionLevel": 1}]}
PRODUCED = {
    "acks": -1,
    "timeoutMs": 5000,
    "topicData": at(PRODUCE, records=value_batch(0, 0, 1, [b"a"])),
}


async def call(node, api, request, version=None, **config):
    async with client_of(node, **config) as client:
        return (await client.call(api, request, version)).message


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_follower_describes_the_quorum_as_its_leader_does(in_quorum, version):
    async def story(leader, followers):
        for node in followers:
            answer = await call(node, DESCRIBE_QUORUM, DESCRIBE, version)
            found = the(answer["topics"])
            assert (found["errorCode"], found["leaderId"]) == (0, leader.replica.node_id)
            assert [voter["replicaId"] for voter in found["currentVoters"]] == [1, 2, 3]

    in_quorum(story)


def test_a_change_reaches_the_leader_through_any_follower(in_quorum):
    async def story(leader, followers):
        for node in followers:
            # all voters have told their directories, or the leader says that one has not
            while (await call(node, UPDATE_FEATURES, UPGRADE))["errorCode"]:
                await asyncio.sleep(0.05)
            assert leader.driver.host.raft.log.kraft_version == 1
            answer = await call(node, REMOVE_RAFT_VOTER, REMOVE)
            assert answer["errorCode"] == ErrorCode.VOTER_NOT_FOUND

    in_quorum(story, **ADMINISTRATOR)


def test_a_client_without_rights_is_refused_by_the_follower_that_it_asked(in_quorum):
    async def story(leader, followers):
        answer = await call(followers[0], REMOVE_RAFT_VOTER, REMOVE)
        assert answer["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert leader.dispatch.asked["RemoveRaftVoter"] == 0

    in_quorum(story)


def test_a_forwarded_request_is_never_forwarded_again(in_quorum):
    async def story(leader, followers):
        answer = await call(followers[0], DESCRIBE_QUORUM, DESCRIBE, client_id=FORWARDER)
        found = the(answer["topics"])
        assert found["errorCode"] == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert found["leaderId"] == leader.replica.node_id

    in_quorum(story)


@pytest.mark.parametrize(
    ("voters", "principal", "error"),
    [
        ("User:n1;User:n2", "User:n2", "UNSUPPORTED_VERSION"),
        ("User:n1;User:n2", "User:n3", "CLUSTER_AUTHORIZATION_FAILED"),
        ("*", "User:n2", "CLUSTER_AUTHORIZATION_FAILED"),
        ("ANONYMOUS", "ANONYMOUS", "CLUSTER_AUTHORIZATION_FAILED"),
    ],
)
def test_a_leader_trusts_those_alone_that_are_named_as_voters(tmp_path, voters, principal, error):
    async def main():
        settings = {
            "kraftlake__principals__voter": voters,
            "kraftlake__insecure__open__listeners": "true",
        }
        async with asyncio.timeout(30), running(tmp_path, **settings) as node:
            await leads(node)
            forwarding = Client("127.0.0.1:1", principal, "CONTROLLER")
            request = WireRequest(REMOVE_RAFT_VOTER, 0, 1, FORWARDER, {**REMOVE, "clusterId": None})
            answer = await node.dispatch(forwarding, request)
            assert answer["errorCode"] == ErrorCode[error]
            answer = await node.dispatch(forwarding, replace(request, client_id="kraftlake"))
            assert answer["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    asyncio.run(main())


def test_a_client_goes_to_the_leader_itself_where_that_refuses_the_forwarder(in_quorum):
    everybody = {role: frozenset("*") for role in PrincipalRole}
    no_administrator = Authorizer({**everybody, PrincipalRole.ADMINISTRATOR: frozenset()})

    async def story(leader, followers):
        leader.dispatch._admission._authorizer = no_administrator
        answer = await call(followers[0], REMOVE_RAFT_VOTER, REMOVE)
        assert answer["errorCode"] == ErrorCode.NOT_LEADER_OR_FOLLOWER

    in_quorum(story, **ADMINISTRATOR)


def test_a_leader_out_of_reach_is_named_with_the_reason(tmp_path):
    async def main():
        async with asyncio.timeout(30), running(tmp_path) as node:
            forwarder = Forwarder(node.partition, ClientConfig(timeout_s=1.0))
            request = WireRequest(REMOVE_RAFT_VOTER, 0, 1, None, REMOVE)
            port = free_port()
            answer = await forwarder.forward(
                request, ("127.0.0.1", port), RPCS[REMOVE_RAFT_VOTER.key]
            )
            assert answer["errorCode"] == ErrorCode.REQUEST_TIMED_OUT
            assert f"127.0.0.1:{port}: no connection" in answer["errorMessage"]

    asyncio.run(main())


@pytest.mark.parametrize("version", [9, 10, 13])
def test_a_producer_is_told_who_leads_and_where(in_quorum, version):
    async def story(leader, followers):
        end = leader.driver.host.log.log_end
        answer = await call(followers[0], PRODUCE, PRODUCED, version)
        found = the(answer["responses"], "partitionResponses")
        assert found["errorCode"] == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert leader.driver.host.log.log_end == end
        if version >= 10:
            (listener,) = leader.settings.listeners
            assert found["currentLeader"]["leaderId"] == leader.replica.node_id
            (node,) = answer["nodeEndpoints"]
            assert (node["nodeId"], node["port"]) == (leader.replica.node_id, listener.port)

    in_quorum(story, **ADMINISTRATOR)


def test_a_producer_is_told_that_records_may_be_committed_where_leadership_is_lost(in_quorum):
    async def story(leader, followers):
        for node in followers:
            node.driver.shut_down(100)
        await asyncio.sleep(0.5)
        answer = await call(leader, PRODUCE, {**PRODUCED, "timeoutMs": 20_000})
        found = the(answer["responses"], "partitionResponses")
        assert found["errorCode"] == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    in_quorum(story, **ADMINISTRATOR)


def test_a_leader_that_has_resigned_names_no_leader(in_quorum):
    async def story(leader, followers):
        for node in followers:
            node.driver.shut_down(100)
        while isinstance(leader.driver.host.raft.role, Leader):
            await leader.driver.wait_for_news(0.1)
        assert isinstance(leader.driver.host.raft.role, Resigned)
        topics = (await call(leader, METADATA, {"topics": [{"name": TOPIC}]}))["topics"]
        assert the(topics)["leaderId"] == NO_NODE
        answer = await call(leader, PRODUCE, PRODUCED)
        found = the(answer["responses"], "partitionResponses")
        assert found["errorCode"] == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (found["currentLeader"]["leaderId"], answer["nodeEndpoints"]) == (NO_NODE, [])

    in_quorum(story, **ADMINISTRATOR, controller__quorum__election__timeout__ms="2000")
