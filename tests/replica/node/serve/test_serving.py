"""Clients of a node over TCP: what each API answers, to readers, administrators and strangers."""

import asyncio

import pytest

from replica.format.batch import decode_header
from replica.format.frames import frames
from replica.format.record import records_of
from replica.format.whole_batch import value_batch
from replica.model.kafka_errors import ErrorCode
from replica.wire.apis.cluster import API_VERSIONS, DESCRIBE_CLUSTER, METADATA
from replica.wire.apis.configs import ALTER_CONFIGS, DESCRIBE_CONFIGS
from replica.wire.apis.fetching import FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from replica.wire.apis.membership import ADD_RAFT_VOTER
from replica.wire.apis.quorum import DESCRIBE_QUORUM, VOTE
from replica.wire.apis.writing import DELETE_RECORDS, PRODUCE
from tests.replica.node.running import TOPIC, append, at, client_of, leads, running, the

ADMINISTRATOR = {"kraftlake__principals__administrator": "*"}


@pytest.fixture
def served(tmp_path):
    """Runs `story(node, client)` on a lone leader."""

    def run(story, **changed):
        async def main():
            async with asyncio.timeout(120), running(tmp_path, **changed) as node:
                await leads(node)
                async with client_of(node) as client:
                    return await story(node, client)

        return asyncio.run(main())

    return run


def fetch(offset, **changed):
    request = {"replicaId": -1, "maxWaitMs": 0, "minBytes": 1, "maxBytes": 1 << 20}
    asked = {"fetchOffset": offset, "partitionMaxBytes": 1 << 20, "currentLeaderEpoch": -1}
    for key in tuple(changed):
        if key in asked:
            asked[key] = changed.pop(key)
    return {**request, **changed, "topics": at(FETCH, **asked)}


def values_in(data):
    found = []
    for frame in frames(data, start=0, expected_offset=None):
        header = decode_header(data, frame.position)
        if not header.is_control:
            batch = data[frame.position : frame.position + frame.size]
            found += [record.value for record in records_of(header, batch)]
    return found


@pytest.mark.parametrize("version", range(4, 19))
def test_a_reader_gets_committed_records_in_every_version(served, version):
    async def story(node, client):
        await append(node, b"one", b"two")
        answer = await client.call(FETCH, fetch(0), version)
        found = the(answer.message["responses"])
        end = node.driver.host.raft.high_watermark
        assert found["errorCode"] == 0
        assert (found["highWatermark"], found["lastStableOffset"]) == (end, end)
        assert values_in(found["records"]) == [b"one", b"two"]
        assert node.partition.fetches == 1

    served(story)


def test_a_node_refuses_a_client_that_meant_another_node_or_cluster(served):
    """KIP-1242: what Metadata tells of this node is what it asks of who names it."""

    async def story(node, client):
        told = (await client.call(METADATA, {"topics": []})).message
        cluster_id, (own,) = told["clusterId"], [broker["nodeId"] for broker in told["brokers"]]
        errors = {}
        for named in ((cluster_id, own), (cluster_id, own + 1), ("another", own)):
            asked = dict(zip(("clusterId", "nodeId"), named, strict=True))
            answer = await client.call(API_VERSIONS, asked, 5)
            errors[named] = answer.message["errorCode"]
        assert list(errors.values()) == [0, *[ErrorCode.REBOOTSTRAP_REQUIRED] * 2]

    served(story)


def test_a_fetch_at_the_high_watermark_waits_for_records(served):
    async def story(node, client):
        end = node.driver.host.raft.high_watermark
        waiting = asyncio.create_task(client.call(FETCH, fetch(end, maxWaitMs=10_000), 12))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await append(node, b"news")
        found = the((await waiting).message["responses"])
        assert values_in(found["records"]) == [b"news"]

    served(story)


def test_a_fetch_outside_of_the_log_is_told_where_it_is(served):
    async def story(node, client):
        found = the((await client.call(FETCH, fetch(999), 12)).message["responses"])
        assert found["errorCode"] == ErrorCode.OFFSET_OUT_OF_RANGE
        assert (found["logStartOffset"], found["highWatermark"]) == (
            0,
            node.driver.host.raft.high_watermark,
        )

    served(story)


@pytest.mark.scenario("K29")
@pytest.mark.parametrize(("epoch", "error"), [(0, "FENCED_"), (9, "UNKNOWN_")])
def test_another_leader_epoch_is_refused_first(served, epoch, error):
    async def story(node, client):
        expected = ErrorCode[f"{error}LEADER_EPOCH"]
        request = {
            "replicaId": -1,
            "topics": at(OFFSET_FOR_LEADER_EPOCH, currentLeaderEpoch=epoch, leaderEpoch=0),
        }
        ended = await client.call(OFFSET_FOR_LEADER_EPOCH, request)
        assert the(ended.message["topics"])["errorCode"] == expected
        fetched = await client.call(FETCH, fetch(0, currentLeaderEpoch=epoch), 12)
        assert the(fetched.message["responses"])["errorCode"] == expected

    served(story)


def test_the_end_of_an_epoch_is_the_high_watermark_for_a_consumer(served):
    async def story(node, client):
        await append(node, b"x")
        raft = node.driver.host.raft
        for epoch, end in ((raft.role.epoch, raft.high_watermark), (raft.role.epoch + 5, -1)):
            request = {
                "replicaId": -1,
                "topics": at(OFFSET_FOR_LEADER_EPOCH, currentLeaderEpoch=-1, leaderEpoch=epoch),
            }
            answer = await client.call(OFFSET_FOR_LEADER_EPOCH, request)
            assert the(answer.message["topics"])["endOffset"] == end

    served(story)


def test_offsets_are_listed_earliest_latest_and_by_time(served):
    async def story(node, client):
        await append(node, b"x")

        async def listed(timestamp):
            request = {
                "replicaId": -1,
                "topics": at(LIST_OFFSETS, currentLeaderEpoch=-1, timestamp=timestamp),
            }
            return the((await client.call(LIST_OFFSETS, request)).message["topics"])

        end = node.driver.host.raft.high_watermark
        assert (await listed(-2))["offset"] == 0
        assert (await listed(-1))["offset"] == end
        newest = await listed(-3)
        assert (await listed(newest["timestamp"]))["offset"] <= newest["offset"]
        assert (await listed(newest["timestamp"] + 1_000_000))["offset"] == -1

    served(story)


@pytest.mark.parametrize("version", range(1, 12))
def test_a_timestamp_with_a_meaning_is_answered_in_the_versions_that_have_it(served, version):
    """The numbers are those of ReplicaManager.isListOffsetsTimestampUnsupported in Kafka 4.4."""
    since = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11, -7: 99, -(2**63): 99}
    of_tiered_storage = (-5, -6)

    async def story(node, client):
        await append(node, b"x")
        end = node.driver.host.raft.high_watermark
        for timestamp, first in since.items():
            topics = at(LIST_OFFSETS, currentLeaderEpoch=-1, timestamp=timestamp)
            asked = {"replicaId": -1, "topics": topics}
            found = the((await client.call(LIST_OFFSETS, asked, version)).message["topics"])
            if version < first:
                assert found["errorCode"] == ErrorCode.UNSUPPORTED_VERSION, timestamp
                assert found["offset"] == -1
                continue
            assert found["errorCode"] == ErrorCode.NONE, timestamp
            if timestamp in of_tiered_storage:
                assert (found["offset"], found["timestamp"], found["leaderEpoch"]) == (-1, -1, -1)
            else:
                assert 0 <= found["offset"] <= end

    served(story)


@pytest.mark.parametrize("version", range(14))
def test_metadata_names_the_topic_as_no_internal_one(served, version):
    async def story(node, client):
        by_name = [{"name": TOPIC, "topicId": "A" * 22}]
        for topics in (by_name, None) if version else (by_name,):
            found = (await client.call(METADATA, {"topics": topics}, version)).message
            (topic,) = found["topics"]
            assert (topic["name"], topic.get("isInternal", False)) == (TOPIC, False)
            assert topic["partitions"][0]["leaderId"] == 1
            (broker,) = found["brokers"]
            assert (broker["nodeId"], broker["port"]) == (1, node.settings.listeners[0].port)
        other = await client.call(METADATA, {"topics": [{"name": "other"}]}, version)
        assert other.message["topics"][0]["errorCode"] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    served(story)


def test_the_nodes_are_described_as_brokers_and_as_controllers(served):
    async def story(node, client):
        for kind in (1, 2):
            found = (await client.call(DESCRIBE_CLUSTER, {"endpointType": kind})).message
            assert (found["errorCode"], found["controllerId"]) == (0, 1)
            assert [broker["brokerId"] for broker in found["brokers"]] == [1]

    served(story)


def produced(data, acks=-1):
    return {"acks": acks, "timeoutMs": 5000, "topicData": at(PRODUCE, records=data)}


@pytest.mark.parametrize("version", range(3, 14))
def test_an_administrator_appends_what_is_then_committed(served, version):
    async def story(node, client):
        answer = await client.call(PRODUCE, produced(value_batch(0, 0, 1, [b"a", b"b"])), version)
        found = the(answer.message["responses"], "partitionResponses")
        assert found["errorCode"] == 0
        assert node.driver.host.raft.high_watermark == found["baseOffset"] + 2

    served(story, **ADMINISTRATOR)


def test_records_that_a_log_can_not_hold_are_refused_and_nothing_is_appended(served):
    batch = value_batch(0, 0, 1, [b"a"])
    damaged = batch[:-1] + bytes([batch[-1] ^ 1])
    cases = [
        (produced(damaged), ErrorCode.CORRUPT_MESSAGE),
        (produced(batch[:-3]), ErrorCode.CORRUPT_MESSAGE),
        (produced(b""), ErrorCode.CORRUPT_MESSAGE),
        (produced(batch, acks=1), ErrorCode.INVALID_REQUIRED_ACKS),
    ]

    async def story(node, client):
        end = node.driver.host.log.log_end
        for request, error in cases:
            answer = await client.call(PRODUCE, request)
            found = the(answer.message["responses"], "partitionResponses")
            assert found["errorCode"] == error
        assert node.driver.host.log.log_end == end

    served(story, **ADMINISTRATOR)


def test_changes_are_denied_where_nobody_is_administrator(served):
    async def story(node, client):
        end = node.driver.host.log.log_end
        answer = await client.call(PRODUCE, produced(value_batch(0, 0, 1, [b"a"])))
        found = the(answer.message["responses"], "partitionResponses")
        assert found["errorCode"] == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        change = {"timeoutMs": 1, "voterId": 2, "voterDirectoryId": "B" * 21 + "A", "listeners": []}
        added = await client.call(ADD_RAFT_VOTER, change)
        assert added.message["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert node.driver.host.log.log_end == end
        assert node.dispatch.denied == 2

    served(story)


def test_a_stranger_may_not_vote_where_voters_are_named(served):
    async def story(node, client):
        epoch = node.driver.host.raft.role.epoch
        asked = {
            "replicaEpoch": epoch + 5,
            "replicaId": 7,
            "lastOffsetEpoch": epoch,
            "lastOffset": 999,
        }
        topics = [{"topicName": TOPIC, "partitions": [{"partitionIndex": 0, **asked}]}]
        answer = await client.call(VOTE, {"voterId": 1, "topics": topics})
        assert answer.message["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert node.driver.host.raft.role.epoch == epoch

    served(story, kraftlake__principals__voter="User:voter")


def test_records_are_never_deleted_and_configurations_never_altered(served):
    async def story(node, client):
        asked = {"timeoutMs": 1, "topics": at(DELETE_RECORDS, offset=1)}
        deleted = the((await client.call(DELETE_RECORDS, asked)).message["topics"])
        assert deleted["errorCode"] == ErrorCode.POLICY_VIOLATION
        resource = {"resourceType": 2, "resourceName": TOPIC}
        described = await client.call(
            DESCRIBE_CONFIGS, {"resources": [{**resource, "configurationKeys": None}]}
        )
        (result,) = described.message["results"]
        assert {c["name"]: c["value"] for c in result["configs"]}["cleanup.policy"] == "delete"
        altered = await client.call(
            ALTER_CONFIGS, {"resources": [{**resource, "configs": [{"name": "cleanup.policy"}]}]}
        )
        assert altered.message["responses"][0]["errorCode"] == ErrorCode.INVALID_CONFIG

    served(story, **ADMINISTRATOR)


def test_another_topic_is_unknown_by_name_and_by_id(served):
    async def story(node, client):
        request = fetch(0)
        request["topics"][0].update(topic="other", topicId="B" * 21 + "A")
        for version, error in ((12, "UNKNOWN_TOPIC_OR_PARTITION"), (13, "UNKNOWN_TOPIC_ID")):
            answer = await client.call(FETCH, request, version)
            assert the(answer.message["responses"])["errorCode"] == ErrorCode[error]

    served(story)


def test_the_quorum_is_described(served):
    async def story(node, client):
        topics = [{"topicName": TOPIC, "partitions": [{"partitionIndex": 0}]}]
        found = the((await client.call(DESCRIBE_QUORUM, {"topics": topics})).message["topics"])
        assert (found["leaderId"], found["errorCode"]) == (1, 0)
        assert [voter["replicaId"] for voter in found["currentVoters"]] == [1]

    served(story)
