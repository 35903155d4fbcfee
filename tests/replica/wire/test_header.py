"""Headers of requests and responses: which version has which, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import DataError, UnsupportedDataError
from replica.wire.apis import APIS
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.apis.fetching import FETCH
from replica.wire.apis.quorum import VOTE
from replica.wire.codec import LARGE_BYTES, encode
from replica.wire.header import (
    UnsupportedVersionError,
    WireRequest,
    correlation_id_of,
    decode_request,
    decode_response,
    encode_request,
    response_pieces,
)
from tests.replica.wire.frames import encode_response


@pytest.mark.parametrize("client_id", [None, "", "replica-1"])
@pytest.mark.parametrize("api", APIS.values(), ids=repr)
def test_a_request_comes_back_in_each_version(api, client_id):
    for version in api.versions:
        frame = encode_request(WireRequest(api, version, 7, client_id, {}))
        read = decode_request(frame)
        assert (read.api, read.version, read.correlation_id) == (api, version, 7)
        assert read.client_id == client_id


def test_the_client_id_keeps_its_old_form_in_flexible_headers():
    body = bytes(encode(VOTE.request, 0, {}))
    frame = encode_request(WireRequest(VOTE, 0, 5, "ab", {}))
    assert frame == b"\x00\x34\x00\x00\x00\x00\x00\x05\x00\x02ab\x00" + body
    old = encode_request(WireRequest(FETCH, 11, 5, None, {}))
    assert old[:10] == b"\x00\x01\x00\x0b\x00\x00\x00\x05\xff\xff"


def test_response_headers_have_tags_where_flexible_but_never_for_api_versions():
    assert encode_response(VOTE, 0, 5, {})[:5] == b"\x00\x00\x00\x05\x00"
    assert encode_response(FETCH, 11, 5, {}) == b"\x00\x00\x00\x05" + bytes(
        encode(FETCH.response, 11, {})
    )
    assert encode_response(API_VERSIONS, 3, 5, {}) == b"\x00\x00\x00\x05" + bytes(
        encode(API_VERSIONS.response, 3, {})
    )


def test_a_refused_version_of_api_versions_is_read_in_version_0():
    answer = {"errorCode": 35, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]}
    frame = encode_response(API_VERSIONS, 0, 9, answer)
    assert correlation_id_of(frame) == 9
    read = decode_response(API_VERSIONS, 4, frame)
    assert (read["errorCode"], read["apiKeys"]) == (35, answer["apiKeys"])


def test_an_answer_in_version_0_without_an_error_is_read_too():
    """So kafka.tools.TestRaftServer answers a version that it does not speak."""
    keys = [{"apiKey": key, "minVersion": 0, "maxVersion": 4} for key in range(40)]
    frame = encode_response(API_VERSIONS, 0, 9, {"apiKeys": keys})
    read = decode_response(API_VERSIONS, 5, frame)
    assert (read["errorCode"], read["apiKeys"]) == (0, keys)
    with pytest.raises(DataError):
        decode_response(API_VERSIONS, 5, frame[:-1])


def test_a_version_that_is_not_served_is_named_with_what_could_be_read():
    frame = encode_request(WireRequest(FETCH, 18, 3, None, {}))
    with pytest.raises(UnsupportedVersionError, match="Fetch v18 is not served") as caught:
        decode_request(frame, {1: range(4, 18)})
    assert (caught.value.api, caught.value.correlation_id) == (FETCH, 3)
    with pytest.raises(UnsupportedDataError, match="API key 1 is not served"):
        decode_request(frame, {52: range(3)})


@pytest.mark.parametrize("version", FETCH.versions)
@given(sizes=st.lists(st.sampled_from((0, 1, LARGE_BYTES - 1, LARGE_BYTES, 3 * LARGE_BYTES))))
def test_large_records_are_sent_from_where_they_are_and_come_back_the_same(version, sizes):
    records = [bytes([number]) * size for number, size in enumerate(sizes)]
    partitions = [
        {"partitionIndex": number, "records": memoryview(data)}
        for number, data in enumerate(records)
    ]
    message = {"responses": [{"topic": "t", "partitions": partitions}]}
    pieces = response_pieces(FETCH, version, 7, message)
    kept = [piece.obj for piece in pieces if isinstance(piece, memoryview)]
    assert all(any(data is obj for obj in kept) for data in records if len(data) >= LARGE_BYTES)
    read = decode_response(FETCH, version, b"".join(pieces))
    found = [each["records"] for topic in read["responses"] for each in topic["partitions"]]
    assert found == records


@given(st.binary(max_size=60))
def test_any_frame_is_a_request_or_an_error_of_ours(frame):
    try:
        decode_request(frame)
    except DataError:
        return


@pytest.mark.parametrize("api", APIS.values(), ids=repr)
@given(frame=st.binary(max_size=60))
def test_any_frame_is_a_response_or_an_error_of_ours(api, frame):
    try:
        correlation_id_of(frame)
        decode_response(api, api.versions[-1], frame)
    except DataError:
        return
