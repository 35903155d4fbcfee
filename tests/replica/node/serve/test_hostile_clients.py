"""Clients that ask for too much, or for what isn't theirs: what a node gives stays bounded."""

import asyncio

import pytest

from replica.errors import PeerError
from replica.format.whole_batch import value_batch
from replica.model.kafka_errors import ErrorCode
from replica.node.serve.rpc import LONGEST_WAIT_MS
from replica.raft.messages import FetchRequest
from replica.wire.apis.cluster import METADATA
from replica.wire.apis.fetching import FETCH, FETCH_SNAPSHOT, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from replica.wire.apis.writing import PRODUCE
from tests.replica.node.running import append, at, client_of, leads, running, the

MOST = 2**31 - 1


def served(tmp_path, story, **changed):
    async def main():
        async with (
            asyncio.timeout(60),
            running(tmp_path, **changed) as node,
            client_of(node) as client,
        ):
            await story(node, client)

    asyncio.run(main())


def replica_fetch(node_id, epoch, **changed):
    about = {"currentLeaderEpoch": epoch, "lastFetchedEpoch": epoch, "partitionMaxBytes": MOST}
    return {
        "replicaId": node_id,
        "replicaState": {"replicaId": node_id, "replicaEpoch": -1},
        "maxWaitMs": 0,
        "maxBytes": MOST,
        "topics": at(FETCH, **about, **changed),
    }


@pytest.mark.parametrize("version", [12, 14, 15, 18])
def test_only_a_voter_fetches_under_a_voters_id(tmp_path, version):
    async def story(node, client):
        for node_id, is_refused in ((2, True), (9, False)):
            answer = await client.call(FETCH, replica_fetch(node_id, 1, fetchOffset=1), version)
            error = the(answer.message["responses"])["errorCode"]
            assert (error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED) is is_refused
        slice_of = {
            "replicaId": 2,
            "topics": [{"name": node.settings.topic.name, "partitions": [{"partition": 0}]}],
        }
        answer = await client.call(FETCH_SNAPSHOT, slice_of)
        assert answer.message["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    voters = {"controller__quorum__voters": "1@127.0.0.1:1,2@127.0.0.1:2"}
    served(tmp_path, story, **voters, kraftlake__principals__voter="User:voter")


def test_a_reader_gets_no_more_than_the_limit_of_a_response(tmp_path):
    async def story(node, client):
        await leads(node)
        limit = node.driver.host.config.response_max_bytes
        for _ in range(3):
            await append(node, bytes(limit // 2))
        request = {"replicaId": -1, "maxWaitMs": 0, "minBytes": 1, "maxBytes": MOST}
        topics = at(FETCH, fetchOffset=0, partitionMaxBytes=MOST)
        answer = await client.call(FETCH, {**request, "topics": topics})
        assert limit // 2 < len(the(answer.message["responses"])["records"]) <= limit

    served(tmp_path, story)


@pytest.mark.parametrize("api", [FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH])
def test_a_partition_is_answered_once_in_a_request(tmp_path, api):
    async def story(node, client):
        await leads(node)
        request = {"replicaId": -1, "maxWaitMs": 0, "minBytes": 1, "maxBytes": MOST}
        if api is not FETCH:
            request = {"replicaId": -1}
        topics = [*at(api), *at(api)]
        topics[1]["partitions"] *= 2
        answer = (await client.call(api, {**request, "topics": topics})).message
        found = answer["responses" if api is FETCH else "topics"]
        errors = [each["errorCode"] for topic in found for each in topic["partitions"]]
        assert errors == [0, *[ErrorCode.INVALID_REQUEST] * 2]

    served(tmp_path, story)


def test_a_replicas_fetch_waits_no_longer_than_the_limit(tmp_path):
    async def story(node, client):
        await leads(node)
        asked = []
        ask = node.driver.ask

        async def asking(message):
            asked.append(message)
            return await ask(message)

        node.partition.driver.ask = asking
        raft = node.driver.host.raft
        epoch, end = raft.role.epoch, raft.log.log_end
        request = {**replica_fetch(9, epoch, fetchOffset=end), "maxWaitMs": MOST}
        waiting = asyncio.create_task(client.call(FETCH, request))
        while not asked:
            await asyncio.sleep(0.01)
        (fetch,) = asked
        assert isinstance(fetch, FetchRequest)
        assert fetch.max_wait_ms == LONGEST_WAIT_MS
        await append(node, b"news")
        assert the((await waiting).message["responses"])["records"]

    served(tmp_path, story)


def test_racks_are_remembered_of_voters_alone(tmp_path):
    async def story(node, client):
        await leads(node)
        epoch = node.driver.host.raft.role.epoch
        for node_id in range(7, 12):
            request = {**replica_fetch(node_id, epoch, fetchOffset=0), "rackId": "r" * 1000}
            answer = await client.call(FETCH, request)
            assert the(answer.message["responses"])["errorCode"] == 0
        assert node.partition.racks == {}

    served(tmp_path, story)


def test_records_are_appended_once_in_a_request(tmp_path):
    async def story(node, client):
        await leads(node)
        end = node.driver.host.log.log_end
        topics = at(PRODUCE, records=value_batch(0, 0, 0, [b"x"])) * 2
        request = {"acks": -1, "timeoutMs": 5000, "topicData": topics}
        answer = (await client.call(PRODUCE, request)).message
        errors = [t["partitionResponses"][0]["errorCode"] for t in answer["responses"]]
        assert errors == [0, ErrorCode.INVALID_REQUEST]
        assert node.driver.host.log.log_end == end + 1

    served(tmp_path, story, kraftlake__principals__administrator="*")


@pytest.mark.parametrize("reader", ["*", "User:reader"])
@pytest.mark.parametrize("version", range(10, 14))
def test_a_topic_without_a_name_is_answered_where_answers_need_one(tmp_path, version, reader):
    async def story(node, client):
        topics = [{"name": None, "topicId": "B" * 21 + "A"}]
        (found,) = (await client.call(METADATA, {"topics": topics}, version)).message["topics"]
        assert found["errorCode"] != 0
        assert found["topicId"] == "B" * 21 + "A"
        assert not found["name"]

    named = dict.fromkeys(("observer", "reader"), reader)
    served(tmp_path, story, **{f"kraftlake__principals__{role}": n for role, n in named.items()})


def test_a_fetch_of_more_than_there_is_does_not_read_it_anew_with_each_append(tmp_path):
    async def story(node, client):
        await leads(node)
        log, reads = node.driver.host.log, []
        read = log.read
        log.read = lambda start, *limits: reads.append(start) or read(start, *limits)
        request = {"replicaId": -1, "maxWaitMs": 60_000, "minBytes": MOST, "maxBytes": MOST}
        topics = at(FETCH, fetchOffset=0, partitionMaxBytes=MOST)
        waiting = asyncio.create_task(client.call(FETCH, {**request, "topics": topics}))
        while 0 not in reads:
            await asyncio.sleep(0.01)
        appends = 300
        for _ in range(appends):
            await append(node, b"x")
        assert not waiting.done()
        assert reads.count(0) < appends // 3
        waiting.cancel()

    served(tmp_path, story)


def test_a_replica_that_an_error_has_stopped_answers_nothing(tmp_path):
    async def main():
        async with asyncio.timeout(60), running(tmp_path) as node, client_of(node) as client:
            await leads(node)
            waiting = asyncio.create_task(client.call(METADATA, {"topics": []}))
            node.driver.fail(AssertionError("a rule of ours is broken"))
            with pytest.raises(PeerError):
                await waiting

    with pytest.raises(AssertionError, match="a rule of ours"):
        asyncio.run(main())
