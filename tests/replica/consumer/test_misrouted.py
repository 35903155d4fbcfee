"""Readers whose connection leads to another node than the one they mean (KIP-1242)."""

import asyncio

import pytest

from replica.consumer.connections import WireConnections
from replica.consumer.values import Fetch, FetchPosition, RefreshMetadata
from replica.errors import MisroutedConnectionError
from replica.model.kafka_errors import ErrorCode
from replica.wire.apis.cluster import API_VERSIONS, METADATA
from replica.wire.client import Connection
from replica.wire.versions import Identity
from tests.replica.consumer.asking import Chosen
from tests.replica.consumer.quorum import CLUSTER_ID, TOPIC
from tests.replica.consumer.quorum import running as quorum_running
from tests.replica.consumer.test_connections import (
    PARTITION,
    VALUES,
    consumer_of,
    end_of,
    fetches,
    read_to,
    run,
)
from tests.replica.node.running import append, leads
from tests.replica.node.running import running as lone_node
from tests.replica.wire.loopback import HOST, SERVED
from tests.replica.wire.loopback import running as server_running


def test_a_reader_reads_nothing_from_the_node_of_another_cluster_in_the_place_of_its_own(tmp_path):
    """Node id, topic name, topic id and port are the same in both clusters. Only the check of the
    cluster id keeps the reader from the other cluster's records."""

    async def test(quorum):
        await quorum.append(*VALUES[:10])
        leader = await quorum.leader()
        gone = next(n for n in quorum.nodes if n != leader)
        async with consumer_of(quorum, Chosen(gone)) as consumer:
            found = await read_to(consumer, await end_of(quorum))
            await quorum.stop(gone)
            (tmp_path / "other").mkdir()
            impostor = lone_node(tmp_path / "other", gone, quorum.ports[gone], **OTHERS)
            async with impostor as other:
                await leads(other)
                await append(other, *[b"of another cluster"] * 50)
                await quorum.append(*VALUES[10:])
                found += await read_to(consumer, await end_of(quorum))
                assert [value for _, value in found] == VALUES
                assert other.dispatch.asked["Fetch"] == 0
        assert fetches(quorum)[leader] > 0

    run(test, tmp_path)


@pytest.mark.parametrize("named", [Identity(CLUSTER_ID, 4), Identity("another", 3)])
def test_a_request_that_names_another_node_is_told_that_another_one_answers(named):
    async def main():
        async with server_running(identity=Identity(CLUSTER_ID, 3)) as server:
            right = await Connection.connect(HOST, server.port, expected=Identity(CLUSTER_ID, 3))
            await right.close()
            with pytest.raises(MisroutedConnectionError, match=f"node {named.node_id} of cluster"):
                await Connection.connect(HOST, server.port, expected=named)

    asyncio.run(main())


def test_an_older_node_is_asked_for_its_versions_only():
    async def main():
        old = {**SERVED, API_VERSIONS.key: range(5)}
        identity = Identity(CLUSTER_ID, 3)
        async with server_running(served=old, identity=identity) as server:
            meant = Identity("another", 9)
            connection = await Connection.connect(HOST, server.port, expected=meant)
            await connection.close()

    asyncio.run(main())


def test_after_a_misrouted_connection_only_the_bootstrap_servers_are_asked_for_metadata(tmp_path):
    async def test(quorum):
        leader = await quorum.leader()
        others = [n for n in quorum.nodes if n != leader]
        kept, gone = others
        connections = WireConnections([(HOST, quorum.ports[kept])], PARTITION)
        try:
            await connections.call(RefreshMetadata())
            await connections.call(_fetch(leader))
            await quorum.stop(gone)
            async with lone_node(tmp_path / "x", gone, quorum.ports[gone], **OTHERS) as other:
                await connections.call(_fetch(gone))
                assert "another node answers" in connections.trouble
                before = _asked_for_metadata(quorum)
                assert (await connections.call(RefreshMetadata())).partition is not None
                after = _asked_for_metadata(quorum)
                assert {n for n in after if after[n] > before[n]} == {kept}
                assert other.dispatch.asked["Metadata"] == 0
        finally:
            await connections.close()

    (tmp_path / "x").mkdir()
    run(test, tmp_path)


def test_metadata_from_a_bootstrap_server_that_is_in_another_cluster_now_is_ignored(tmp_path):
    async def main():
        async with asyncio.timeout(60), quorum_running(tmp_path, voters=1) as quorum:
            await quorum.append(*VALUES)
            connections = WireConnections(quorum.bootstrap, PARTITION)
            try:
                assert (await connections.call(RefreshMetadata())).partition.leader_id == 1
                await quorum.stop(1)
                async with lone_node(tmp_path / "x", 1, quorum.ports[1], **OTHERS) as other:
                    await leads(other)
                    for _ in range(2):  # the first may find the old connection broken
                        found = await connections.call(RefreshMetadata())
                        assert found.partition is None
                    told = f"of cluster {'A' * 22} now, not of {CLUSTER_ID} any more"
                    assert told in connections.trouble
            finally:
                await connections.close()

    (tmp_path / "x").mkdir()
    asyncio.run(main())


OTHERS = {"kraftlake__topic__name": TOPIC}
"""The settings of a node of another cluster, which has the same topic."""


def _fetch(node_id):
    return Fetch(node_id, FetchPosition(0), -1)


def _asked_for_metadata(quorum):
    return {n: node.dispatch.asked["Metadata"] for n, node in quorum.nodes.items()}


def test_metadata_that_says_so_sends_a_reader_to_its_bootstrap_servers(tmp_path):
    """Since version 13, Metadata has an error for the whole answer (KIP-1102)."""
    asked = []

    async def main():
        async def answer(client, request):
            asked.append(request.api.name)
            return {"errorCode": int(ErrorCode.REBOOTSTRAP_REQUIRED), "brokers": [], "topics": []}

        served = {METADATA.key: METADATA.versions}
        async with server_running(answer, served=served) as server:
            connections = WireConnections([(HOST, server.port)], PARTITION)
            found = await connections.call(RefreshMetadata())
            assert found.partition is None
            assert "REBOOTSTRAP_REQUIRED" in connections.trouble
            await connections.close()

    asyncio.run(main())
    assert asked == ["Metadata"]
