"""Frames that real Kafka 4.4.0 controllers sent (tests/interop/wire_recording.py) come back to the
byte, and mean to the core what Kafka meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.model.keys import METADATA_TOPIC, METADATA_TOPIC_ID, ReplicaKey
from replica.node.rpcs import TRANSLATIONS
from replica.node.translate.partition import ReplicatedPartition
from replica.raft import messages as m
from replica.wire.apis import APIS
from replica.wire.header import (
    correlation_id_of,
    decode_request,
    decode_response,
    encode_request,
)
from tests.replica.wire.frames import encode_response

GOLDEN = Path(__file__).parents[2] / "golden" / "wire.jsonl"
FRAMES = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
PARTITION = ReplicatedPartition(METADATA_TOPIC, METADATA_TOPIC_ID)
BY_NAME = {api.name: api for api in APIS.values()}


def named(frame):
    return f"{frame['api']}-v{frame['version']}-{frame['side']}-{len(frame['hex']) // 2}"


def side_of(name, side):
    return [frame for frame in FRAMES if (frame["api"], frame["side"]) == (name, side)]


@pytest.mark.parametrize("frame", FRAMES, ids=named)
def test_a_frame_comes_back_to_the_byte(frame):
    raw, api, version = bytes.fromhex(frame["hex"]), BY_NAME[frame["api"]], frame["version"]
    if frame["side"] == "request":
        request = decode_request(raw)
        assert (request.api, request.version) == (api, version)
        assert encode_request(request) == raw
    else:
        message = decode_response(api, version, raw)
        assert encode_response(api, version, correlation_id_of(raw), message) == raw


def test_every_request_of_a_quorum_is_there_in_every_version():
    there = {(f["api"], f["version"], f["side"]) for f in FRAMES}
    for translation in TRANSLATIONS.values():
        for version in translation.versions:
            assert (translation.api.name, version, "request") in there
            assert (translation.api.name, version, "response") in there


OF_KAFKA = ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot")


@pytest.mark.parametrize(
    "frame", [f for name in OF_KAFKA for f in side_of(name, "request")], ids=named
)
def test_a_request_says_the_same_after_the_core_has_read_it(frame):
    request = decode_request(bytes.fromhex(frame["hex"]))
    translation = next(t for t in TRANSLATIONS.values() if t.api is request.api)
    read = translation.server.read(PARTITION, request.message, request.version)
    said = translation.client.write(PARTITION, read, request.version)
    again = type(request)(
        request.api, request.version, request.correlation_id, request.client_id, said
    )
    assert encode_request(again) == bytes.fromhex(frame["hex"])


def kafkas(kind, side):
    """What Kafka's own client said or heard in the newest version, read for the core."""
    translation = TRANSLATIONS[kind]
    newest = translation.api.versions[-1]
    for frame in side_of(translation.api.name, side):
        if frame["version"] != newest:
            continue
        raw = bytes.fromhex(frame["hex"])
        if side == "response":
            message = decode_response(translation.api, newest, raw)
            yield translation.client.read(PARTITION, message, newest)
        else:
            yield translation.server.read(PARTITION, decode_request(raw).message, newest)


def test_a_fetch_of_kafka_names_the_replica_and_what_it_knows():
    fetches = [f for f in kafkas(m.FetchRequest, "request") if f.replica.node_id > 0]
    assert fetches
    for fetch in fetches:
        directory = f"kraftlake-golden-dir{fetch.replica.node_id}A"
        assert fetch.replica == ReplicaKey(fetch.replica.node_id, directory)
        assert fetch.cluster_id == "kraftlake-wire-golden0"
        assert fetch.max_wait_ms == 500
        assert fetch.high_watermark is not None
        assert fetch.max_bytes > 0


def test_an_answer_of_kafka_brings_the_batches_of_its_log():
    answers = [a for a in kafkas(m.FetchRequest, "response") if a.error is ErrorCode.NONE]
    batches = [batch for answer in answers for batch in answer.batches]
    assert batches
    assert all(batch.data and batch.last_offset >= batch.base_offset for batch in batches)
    assert {answer.leader_id for answer in answers} <= {1, 2, 3}


def test_a_snapshot_of_kafka_comes_in_slices():
    slices = [a for a in kafkas(m.FetchSnapshotRequest, "response") if a.error is ErrorCode.NONE]
    assert slices
    for part in slices:
        assert part.snapshot_id.offset > 0
        assert part.size >= part.position + len(part.data) > 0


def test_pre_votes_and_votes_of_kafka_are_told_apart():
    votes = [vote for vote in kafkas(m.VoteRequest, "request") if vote.candidate.node_id < 9]
    assert votes
    for vote in votes:
        assert vote.voter.directory_id == f"kraftlake-golden-dir{vote.voter.node_id}A"
        assert vote.candidate.node_id != vote.voter.node_id
    assert {answer.epoch >= 0 for answer in kafkas(m.VoteRequest, "response")} == {True}


def test_kafka_supports_kraft_version_0_and_1():
    said = kafkas(m.ApiVersionsRequest, "response")
    answers = [answer for answer in said if answer.error is ErrorCode.NONE]
    assert {(a.min_kraft_version, a.max_kraft_version) for a in answers} == {(0, 1)}


def test_a_controller_of_kafka_that_joins_asks_to_be_answered_before_the_commit():
    asked = [decode_request(bytes.fromhex(f["hex"])) for f in side_of("AddRaftVoter", "request")]
    (joined,) = [request for request in asked if request.client_id == "raft-client-4"]
    assert joined.version == 1
    assert joined.message["ackWhenCommitted"] is False


def test_an_api_versions_request_of_kafka_names_cluster_and_node_from_version_5_on():
    asked = [decode_request(bytes.fromhex(f["hex"])) for f in side_of("ApiVersions", "request")]
    named = {(r.version, r.message["clusterId"], r.message["nodeId"]) for r in asked}
    assert named == {(version, None, -1) for version in range(6)} | {
        (5, "kraftlake-wire-golden0", 3)
    }


def test_kafka_tells_a_misrouted_client_so_in_the_version_that_it_asked_in():
    frames = [f for f in side_of("ApiVersions", "response") if f["version"] == 5]
    codes = [decode_response(BY_NAME["ApiVersions"], 5, bytes.fromhex(f["hex"])) for f in frames]
    assert {c["errorCode"] for c in codes} == {0, ErrorCode.REBOOTSTRAP_REQUIRED}
