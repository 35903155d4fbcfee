"""Recorders of a quorum of kraftlake voters, over TCP."""

import asyncio

import pytest

from replica.errors import UsageError
from replica.format.discovery import discover
from replica.metadata.writer import encode
from replica.node.observer.directory import make_recording, new_replica
from replica.node.observer.recorder import CommittedRecordsLostError, opened_recorder
from replica.raft.inputs import Clean
from replica.raft.roles.leader import Leader
from replica.storage.filesystem import LocalDisk
from replica.storage.identity import read_identity
from replica.storage.recovery import open_log
from replica.wire.apis.cluster import METADATA
from replica.wire.apis.quorum import VOTE
from replica.wire.client import ClientConfig, Connection
from replica.wire.error_codes import ErrorCode
from tests.replica.consumer.quorum import running as quorum_running
from tests.replica.metadata.image.made import topic
from tests.replica.node.observer.recording import (
    SMALL_SNAPSHOTS,
    leading,
    observation,
    recorded,
    recorder_of,
    segments,
    write_topics,
)
from tests.replica.node.running import free_port

WITHIN_S = 40


def played(story):
    async def main():
        async with asyncio.timeout(WITHIN_S):
            return await story()

    return asyncio.run(main())


def observers(node):
    role = node.driver.host.raft.role
    assert isinstance(role, Leader)
    return {key for key in role.progress if key.node_id != 1}


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


def refusal(tmp_path, **changed):
    """What a recorder of a lone leader is refused with, and what the leader was asked."""

    async def story():
        async with leading(tmp_path) as node:
            with pytest.raises(UsageError) as refused:
                await opened_recorder(observation(tmp_path, node, **changed), [].append)
            return str(refused.value), node.dispatch.asked

    return played(story)


def test_a_voters_id_is_refused_before_any_fetch(tmp_path):
    text, asked = refusal(tmp_path, node_id=1)

    assert text == (
        "node id 1 is a voter's of this quorum: leave --node-id out, or give one that nobody has"
    )
    assert asked["DescribeQuorum"] == 1
    assert asked["Fetch"] == asked["FetchSnapshot"] == 0
    assert not (tmp_path / "recording").exists()


def test_another_observers_id_is_refused_before_any_fetch(tmp_path):
    async def story():
        async with leading(tmp_path) as node:
            wanted = observation(tmp_path, node, node_id=70)
            async with recorder_of(wanted) as recorder:
                await recorded(recorder, 1)
                other = observation(tmp_path, node, node_id=70, folder=str(tmp_path / "other"))
                with pytest.raises(UsageError) as refused:
                    await opened_recorder(other, [].append)
            return str(refused.value), recorder.node.replica

    text, replica = played(story)
    assert "node id 70 is another observer's of this quorum" in text
    assert replica.directory_id in text


def test_a_directory_of_another_cluster_is_refused(tmp_path):
    make_recording(
        LocalDisk(), str(tmp_path / "recording"), new_replica("Lr3UIdBxT-GFPYE5uprmrg", None)
    )
    text, asked = refusal(tmp_path)

    assert "recorded cluster Lr3UIdBxT-GFPYE5uprmrg, these nodes belong to AAAA" in text
    assert asked["Fetch"] == 0


def test_a_cluster_id_that_the_nodes_contradict_is_refused(tmp_path):
    text, _ = refusal(tmp_path, cluster_id="Lr3UIdBxT-GFPYE5uprmrg")

    assert text.startswith("--cluster-id Lr3UIdBxT-GFPYE5uprmrg: these nodes belong to cluster A")


def test_a_directory_of_a_kafka_node_is_refused(tmp_path):
    async def story():
        async with leading(tmp_path) as node:
            wanted = observation(tmp_path, node, folder=str(tmp_path / "node1"))
            with pytest.raises(UsageError) as refused:
                await opened_recorder(wanted, [].append)
            return str(refused.value)

    assert "node1: holds files, but no recording" in played(story)


def test_a_recording_keeps_its_id(tmp_path):
    async def story():
        async with leading(tmp_path) as node:
            async with recorder_of(observation(tmp_path, node, node_id=70)) as recorder:
                await recorded(recorder, 1)
            with pytest.raises(UsageError) as refused:
                await opened_recorder(observation(tmp_path, node, node_id=71), [].append)
            return str(refused.value)

    assert "recorded as node 70" in played(story)


def cut_back(node_folder, end):
    """As if the leader had lost what it never replicated."""
    folder = f"{node_folder}/__cluster_metadata-0"
    log = open_log(LocalDisk(), folder)
    log.truncate_to(end)
    log.close()


def test_what_the_quorum_takes_back_is_truncated_and_archived(tmp_path):
    async def story():
        said, port = [], free_port()
        async with leading(tmp_path, port=port) as node:
            await write_topics(node, 0, 10)
            async with recorder_of(observation(tmp_path, node), said) as recorder:
                await recorded(recorder, node.driver.host.raft.high_watermark)
        cut_back(tmp_path / "node1", 6)
        async with leading(tmp_path, port=port) as node:
            await write_topics(node, 50, 3)
            async with recorder_of(observation(tmp_path, node), said) as recorder:
                await recorded(recorder, node.driver.host.raft.high_watermark)
        return said

    said = played(story)
    assert segments(tmp_path / "recording") == segments(tmp_path / "node1")
    (entry,) = (tmp_path / "recording" / "archive").iterdir()
    assert entry.name == "truncated-6-11-epoch-1"
    assert any("truncated to offset 6: offsets 6 to 10" in line for line in said)
    (found,) = discover([str(entry)])
    (segment,) = found.read().segments
    assert [batch.header.base_offset for batch in segment.scan.batches] == [6, 7, 8, 9, 10]


def test_committed_records_that_the_quorum_lost_end_the_recording_and_are_archived_by_the_next(
    tmp_path,
):
    async def story():
        port = free_port()
        async with leading(tmp_path, port=port) as node:
            await write_topics(node, 0, 10)
            recorder = await opened_recorder(observation(tmp_path, node), [].append)
            task = asyncio.create_task(recorder.run())
            await recorded(recorder, node.driver.host.raft.high_watermark)
        cut_back(tmp_path / "node1", 6)
        async with leading(tmp_path, port=port) as node:
            with pytest.raises(CommittedRecordsLostError) as lost:
                await task
            async with recorder_of(observation(tmp_path, node)) as again:
                await recorded(again, node.driver.host.raft.high_watermark)
        return str(lost.value)

    text = played(story)
    assert "lost records that it had committed, from offset 6 on" in text
    assert segments(tmp_path / "recording") == segments(tmp_path / "node1")
    (entry,) = (tmp_path / "recording" / "archive").iterdir()
    assert entry.name == "truncated-6-11-epoch-1"


def test_a_log_that_the_leader_no_longer_reaches_back_to_is_archived(tmp_path):
    async def story():
        said, port = [], free_port()
        kept = {"metadata__max__retention__bytes": "400", **SMALL_SNAPSHOTS}
        async with leading(tmp_path, port=port) as node:
            await write_topics(node, 0, 10)
            async with recorder_of(observation(tmp_path, node), said) as recorder:
                await recorded(recorder, node.driver.host.raft.high_watermark)
        before = segments(tmp_path / "recording")
        async with leading(tmp_path, port=port, **kept) as node:
            await write_topics(node, 10, 30)
            node.driver.take(Clean(node.driver.host.log.size_bytes))
            assert node.driver.host.log.log_start > recorder.look.log_end
            async with recorder_of(observation(tmp_path, node), said) as recorder:
                await recorded(recorder, node.driver.host.raft.high_watermark)
                start = recorder.node.driver.host.log.log_start
        return said, before, start

    said, before, start = played(story)
    (entry,) = (tmp_path / "recording" / "archive").iterdir()
    assert entry.name.startswith(f"replaced-by-snapshot-{start}-")
    assert segments(entry) == before
    assert any("what was there is kept in" in line for line in said)


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
