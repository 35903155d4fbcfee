"""FetchQuorumRecords of KIP-595's draft, served under a key of the administrator's choice."""

import asyncio

import pytest

from replica.errors import UnsupportedByPeerError
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.node.translate.draft import translation
from replica.raft.messages import FetchQuorumRecordsRequest
from tests.replica.node.running import append, client_of, leads, running
from tests.replica.node.serve.test_serving import values_in

DRAFT = translation(1000)
SERVED = {"kraftlake__fetch__quorum__records__api__key": "1000"}


@pytest.fixture
def served(tmp_path):
    """Runs `story(node, fetch)` on a lone leader; fetch: sends a draft fetch."""

    def run(story, **changed):
        async def main():
            async with asyncio.timeout(30), running(tmp_path, **changed) as node:
                await leads(node)
                async with client_of(node) as client:

                    async def fetch(replica_id, offset, fetch_epoch, *, is_follower=False):
                        request = FetchQuorumRecordsRequest(
                            replica=ReplicaKey(replica_id),
                            epoch=node.driver.host.raft.role.epoch,
                            fetch_offset=offset,
                            fetch_epoch=fetch_epoch,
                            is_follower=is_follower,
                        )
                        message = DRAFT.client.write(None, request, 0)
                        answer = await client.call(DRAFT.api, message)
                        return DRAFT.client.read(None, answer.message, 0)

                    await story(node, fetch)

        asyncio.run(main())

    return run


def test_an_observer_gets_the_records_of_the_log(served):
    async def story(node, fetch):
        await append(node, b"one", b"two")
        raft = node.driver.host.raft
        found = await fetch(9, 0, 0)
        assert (found.error, found.leader_id, found.epoch) == (ErrorCode.NONE, 1, raft.role.epoch)
        assert values_in(found.records) == [b"one", b"two"]
        assert found.high_watermark == raft.high_watermark
        at_end = await fetch(9, raft.log.log_end, raft.role.epoch)
        assert (at_end.error, at_end.records) == (ErrorCode.NONE, b"")

    served(story, **SERVED)


def test_a_draft_fetch_as_follower_by_an_observer_gets_not_follower_and_the_records(served):
    async def story(node, fetch):
        await append(node, b"one")
        found = await fetch(9, 0, 0, is_follower=True)
        assert found.error is ErrorCode.NOT_FOLLOWER
        assert values_in(found.records) == [b"one"]

    served(story, **SERVED)


def test_a_diverging_follower_is_told_where_to_go_on(served):
    async def story(node, fetch):
        end = node.driver.host.raft.log.log_end
        found = await fetch(9, end + 5, node.driver.host.raft.role.epoch)
        assert (found.error, found.records) == (ErrorCode.OFFSET_OUT_OF_RANGE, b"")
        assert found.next_fetch_offset == end

    served(story, **SERVED)


def test_a_stranger_may_not_fetch_under_a_voters_id(served):
    async def story(node, fetch):
        assert (await fetch(9, 0, 0)).error is ErrorCode.NONE
        found = await fetch(1, 0, 0, is_follower=True)
        assert found.error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    served(story, **SERVED, kraftlake__principals__voter="User:voter")


def test_fetch_quorum_records_is_not_served_without_an_api_key(served):
    async def story(node, fetch):
        with pytest.raises(UnsupportedByPeerError):
            await fetch(9, 0, 0)

    served(story)
