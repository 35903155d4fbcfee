"""`kraftlake recover --plan` for nodes that are brokers, too: no step forgets what else is on the
disk that it empties."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from jobs.cli.directories.recover_fixed_steps import kept_replicas, lost_replicas
from replica.doctor.health.hosted import HostedReplica
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.simulate.metadata_records import register_broker
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Ended, Kraftlake
from tests.replica.doctor.check.editing import append, metadata, segment
from tests.replica.doctor.health.clusters import directory_of
from tests.replica.doctor.timeline.test_events import metadata_of_version
from tests.replica.metadata.image.made import TOPIC

DYNAMIC, STATIC = "kafka-4.1.1-dynamic/final", "kafka-3.7.2-static/final"
ONE = "w1rJ2UULXXXZu6RS0Vk1kg"
"""The directory of voter 1 in the dynamic quorum."""


def combined(node: Path, first: int, *directories: str) -> None:
    """Add to the newest log that node 1 is a broker, with a replica in each of these directories.
    Broker 11 has the first one in sync, too. first: the first offset of the log's last segment."""
    log = segment(node, first)
    fields = {"brokerId": 1, "brokerEpoch": 5000, "fenced": False, "logDirs": directories}
    append(log, metadata_of_version("REGISTER_BROKER_RECORD", 3, fields))
    append(log, metadata("TOPIC_RECORD", name="moved", topicId=TOPIC))
    for number, directory in enumerate(directories):
        brokers = (1, 11) if number == 0 else (1,)
        usual = {"partitionId": number, "topicId": TOPIC, "leader": 1}
        more = {"replicas": brokers, "isr": brokers, "directories": (directory, ONE)}
        more["directories"] = more["directories"][: len(brokers)]
        append(log, metadata_of_version("PARTITION_RECORD", 1, {**usual, **more}))


def step_about(ended: Ended, what: str) -> str:
    (line,) = [one for one in ended.lines if what in one and one.lstrip()[:1].isdigit()]
    return line


def nodes(data: Path, folder: Path, recording: str, *wanted: str) -> Path:
    for node in wanted:
        shutil.copytree(data / recording / node, folder / node)
    return folder


def test_a_lost_disk_of_a_broker_names_the_replicas_that_are_gone_with_it(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    folder = nodes(data, tmp_path, DYNAMIC, "2", "3")
    combined(folder / "3", 2722, ONE, ONE, directory_of(99))
    ended = kraftlake("recover", "--plan", folder)
    assert step_about(ended, "Only if the disk of node 1 is gone").endswith(
        " Node 1 is a broker, too. Gone with this disk: 2 partition replicas (moved-0 and "
        "moved-1). No other broker has moved-1 in sync. In its other log.dirs, and kept: 1 "
        "partition replica."
    )
    formats = [one for one in ended.lines if "kafka-storage.sh format" in one]
    assert formats
    assert all(" --ignore-formatted " in one for one in formats)
    assert all(" config/server.properties " in one for one in formats)


def test_an_old_disk_of_a_broker_is_emptied_of_the_metadata_alone(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    folder = nodes(data, tmp_path, DYNAMIC, "2", "3")
    nodes(data, folder, "kafka-4.1.1-dynamic/live", "1")
    combined(folder / "3", 2722, ONE, directory_of(99))
    ended = kraftlake("recover", "--plan", folder)
    assert step_about(ended, "ake node 1 out of the voters").endswith(
        " Node 1 is a broker, too. Move away only its folder __cluster_metadata-0, so that it "
        "keeps its 2 partition replicas. Beside this folder: 1 partition replica (moved-0). In its "
        "other log.dirs, and kept: 1 partition replica."
    )


def test_of_a_static_voter_nobody_knows_which_replicas_share_the_disk(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    folder = nodes(data, tmp_path, STATIC, "2", "3")
    last = max(int(one.stem) for one in (folder / "3/__cluster_metadata-0").glob("*.log"))
    combined(folder / "3", last, directory_of(98), directory_of(99))
    ended = kraftlake("recover", "--plan", folder)
    assert step_about(ended, "Only if the disk of node 1 is gone").endswith(
        " Perhaps gone with this disk: 2 partition replicas (moved-0 and moved-1). No other broker "
        "has moved-1 in sync."
    )


@pytest.mark.parametrize(
    ("brokers", "file"),
    [
        ((1, 2, 3), "config/server.properties"),
        ((), "config/controller.properties"),
        ((2, 3), "config/controller.properties"),
    ],
)
def test_addresses_of_static_voters_are_read_from_the_file_of_the_node_on_which_the_tool_runs(
    kraftlake: Kraftlake, tmp_path: Path, brokers: tuple[int, ...], file: str
) -> None:
    quorum = ScriptedQuorum("static", Layout(voters=3, observers=1, is_static=True))
    quorum.begin("orders")
    for broker_id in brokers:
        quorum.append(1, register_broker(broker_id, 100 + broker_id))
    quorum.settle()
    write_capture(quorum.capture(), str(tmp_path / "nodes"))
    ended = kraftlake("recover", "--plan", tmp_path / "nodes" / "1", tmp_path / "nodes" / "2")
    (described,) = [one.strip() for one in ended.lines if "describe --replication" in one]
    assert described == (
        'bin/kafka-metadata-quorum.sh --bootstrap-controller "$(sed -n '
        f"'s/^controller.quorum.voters=//p' {file} | sed 's/[0-9]*@//g')\" describe --replication"
        "  # on node 1"
    )
    assert "commands with bin/ or config/ run in the folder of a node's Kafka" in ended.out


def test_nothing_is_said_of_brokers_where_the_voter_is_none(
    kraftlake: Kraftlake, data: Path, tmp_path: Path
) -> None:
    folder = nodes(data, tmp_path, DYNAMIC, "2", "3")
    ended = kraftlake("recover", "--plan", folder)
    assert "is a broker, too" not in ended.out
    assert "--ignore-formatted" not in ended.out


@pytest.mark.parametrize("voter", [ReplicaKey(7, "d"), ReplicaKey(7, ZERO_UUID)])
def test_a_broker_without_replicas_is_named_too(voter: ReplicaKey) -> None:
    assert kept_replicas(voter, ()).endswith(": no partition has a replica on it now.")
    assert lost_replicas(voter, ()).endswith(" is a broker, too. No partition has a replica on it.")


def test_a_replica_without_a_named_directory_is_perhaps_there() -> None:
    voter = ReplicaKey(7, "d")
    held = (HostedReplica("a-0", None, False), HostedReplica("b-0", "d", True))
    assert kept_replicas(voter, held).endswith(
        "Beside this folder: 1 partition replica (b-0). No other broker has b-0 in sync. Perhaps "
        "beside this folder: 1 partition replica (a-0)."
    )
