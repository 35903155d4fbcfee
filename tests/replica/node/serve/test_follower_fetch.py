"""Readers at the replicas of a quorum of three, in racks of their own (KIP-392)."""

import asyncio

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.wire.apis.fetching import LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from tests.replica.node.running import (
    append,
    at,
    caught_up,
    client_of,
    fetched,
    the,
)


@pytest.mark.scenario("K17", "K30")
def test_a_leader_names_the_follower_in_the_clients_rack_at_once(in_quorum):
    async def story(leader, followers):
        await append(leader, b"x")
        end = await caught_up(leader, followers)
        for node in followers:
            rack = node.settings.rack
            answer = await fetched(leader, end, maxWaitMs=60_000, rackId=rack)
            assert answer["preferredReadReplica"] == node.replica.node_id
            assert not answer["records"]
            answer = await fetched(node, 0, rackId=rack)
            assert answer["records"]
            assert node.partition.fetches == 1

    in_quorum(story)


@pytest.mark.scenario("K31", "K32")
def test_no_preferred_replica_is_named_for_another_rack_or_by_a_follower(in_quorum):
    async def story(leader, followers):
        await append(leader, b"x")
        await caught_up(leader, followers)
        assert (await fetched(leader, 0, rackId="elsewhere"))["preferredReadReplica"] == -1
        assert (await fetched(leader, 0, rackId=leader.settings.rack))["records"]
        near, other = followers
        answer = await fetched(near, 0, rackId=other.settings.rack)
        assert answer["preferredReadReplica"] == -1
        assert answer["records"]

    in_quorum(story)


@pytest.mark.scenario("K28", "K29")
def test_a_follower_serves_clients_that_know_of_followers_and_only_its_own_facts(in_quorum):
    async def story(leader, followers):
        await append(leader, b"x")
        await caught_up(leader, followers)
        node = followers[0]
        assert (await fetched(node, 0, version=11))["records"]
        assert (await fetched(node, 0, version=10))["errorCode"] == (
            ErrorCode.NOT_LEADER_OR_FOLLOWER
        )
        async with client_of(node) as client:
            asked = at(OFFSET_FOR_LEADER_EPOCH, currentLeaderEpoch=-1, leaderEpoch=1)
            answer = await client.call(OFFSET_FOR_LEADER_EPOCH, {"replicaId": -1, "topics": asked})
            code = the(answer.message["topics"])["errorCode"]
            assert code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            for timestamp, expected in ((-2, 0), (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)):
                asked = at(LIST_OFFSETS, currentLeaderEpoch=-1, timestamp=timestamp)
                answer = await client.call(LIST_OFFSETS, {"replicaId": -1, "topics": asked})
                assert the(answer.message["topics"])["errorCode"] == expected

    in_quorum(story)


@pytest.mark.scenario("K34")
def test_a_fetch_that_waits_at_a_follower_gets_what_replication_brings(in_quorum):
    async def story(leader, followers):
        end = await caught_up(leader, followers)
        waiting = asyncio.create_task(fetched(followers[0], end, maxWaitMs=30_000))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        await append(leader, b"news")
        answer = await waiting
        assert answer["records"]
        assert answer["highWatermark"] > end

    in_quorum(story)


@pytest.mark.scenario("K38")
def test_a_follower_that_is_silent_is_not_named_and_named_again_when_it_is_back(in_quorum):
    async def story(leader, followers):
        await append(leader, b"x")
        await caught_up(leader, followers)
        node = followers[0]
        rack, key = node.settings.rack, node.replica.node_id

        async def named():
            return (await fetched(leader, 0, rackId=rack))["preferredReadReplica"]

        assert await named() == key
        silent = asyncio.Event()
        carried = node.driver.call

        async def cut(send):
            await silent.wait()
            return await carried(send)

        node.driver.call = cut
        while await named() != -1:
            await asyncio.sleep(0.05)
        silent.set()
        node.driver.call = carried
        while await named() != key:
            await asyncio.sleep(0.05)

    in_quorum(story)
