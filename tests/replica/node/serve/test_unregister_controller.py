"""UnregisterController, answered as Kafka 4.4's controller does (ClusterControlManager)."""

import asyncio
import re

import pytest

from replica.format.batch import decode_header
from replica.format.record import records_of
from replica.metadata.codec import decode, encode
from replica.metadata.record import new_record
from replica.model.kafka_errors import ErrorCode
from replica.wire.apis.membership import UNREGISTER_CONTROLLER
from tests.replica.node.running import append, caught_up, client_of, leads, running

ADMINISTRATOR = {"kraftlake__principals__administrator": "*"}
METADATA = {"kraftlake__topic__name": None, "kraftlake__topic__id": None}
UNREGISTERS, TOO_OLD = 33, 32
"""Levels of metadata.version: 4.4-IV2 and the one before."""


def level(metadata_version):
    fields = {"name": "metadata.version", "featureLevel": metadata_version}
    return encode(new_record("FEATURE_LEVEL_RECORD", 0, fields))


def registered(controller_id):
    fields = {"controllerId": controller_id, "incarnationId": "B" * 21 + "A"}
    return encode(new_record("REGISTER_CONTROLLER_RECORD", 0, fields))


async def unregister(node, controller_id):
    async with client_of(node) as client:
        answer = await client.call(UNREGISTER_CONTROLLER, {"controllerId": controller_id}, 0)
        return answer.message


def controllers(node):
    return set(node.driver.host.machine.image.tables["controllers"].values)


@pytest.fixture
def lone(tmp_path):
    """Runs `story(node)` on a lone leader of a metadata log, whose administrator is everybody."""

    def run(story, **changed):
        async def main():
            settings = {**METADATA, **ADMINISTRATOR, **changed}
            async with asyncio.timeout(120), running(tmp_path, **settings) as node:
                await leads(node)
                await story(node)

        asyncio.run(main())

    return run


def test_a_registered_controller_is_unregistered_once_that_is_committed(lone):
    async def story(node):
        await append(node, level(UNREGISTERS), registered(7), registered(8))
        before = node.driver.host.log.log_end
        answer = await unregister(node, 7)
        assert (answer["errorCode"], answer["errorMessage"]) == (0, None)
        assert controllers(node) == {8}
        (batch,) = node.driver.host.log.batches(before, before + 1)
        assert node.driver.host.raft.high_watermark == node.driver.host.log.log_end == before + 1
        (appended,) = records_of(decode_header(batch.data), batch.data)
        record = decode(appended.value)
        assert (record.type, record.fields) == ("UNREGISTER_CONTROLLER_RECORD", {"controllerId": 7})

    lone(story)


def test_the_second_of_two_simultaneous_unregistrations_finds_the_controller_gone(lone):
    """A second record would stop Kafka's controllers, which know no registration to remove."""

    async def story(node):
        await append(node, level(UNREGISTERS), registered(7))
        before = node.driver.host.log.log_end
        answers = await asyncio.gather(*(unregister(node, 7) for _ in range(5)))
        codes = sorted(answer["errorCode"] for answer in answers)
        assert codes == [0, *[ErrorCode.CONTROLLER_ID_NOT_REGISTERED] * 4]
        assert node.driver.host.log.log_end == before + 1

    lone(story)


@pytest.mark.parametrize(
    ("records", "controller_id", "error", "why"),
    [
        (
            (level(UNREGISTERS),),
            7,
            "CONTROLLER_ID_NOT_REGISTERED",
            "controller 7 is not registered",
        ),
        ((level(UNREGISTERS),), -1, "CONTROLLER_ID_NOT_REGISTERED", "controller -1 is not"),
        ((level(TOO_OLD), registered(7)), 7, "UNSUPPORTED_VERSION", "is 4.4-IV1.* needs 4.4-IV2"),
        ((registered(7),), 7, "UNSUPPORTED_VERSION", "metadata.version is not set"),
        ((level(UNREGISTERS), registered(1)), 1, "INVALID_REQUEST", "node 1 leads"),
        ((level(TOO_OLD),), 1, "INVALID_REQUEST", "node 1 leads"),
    ],
)
def test_an_unregistration_that_kafka_refuses_is_refused_and_nothing_is_appended(
    lone, records, controller_id, error, why
):
    async def story(node):
        await append(node, *records)
        before = node.driver.host.log.log_end
        answer = await unregister(node, controller_id)
        assert answer["errorCode"] == ErrorCode[error]
        assert re.search(why, answer["errorMessage"])
        assert node.driver.host.log.log_end == before

    lone(story)


def test_a_transaction_that_is_open_is_waited_for_by_the_client(lone):
    """A record within it would go with it where it is aborted (KIP-868)."""

    async def story(node):
        begin = encode(new_record("BEGIN_TRANSACTION_RECORD", 0, {}))
        await append(node, level(UNREGISTERS), registered(7))
        await append(node, begin)
        answer = await unregister(node, 7)
        assert answer["errorCode"] == ErrorCode.REQUEST_TIMED_OUT
        await append(node, encode(new_record("END_TRANSACTION_RECORD", 0, {})))
        assert (await unregister(node, 7))["errorCode"] == 0

    lone(story)


def test_another_log_has_no_controllers(lone):
    async def story(node):
        answer = await unregister(node, 7)
        assert answer["errorCode"] == ErrorCode.INVALID_REQUEST
        assert "orders" in answer["errorMessage"]

    lone(story, kraftlake__topic__name="orders", kraftlake__topic__id="AAAAAAAAAAAAAAAAAAAAAg")


def test_only_an_administrator_unregisters_a_controller(lone):
    async def story(node):
        await append(node, level(UNREGISTERS), registered(7))
        answer = await unregister(node, 7)
        assert answer["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert controllers(node) == {7}

    lone(story, kraftlake__principals__administrator="")


def test_a_follower_sends_the_request_on_to_its_leader(in_quorum):
    async def story(leader, followers):
        await append(leader, level(UNREGISTERS), registered(7))
        await caught_up(leader, followers)
        assert (await unregister(followers[0], 7))["errorCode"] == 0
        assert controllers(leader) == set()

    in_quorum(story, **METADATA, **ADMINISTRATOR)


def test_a_replica_without_a_leader_says_that_no_controller_is_active(tmp_path):
    async def main():
        voters = "1@127.0.0.1:1,2@127.0.0.1:2,3@127.0.0.1:3"
        settings = {**METADATA, **ADMINISTRATOR, "controller__quorum__voters": voters}
        async with asyncio.timeout(60), running(tmp_path, **settings) as node:
            answer = await unregister(node, 7)
            assert answer["errorCode"] == ErrorCode.NOT_CONTROLLER

    asyncio.run(main())
