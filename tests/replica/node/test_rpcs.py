"""The table of RPCs: every API that is declared has a row, and every row is whole."""

from __future__ import annotations

import asyncio

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.node.rpcs import READER_FETCH, RPCS, TRANSLATIONS, draft_rpc
from replica.raft.messages import RESPONSE_OF, ApiVersionsRequest, FetchQuorumRecordsRequest
from replica.wire.apis import APIS
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.apis.sasl import SASL_AUTHENTICATE, SASL_HANDSHAKE
from replica.wire.codec import decode, encode
from replica.wire.header import WireRequest
from tests.replica.node.running import TOPIC, TOPIC_ID, running

BY_THE_SERVER = {API_VERSIONS.key, SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key}
ROWS = (*RPCS.values(), READER_FETCH, draft_rpc(1000))
every_row = pytest.mark.parametrize("rpc", ROWS, ids=str)


def test_every_api_has_a_row_but_those_that_the_wires_server_answers():
    assert set(RPCS) == set(APIS) - BY_THE_SERVER
    assert all(rpc.api is APIS[key] for key, rpc in RPCS.items())


def test_every_request_of_the_core_has_a_translation():
    assert set(TRANSLATIONS) == set(RESPONSE_OF) - {FetchQuorumRecordsRequest}
    served = {kind for kind, each in TRANSLATIONS.items() if each.server is not None}
    assert served == set(TRANSLATIONS) - {ApiVersionsRequest}


@every_row
def test_a_row_of_an_rpc_names_who_may_send_it(rpc):
    assert rpc.callers.roles or rpc.callers.speaks_for is not None


@every_row
def test_a_refusal_can_be_told_in_every_version_that_is_served(rpc, tmp_path):
    async def main():
        async with asyncio.timeout(30), running(tmp_path) as node:
            for version in rpc.api.versions:
                message = asked(rpc, version)
                request = WireRequest(rpc.api, version, 1, None, message)
                error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
                refused = rpc.refusal(node.partition, request, error)
                raw = encode(rpc.api.response, version, refused)
                assert error in codes(decode(rpc.api.response, version, raw)) or codes(refused) == {
                    ErrorCode.TOPIC_AUTHORIZATION_FAILED
                }

    asyncio.run(main())


def asked(rpc, version):
    """A request of this version about one partition, or one resource, as a client decodes it."""
    message = {}
    for field in rpc.api.request.fields:
        if field.is_array and field.fields and field.name in ("topics", "topicData", "resources"):
            message[field.name] = [element(field)]
    return decode(rpc.api.request, version, encode(rpc.api.request, version, message))


def element(field):
    found = {}
    for inner in field.fields:
        if inner.name in ("topic", "name", "topicName", "resourceName"):
            found[inner.name] = TOPIC
        elif inner.name == "topicId":
            found[inner.name] = TOPIC_ID
        elif inner.is_array and inner.fields:
            found[inner.name] = [{}]
    return found


def codes(message):
    """All error codes of a message but NONE."""
    found = {message["errorCode"]} if message.get("errorCode") else set()
    for value in message.values():
        for each in value if isinstance(value, list) else ():
            found |= codes(each) if isinstance(each, dict) else set()
    return found
