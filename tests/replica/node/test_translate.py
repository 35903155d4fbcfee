"""The core's messages through Kafka's bytes and back, in every version."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import CorruptDataError, DataError
from replica.format.frames import frames
from replica.format.whole_batch import value_batch
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import DRAFT_ERRORS, ErrorCode
from replica.model.keys import METADATA_TOPIC, METADATA_TOPIC_ID, ZERO_UUID, ReplicaKey
from replica.model.voters import Endpoint, Voter, voter_set
from replica.node.rpcs import TRANSLATIONS
from replica.node.translate.partition import (
    RefusedRequestError,
    ReplicatedPartition,
    is_top_level,
)
from replica.raft import messages as m
from replica.storage.batches import batch_in
from replica.wire.codec import decode, encode
from tests.replica.wire.messages import messages

DIRECTORY = "qufyMfPsTZ27gBxKC_Me3w"
VOTERS = voter_set(
    Voter(ReplicaKey(n, DIRECTORY), (Endpoint("CONTROLLER", "h", 9000 + n),)) for n in (1, 2)
)
PARTITION = ReplicatedPartition(METADATA_TOPIC, METADATA_TOPIC_ID, "CONTROLLER", VOTERS)
RECORDS = value_batch(5, 3, 1000, [b"a", b"b"]) + value_batch(7, 3, 1001, [b"c"])
BATCHES = tuple(batch_in(RECORDS, frame) for frame in frames(RECORDS, start=0, expected_offset=5))

INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
ID, EPOCH, OFFSET = st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)
KEYS = st.builds(ReplicaKey, ID, st.sampled_from([DIRECTORY, ZERO_UUID]))
ANY_KEY = st.builds(ReplicaKey, INT32, st.sampled_from([DIRECTORY, ZERO_UUID]))
ENDPOINT = st.builds(
    Endpoint, st.sampled_from(["CONTROLLER", "OTHER"]), st.just("h"), st.integers(0, 65535)
)
ENDPOINTS = st.lists(ENDPOINT, max_size=2).map(tuple)
LEADERS = st.integers(0, 65535).map(lambda port: (Endpoint("CONTROLLER", "h", port),))
BESIDE = st.sampled_from([e for e in ErrorCode if not is_top_level(e) and e not in DRAFT_ERRORS])
SNAPSHOTS = st.builds(OffsetAndEpoch, OFFSET, EPOCH)
CLUSTER = {"cluster_id": st.none() | st.text(max_size=5)}
ANSWER = {"error": BESIDE, "epoch": INT32, "leader_id": ID, "leader_endpoints": LEADERS}
NO_ENDPOINT = {**ANSWER, "leader_endpoints": st.just(())}
ONLY_ERROR = {"error": BESIDE, "message": st.text(max_size=5)}
STATES = st.lists(st.builds(m.ReplicaState, ANY_KEY, INT64, INT64, INT64), max_size=2).map(tuple)

REQUESTS = {
    m.VoteRequest: {
        **CLUSTER,
        "epoch": INT32,
        "candidate": ANY_KEY,
        "voter": st.none() | KEYS,
        "last_epoch": INT32,
        "end_offset": INT64,
        "pre_vote": st.booleans(),
    },
    m.BeginQuorumEpochRequest: {
        **CLUSTER,
        "epoch": INT32,
        "leader_id": INT32,
        "leader_endpoints": ENDPOINTS,
        "voter": st.none() | KEYS,
    },
    m.EndQuorumEpochRequest: {
        **CLUSTER,
        "epoch": INT32,
        "leader_id": INT32,
        "leader_endpoints": ENDPOINTS,
        "preferred_successors": st.lists(ANY_KEY, max_size=2).map(tuple),
    },
    m.FetchRequest: {
        **CLUSTER,
        "replica": ANY_KEY,
        "epoch": INT32,
        "fetch_offset": INT64,
        "last_fetched_epoch": INT32,
        "max_wait_ms": INT32,
        "max_bytes": INT32,
        "high_watermark": st.none() | st.integers(-1, 2**63 - 2),
    },
    m.FetchSnapshotRequest: {
        **CLUSTER,
        "replica": ANY_KEY,
        "epoch": INT32,
        "snapshot_id": st.builds(OffsetAndEpoch, INT64, INT32),
        "position": INT64,
        "max_bytes": INT32,
    },
    m.DescribeQuorumRequest: {},
    m.AddVoterRequest: {
        **CLUSTER,
        "voter": ANY_KEY,
        "endpoints": ENDPOINTS,
        "timeout_ms": INT32,
        "ack_when_committed": st.booleans(),
    },
    m.RemoveVoterRequest: {**CLUSTER, "voter": ANY_KEY, "timeout_ms": st.just(30_000)},
    m.UpdateVoterRequest: {
        **CLUSTER,
        "epoch": INT32,
        "voter": st.builds(Voter, ANY_KEY, ENDPOINTS, st.integers(0, 3), st.integers(0, 3)),
    },
}
RESPONSES = {
    m.VoteRequest: {**ANSWER, "granted": st.booleans()},
    m.BeginQuorumEpochRequest: ANSWER,
    m.EndQuorumEpochRequest: ANSWER,
    m.FetchRequest: {
        **ANSWER,
        "batches": st.sampled_from([(), BATCHES]),
        "high_watermark": st.none() | OFFSET,
        "log_start": INT64,
        "diverging": st.none() | SNAPSHOTS,
        "snapshot_id": st.none() | SNAPSHOTS,
    },
    m.FetchSnapshotRequest: {
        **ANSWER,
        "error": st.just(ErrorCode.NONE),
        "snapshot_id": SNAPSHOTS,
        "size": INT64,
        "position": INT64,
        "data": st.binary(max_size=9),
    },
    m.DescribeQuorumRequest: {
        **NO_ENDPOINT,
        "high_watermark": INT64,
        "voters": STATES,
        "observers": STATES,
    },
    m.AddVoterRequest: ONLY_ERROR,
    m.RemoveVoterRequest: ONLY_ERROR,
    m.UpdateVoterRequest: ANSWER,
}
CASES = [(kind, version) for kind in REQUESTS for version in TRANSLATIONS[kind].versions]
every_version = pytest.mark.parametrize(
    ("kind", "version"), CASES, ids=lambda x: getattr(x, "__name__", f"v{x}")
)


def request_through(kind, version, value):
    side = TRANSLATIONS[kind]
    wire = side.client.write(PARTITION, value, version)
    raw = encode(side.api.request, version, wire)
    return side.server.read(PARTITION, decode(side.api.request, version, raw), version)


def response_through(kind, version, value):
    side = TRANSLATIONS[kind]
    if isinstance(value, m.FetchResponse):
        value = replace(value, data=b"".join(batch.data for batch in value.batches))
    wire = side.server.write(PARTITION, value, version)
    raw = encode(side.api.response, version, wire)
    return side.client.read(PARTITION, decode(side.api.response, version, raw), version)


@every_version
@given(data=st.data())
def test_a_request_arrives_as_it_was_sent(kind, version, data):
    sent = data.draw(st.builds(kind, **REQUESTS[kind]))
    arrived = request_through(kind, version, sent)
    assert request_through(kind, version, arrived) == arrived
    if version == TRANSLATIONS[kind].api.versions[-1]:
        assert arrived == sent


@every_version
@given(data=st.data())
def test_a_response_arrives_as_it_was_sent(kind, version, data):
    response = m.RESPONSE_OF[kind]
    sent = data.draw(st.builds(response, **RESPONSES[kind]))
    arrived = response_through(kind, version, sent)
    assert arrived.error is sent.error
    assert response_through(kind, version, arrived) == arrived
    if version == TRANSLATIONS[kind].api.versions[-1]:
        assert arrived == sent


def about_our_partition(message):
    """`message` with one topic and one partition, ours, but whatever else it says."""
    for topics in ("topics", "responses"):
        for topic in message.get(topics, [])[:1]:
            message[topics] = [topic]
            for name, own in (("topicId", METADATA_TOPIC_ID), *NAMES):
                if name in topic:
                    topic[name] = own
            for partition in topic["partitions"][:1]:
                topic["partitions"] = [partition]
                for index in ("partitionIndex", "partition", "index"):
                    if index in partition:
                        partition[index] = 0
    return message


NAMES = [(name, METADATA_TOPIC) for name in ("topicName", "topic", "name")]


@every_version
@given(data=st.data())
def test_every_message_of_a_peer_translates_or_is_a_data_error(kind, version, data):
    side = TRANSLATIONS[kind]
    said = about_our_partition(data.draw(messages(side.api.response, version)))
    raw = encode(side.api.response, version, said)
    with contextlib.suppress(DataError):
        side.client.read(PARTITION, decode(side.api.response, version, raw), version)
    asked = about_our_partition(data.draw(messages(side.api.request, version)))
    raw = encode(side.api.request, version, asked)
    with contextlib.suppress(RefusedRequestError):
        side.server.read(PARTITION, decode(side.api.request, version, raw), version)


@every_version
@pytest.mark.parametrize("error", [e for e in ErrorCode if is_top_level(e)])
def test_an_error_of_the_whole_request_stands_alone(kind, version, error):
    response = m.RESPONSE_OF[kind](error=error, epoch=5, leader_id=1)
    arrived = response_through(kind, version, response)
    assert arrived.error is error
    if TRANSLATIONS[kind].api.key not in (57, 80, 81, 82):
        assert arrived.epoch == -1


def test_old_versions_omit_values_for_which_they_have_no_field():
    key = ReplicaKey(2, DIRECTORY)
    end = m.EndQuorumEpochRequest(epoch=1, leader_id=1, preferred_successors=(key,))
    arrived = request_through(m.EndQuorumEpochRequest, 0, end)
    assert arrived.preferred_successors == (ReplicaKey(2),)
    vote = m.VoteRequest(epoch=1, candidate=key, voter=key, last_epoch=0, end_offset=0)
    arrived = request_through(m.VoteRequest, 0, vote)
    assert (arrived.candidate, arrived.voter) == (ReplicaKey(2), None)
    fetch = m.FetchRequest(
        replica=key, epoch=1, fetch_offset=0, last_fetched_epoch=0, high_watermark=5
    )
    assert request_through(m.FetchRequest, 17, fetch).high_watermark is None
    assert request_through(m.FetchRequest, 17, fetch).replica == key
    assert request_through(m.FetchRequest, 16, fetch).replica == ReplicaKey(2)
    add = m.AddVoterRequest(voter=key, endpoints=(), ack_when_committed=False)
    assert request_through(m.AddVoterRequest, 1, add).ack_when_committed is False
    assert request_through(m.AddVoterRequest, 0, add).ack_when_committed is True


def test_a_request_is_not_sent_in_a_version_that_would_change_its_meaning():
    key = ReplicaKey(2, DIRECTORY)
    side = TRANSLATIONS[m.VoteRequest]
    vote = m.VoteRequest(epoch=1, candidate=key, last_epoch=0, end_offset=0, pre_vote=True)
    assert side.least_version(vote) == 2
    assert TRANSLATIONS[m.FetchRequest].versions == range(12, 19)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_administrator_may_update_kraft_version_alone(version):
    side = TRANSLATIONS[m.UpdateFeaturesRequest]
    level, other = ({"feature": name, "maxVersionLevel": 1} for name in ("kraft.version", "a"))
    asked = {"featureUpdates": [level], "validateOnly": version > 0}
    raw = encode(side.api.request, version, asked)
    read = side.server.read(PARTITION, decode(side.api.request, version, raw), version)
    assert read == m.UpdateFeaturesRequest(kraft_version=1, validate_only=version > 0)
    with pytest.raises(RefusedRequestError, match="the only feature here"):
        side.server.read(PARTITION, {**asked, "featureUpdates": [level, other]}, version)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_answer_about_features_names_the_error_where_its_version_looks_for_it(version):
    side = TRANSLATIONS[m.UpdateFeaturesRequest]
    refused = m.VoterChangeResponse(error=ErrorCode.INVALID_UPDATE_VERSION, message="why")
    answer = side.server.write(PARTITION, refused, version)
    wire = decode(side.api.response, version, encode(side.api.response, version, answer))
    found = wire if version == 2 else wire["results"][0]
    assert (found["errorCode"], found["errorMessage"]) == (95, "why")
    assert wire["errorCode"] == (95 if version == 2 else 0)


@pytest.mark.parametrize(
    "topics",
    [
        [],
        [{"topicName": "other", "partitions": [{}]}],
        [{"topicName": METADATA_TOPIC, "partitions": [{"partitionIndex": 1}]}],
        [{"topicName": METADATA_TOPIC, "partitions": [{}, {}]}],
        [{"topicName": METADATA_TOPIC, "partitions": [{}]}] * 2,
    ],
)
def test_other_partitions_are_refused(topics):
    side = TRANSLATIONS[m.VoteRequest]
    raw = encode(side.api.request, 2, {"topics": topics})
    with pytest.raises(RefusedRequestError, match="only __cluster_metadata-0 is replicated"):
        side.server.read(PARTITION, decode(side.api.request, 2, raw), 2)
    raw = encode(side.api.response, 2, {"topics": topics})
    with pytest.raises(CorruptDataError, match="must be about __cluster_metadata-0"):
        side.client.read(PARTITION, decode(side.api.response, 2, raw), 2)


def test_fetched_records_are_the_bytes_of_the_log():
    response = m.FetchResponse(epoch=3, leader_id=1, data=RECORDS, high_watermark=7)
    wire = TRANSLATIONS[m.FetchRequest].server.write(PARTITION, response, 18)
    assert wire["responses"][0]["partitions"][0]["records"] == RECORDS
    assert wire["responses"][0]["topicId"] == METADATA_TOPIC_ID
    damaged = bytearray(RECORDS)
    damaged[70] ^= 1
    wire["responses"][0]["partitions"][0]["records"] = bytes(damaged)
    raw = encode(TRANSLATIONS[m.FetchRequest].api.response, 18, wire)
    decoded = decode(TRANSLATIONS[m.FetchRequest].api.response, 18, raw)
    with pytest.raises(CorruptDataError, match="CRC"):
        TRANSLATIONS[m.FetchRequest].client.read(PARTITION, decoded, 18)


def test_the_answers_of_describe_quorum_name_the_voters_endpoints():
    response = m.DescribeQuorumResponse(epoch=3, leader_id=1)
    wire = TRANSLATIONS[m.DescribeQuorumRequest].server.write(PARTITION, response, 2)
    listener = {"name": "CONTROLLER", "host": "h", "port": 9001}
    assert wire["nodes"][0] == {"nodeId": 1, "listeners": [listener]}


def test_a_nodes_range_of_kraft_version_is_read_from_its_features():
    side = TRANSLATIONS[m.ApiVersionsRequest]
    feature = {"name": "kraft.version", "minVersion": 0, "maxVersion": 1}
    told = {"supportedFeatures": [feature]}
    wire = decode(side.api.response, 4, encode(side.api.response, 4, told))
    read = side.client.read(PARTITION, wire, 4)
    assert (read.min_kraft_version, read.max_kraft_version) == (0, 1)
