"""FetchQuorumRecords of KIP-595's draft through its bytes and back, and over a connection."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import UsageError
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.node.translate.draft import translation
from replica.node.translate.partition import ReplicatedPartition
from replica.raft.messages import FetchQuorumRecordsRequest, FetchQuorumRecordsResponse
from replica.wire.apis import APIS
from replica.wire.codec import decode, encode
from tests.replica.wire.loopback import SERVED, connected, running

DRAFT = translation(1000)
PARTITION = ReplicatedPartition("__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ")
INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
REQUESTS = st.builds(
    FetchQuorumRecordsRequest,
    **{"replica": st.builds(ReplicaKey, INT32), "epoch": INT32, "fetch_offset": INT64},
    **{"fetch_epoch": INT32, "is_follower": st.booleans(), "max_bytes": st.just(2**31 - 1)},
)
RESPONSES = st.builds(
    FetchQuorumRecordsResponse,
    **{"error": st.sampled_from(ErrorCode), "epoch": INT32, "leader_id": INT32},
    **{"next_fetch_offset": INT64, "next_fetch_epoch": INT32, "records": st.binary(max_size=9)},
    **{"high_watermark": INT64, "first_dirty_offset": INT64, "last_caught_up": INT64},
    leader_endpoints=st.just(()),
)


@given(REQUESTS)
def test_a_request_arrives_as_it_was_sent(sent):
    raw = encode(DRAFT.api.request, 0, DRAFT.client.write(PARTITION, sent, 0))
    assert len(raw) == 4 + 4 + 4 + 8 + 4 + 1
    assert DRAFT.server.read(PARTITION, decode(DRAFT.api.request, 0, raw), 0) == sent


@given(RESPONSES)
def test_a_response_arrives_as_it_was_sent_with_its_own_errors(sent):
    raw = encode(DRAFT.api.response, 0, DRAFT.server.write(PARTITION, sent, 0))
    assert DRAFT.client.read(PARTITION, decode(DRAFT.api.response, 0, raw), 0) == sent


@pytest.mark.parametrize("key", [1, 52, -1, 2**15])
def test_a_used_or_impossible_api_key_is_refused(key):
    with pytest.raises(UsageError, match=f"API key {key} can't be that of FetchQuorumRecords"):
        translation(key)


def test_fetch_quorum_records_is_served_under_the_chosen_api_key():
    sent = FetchQuorumRecordsRequest(
        replica=ReplicaKey(3), epoch=2, fetch_offset=7, fetch_epoch=1, is_follower=True
    )

    async def leader(client, request):
        assert DRAFT.server.read(PARTITION, request.message, 0) == sent
        answer = FetchQuorumRecordsResponse(error=ErrorCode.NOT_FOLLOWER, records=b"still valid")
        return DRAFT.server.write(PARTITION, answer, 0)

    async def main():
        served, apis = {**SERVED, 1000: range(1)}, {**APIS, 1000: DRAFT.api}
        async with running(leader, served=served, apis=apis) as server:
            async with connected(server) as connection:
                asked = DRAFT.client.write(PARTITION, sent, 0)
                answer = await connection.call(DRAFT.api, asked)
            return DRAFT.client.read(PARTITION, answer.message, answer.version)

    answer = asyncio.run(main())
    assert (answer.error, answer.records) == (ErrorCode.NOT_FOLLOWER, b"still valid")
