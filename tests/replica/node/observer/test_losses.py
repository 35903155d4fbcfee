"""What a recording keeps of what its quorum takes back, replaces or drops."""

import asyncio

import pytest

from replica.format.discovery import discover
from replica.node.observer.recorder import CommittedRecordsLostError, opened_recorder
from replica.raft.inputs import Clean
from replica.storage.filesystem import LocalDisk
from replica.storage.recovery import open_log
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


def cut_back(node_folder, end):
    """As if the leader had lost what it never replicated."""
    folder = f"{node_folder}/__cluster_metadata-0"
    log = open_log(LocalDisk(), folder)
    log.truncate_to(end)
    log.close()


def test_an_observer_truncates_as_the_quorum_does_and_archives_the_records(tmp_path):
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
    directory = found.read()
    (segment,) = directory.segments
    assert directory.is_fragment
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
            assert node.driver.host.log.log_start > recorder.state.log_end
            async with recorder_of(observation(tmp_path, node), said) as recorder:
                await recorded(recorder, node.driver.host.raft.high_watermark)
                start = recorder.node.driver.host.log.log_start
        return said, before, start

    said, before, start = played(story)
    (entry,) = (tmp_path / "recording" / "archive").iterdir()
    assert entry.name.startswith(f"replaced-by-snapshot-{start}-")
    assert segments(entry) == before
    assert any("what was there is kept in" in line for line in said)


def test_a_recording_keeps_what_the_leaders_retention_drops(tmp_path):
    async def story():
        kept = {"metadata__max__retention__bytes": "400", **SMALL_SNAPSHOTS}
        async with leading(tmp_path, **kept) as node:
            async with recorder_of(observation(tmp_path, node)) as recorder:
                await recorded(recorder, 1)
                await write_topics(node, 0, 30)
                await recorded(recorder, node.driver.host.raft.high_watermark)
                for driver in (node.driver, recorder.node.driver):
                    driver.take(Clean(driver.host.log.size_bytes))
            return node.driver.host.log.log_start, recorder.node.driver.host.log.log_start

    theirs, ours = played(story)
    assert theirs > 0
    assert ours == 0
    log = segments(tmp_path / "recording")
    assert all(b"topic-%d" % number in log for number in range(30))
