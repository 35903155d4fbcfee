"""What a recorder refuses before it fetches anything."""

import pytest

from replica.errors import UsageError
from replica.node.observer.recorder import make_recording, new_replica, opened_recorder
from replica.storage.filesystem import LocalDisk
from tests.replica.node.observer.recording import (
    leading,
    observation,
    played,
    recorded,
    recorder_of,
)


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
