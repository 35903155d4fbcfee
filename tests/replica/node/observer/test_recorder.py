"""Recorders of a quorum of kraftlake voters, over TCP."""

import asyncio

from replica.metadata.codec import encode
from replica.model.kafka_errors import ErrorCode
from replica.node.observer.recorder import opened_recorder
from replica.raft.roles import Leader
from replica.storage.filesystem import LocalDisk
from replica.storage.identity import read_identity
from replica.storage.recovery import open_log
from replica.wire.apis.cluster import METADATA
from replica.wire.apis.quorum import VOTE
from replica.wire.client import ClientConfig, Connection
from tests.replica.consumer.quorum import running as quorum_running
from tests.replica.metadata.image.made import topic
from tests.replica.node.observer.recording import (
    SMALL_SNAPSHOTS,
    leading,
    observation,
    played,
    recorded,
    recorder_of,
    segments,
    write_topics,
)
from tests.replica.node.running import free_port

WITHIN_S = 40


def observers(node):
    raft = node.driver.host.raft
    assert isinstance(raft.role, Leader)
    return set(raft.observers)


def test_a_recording_is_the_leaders_log_byte_for_byte(tmp_path):
    async def story():
        said = []
        async with leading(tmp_path) as node:
            await write_topics(node, 0, 10)
            async with recorder_of(observation(tmp_path, node), said) as recorder:
                await write_topics(node, 10, 10)
                await recorded(recorder, node.driver.host.raft.high_watermark)
        return said

    said = played(story)
    log = segments(tmp_path / "recording")
    assert log == segments(tmp_path / "node1")
    assert len(log) > 20 * 61
    assert any("starting from offset 0: the leader has no snapshot" in line for line in said)
    assert any(line.startswith("caught up at offset") for line in said)


def test_a_new_recording_starts_at_the_leaders_newest_snapshot(tmp_path):
    async def story():
        async with leading(tmp_path, **SMALL_SNAPSHOTS) as node:
            await write_topics(node, 0, 10)
            newest = node.driver.host.log.snapshots.newest
            async with recorder_of(observation(tmp_path, node), said) as recorder:
                await recorded(recorder, node.driver.host.raft.high_watermark)
                assert node.driver.host.log.snapshots.newest == newest, "or it is another one"
                assert recorder.node.driver.host.log.log_start == newest.offset
                return newest

    said = []
    newest = played(story)
    name = f"{newest.offset:020d}-{newest.epoch:010d}.checkpoint"
    theirs = tmp_path / "node1" / "__cluster_metadata-0" / name
    ours = tmp_path / "recording" / "__cluster_metadata-0" / name
    assert ours.read_bytes() == theirs.read_bytes()
    assert segments(tmp_path / "node1").endswith(segments(tmp_path / "recording"))
    assert f"starting from snapshot {newest.offset}-{newest.epoch}" in said


def test_the_leader_lists_a_recorder_as_an_observer_with_its_directory(tmp_path):
    async def story():
        async with leading(tmp_path) as node, recorder_of(observation(tmp_path, node)) as recorder:
            await recorded(recorder, 1)
            return observers(node), recorder.node.replica.key

    found, key = played(story)
    assert found == {key}
    assert key.node_id >= 1_000_000_000


def test_an_anonymous_recorder_is_counted_and_listed_by_nobody(tmp_path):
    async def story():
        wanted = observation(tmp_path, is_anonymous=True)
        async with leading(tmp_path) as node:
            await write_topics(node, 0, 3)
            wanted = observation(tmp_path, node, is_anonymous=True)
            async with recorder_of(wanted) as recorder:
                await recorded(recorder, node.driver.host.raft.high_watermark)
            return observers(node)

    assert played(story) == set()
    assert segments(tmp_path / "recording") == segments(tmp_path / "node1")
    assert read_identity(LocalDisk(), str(tmp_path / "recording")).node_id >= 1_000_000_000


def test_a_recording_goes_on_under_the_same_identity_after_a_restart(tmp_path):
    async def story():
        found = []
        async with leading(tmp_path) as node:
            for first in (0, 5):
                await write_topics(node, first, 5)
                async with recorder_of(observation(tmp_path, node)) as recorder:
                    await recorded(recorder, node.driver.host.raft.high_watermark)
                found.append(recorder.node.replica)
        return found

    one, other = played(story)
    assert one == other
    assert segments(tmp_path / "recording") == segments(tmp_path / "node1")


def test_a_recording_goes_on_when_the_quorum_comes_back(tmp_path):
    async def story():
        port = free_port()
        async with leading(tmp_path, port=port) as node:
            await write_topics(node, 0, 3)
            wanted = observation(tmp_path, node)
            recorder = await opened_recorder(wanted, [].append)
            task = asyncio.create_task(recorder.run())
            await recorded(recorder, node.driver.host.raft.high_watermark)
        async with leading(tmp_path, port=port) as node:
            await write_topics(node, 3, 3)
            await recorded(recorder, node.driver.host.raft.high_watermark)
            recorder.stop()
            await task

    played(story)
    assert segments(tmp_path / "recording") == segments(tmp_path / "node1")


def test_a_recording_follows_a_change_of_the_leader(tmp_path):
    async def story():
        async with quorum_running(tmp_path, voters=3, topic_id=None) as quorum:
            await quorum.append(encode(topic("first", f"{1:021}A")))
            wanted = observation(tmp_path, *quorum.bootstrap)
            async with recorder_of(wanted) as recorder:
                await recorded(recorder, 2)
                await quorum.stop(await quorum.leader())
                await quorum.append(encode(topic("second", f"{2:021}A")))
                leader = await quorum.leader()
                await recorded(recorder, quorum.nodes[leader].driver.host.raft.high_watermark)
        return leader

    leader = played(story)
    log = segments(tmp_path / "recording")
    assert b"second" in log
    assert log == segments(tmp_path / str(leader) / "log")


def test_a_recorder_waits_for_a_quorum_that_is_not_there_yet(tmp_path):
    async def story():
        port, said = free_port(), []
        wanted = observation(tmp_path, ("127.0.0.1", port))
        opening = asyncio.create_task(
            opened_recorder(wanted, lambda notice: said.append(notice.text))
        )
        while not said:
            await asyncio.sleep(0.01)
        async with leading(tmp_path, port=port):
            recorder = await opening
            task = asyncio.create_task(recorder.run())
            await recorded(recorder, 1)
            recorder.stop()
            await task
        return said[0]

    assert "no leader of the quorum was found: 127.0.0.1:" in played(story)


def test_a_recorder_serves_readers_as_the_leader_and_nobody_else(tmp_path):
    async def story():
        async with leading(tmp_path) as node:
            await write_topics(node, 0, 5)
            port = free_port()
            wanted = observation(tmp_path, node, is_anonymous=True, listen=("127.0.0.1", port))
            async with recorder_of(wanted) as recorder:
                await recorded(recorder, node.driver.host.raft.high_watermark)
                config = ClientConfig(timeout_s=5.0)
                client = await Connection.connect("127.0.0.1", port, config)
                try:
                    metadata = (await client.call(METADATA, {"topics": None})).message
                    topic = {"topicName": "__cluster_metadata", "partitions": []}
                    vote = (await client.call(VOTE, {"topics": [topic]})).message
                finally:
                    await client.close()
                return metadata, vote, port, recorder.node.replica.node_id

    metadata, vote, port, node_id = played(story)
    (broker,) = metadata["brokers"]
    assert (broker["nodeId"], broker["host"], broker["port"]) == (node_id, "127.0.0.1", port)
    ((partition,),) = (metadata["topics"][0]["partitions"],)
    assert partition["leaderId"] == node_id
    assert vote["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_recorder_that_is_to_catch_up_ends_with_all_of_it_on_disk(tmp_path):
    async def story():
        async with leading(tmp_path) as node:
            await write_topics(node, 0, 10)
            recorder = await opened_recorder(observation(tmp_path, node), [].append)
            await recorder.run(until_caught_up=True)
            return node.driver.host.raft.high_watermark

    end = played(story)
    log = open_log(LocalDisk(), str(tmp_path / "recording" / "__cluster_metadata-0"))
    assert log.log_end == end
    log.close()
