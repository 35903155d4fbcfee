"""`kraftlake check --partitions` before a broker starts, and what real Kafka makes of the same
folders. The cases are rows of FOLDERS.md."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replica.format.partition_folders import FolderState, partition_of_folder
from replica.format.partition_metadata import FILE_NAME, encode
from replica.message.primitives import uuid_text
from tests.interop.combined_node import combined_node
from tests.interop.kafka_jars import NEWEST, class_path_or_skip
from tests.interop.kafka_node import run_tool
from tests.interop.result_page import FOLDERS, hold
from tests.kraftlake_process import kraftlake

CLUSTER, STARTED = "Lr3UIdBxT-GFPYE5uprmrg", "Kafka Server started"
OTHER_TOPIC = uuid_text(b"another-topic-id")
TOPIC, PARTITIONS = "orders", 3


class Broker:
    """A combined node with two log directories, a and b; the metadata log is in a."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.node, self.bootstrap = combined_node(
            folder, log_dirs=f"{folder / 'a'},{folder / 'b'}", metadata_log_dir=folder / "a"
        )

    @property
    def disks(self) -> tuple[Path, Path]:
        return self.folder / "a", self.folder / "b"

    def partition(self, number: int) -> Path:
        """The folder of a partition, in whichever directory."""
        (found,) = (
            one / f"{TOPIC}-{number}" for one in self.disks if (one / f"{TOPIC}-{number}").exists()
        )
        return found

    def other_disk(self, folder: Path) -> Path:
        first, second = self.disks
        return second if folder.parent == first else first

    def names(self) -> set[str]:
        return {one.name for disk in self.disks for one in disk.iterdir() if one.is_dir()}


def untouched(_: Broker) -> None:
    pass


def another_topic_id(broker: Broker) -> None:
    (broker.partition(0) / FILE_NAME).write_bytes(encode(OTHER_TOPIC))


def no_topic_id(broker: Broker) -> None:
    (broker.partition(1) / FILE_NAME).unlink()


def a_partition_too_many(broker: Broker) -> None:
    one = broker.partition(0)
    shutil.copytree(one, one.with_name(f"{TOPIC}-{PARTITIONS}"))


def a_partition_in_both_directories(broker: Broker) -> None:
    one = broker.partition(2)
    shutil.copytree(one, broker.other_disk(one) / one.name)


def lost_and_found(broker: Broker) -> None:
    (broker.disks[1] / "lost+found").mkdir()


def a_folder_is_gone(broker: Broker) -> None:
    shutil.rmtree(broker.partition(1))


def a_folder_in_the_other_directory(broker: Broker) -> None:
    one = broker.partition(1)
    one.rename(broker.other_disk(one) / one.name)


def a_folder_that_was_put_aside(broker: Broker) -> None:
    one = broker.partition(0)
    shutil.copytree(one, one.with_name(f"{one.name}.{'0' * 32}-stray"))


CASES: tuple[Callable[[Broker], None], ...] = (
    untouched,
    another_topic_id,
    no_topic_id,
    a_partition_too_many,
    a_partition_in_both_directories,
    lost_and_found,
    a_folder_is_gone,
    a_folder_in_the_other_directory,
    a_folder_that_was_put_aside,
)
REFUSALS = {
    "partition-twice": "Duplicate log directories for",
    "foreign-folder": "is not in the form of topic-partition",
}
"""The words in Kafka's log, by the rule that foretells them."""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that ran with a topic, and was stopped in order."""
    class_path_or_skip(NEWEST)
    broker = Broker(tmp_path_factory.mktemp("broker") / "node")
    broker.node.format(CLUSTER)
    try:
        broker.node.start()
        broker.node.wait_for(STARTED)
        create = ("--create", "--topic", TOPIC, "--partitions", PARTITIONS)
        made = run_tool(
            "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", broker.bootstrap, *create
        )
        assert made.returncode == 0, made.stdout + made.stderr
        broker.node.stop()
        yield broker
    finally:
        broker.node.kill()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_broker_does_with_its_folders_what_check_says(
    case: Callable[[Broker], None], stopped: Broker, tmp_path: Path
) -> None:
    broker = Broker(tmp_path / "node")
    for disk, saved in zip(broker.disks, stopped.disks, strict=True):
        shutil.copytree(saved, disk)
    case(broker)
    said = _said(broker)
    before = broker.names()
    did = _what_kafka_does(broker, before)
    hold(FOLDERS, (case.__name__.replace("_", " "),), (", ".join(said) or "no finding", did))
    foretold = [words for rule, words in REFUSALS.items() if rule in said]
    assert ("refuses" in did) == bool(foretold)
    assert all(words in did for words in foretold)
    is_put_aside = bool({"stray-partition", "partition-without-topic-id"} & {*said})
    assert ("put aside" in did) == is_put_aside


def _said(broker: Broker) -> list[str]:
    """The rules about folders that check reports."""
    ran = kraftlake("check", "--partitions", "--json", *map(str, broker.disks))
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    about_folders = (*REFUSALS, "stray-partition", "partition-without-topic-id")
    others = ("replica-without-folder", "replica-in-another-directory")
    return [row["rule"] for row in rows if row.get("rule") in (*about_folders, *others)]


def _what_kafka_does(broker: Broker, before: set[str]) -> str:
    """What becomes of the folders, or why it doesn't start."""
    try:
        broker.node.start()
        try:
            broker.node.wait_for(STARTED)
        except AssertionError:
            log = broker.node.log
            return f"refuses: {next(words for words in REFUSALS.values() if words in log)}"
        broker.node.stop()
    finally:
        broker.node.kill()
    new = broker.names() - before
    aside = sorted(name.partition(".")[0] for name in new if _is_stray(name))
    made = sorted(name for name in new if not _is_stray(name))
    told = [f"put aside: {name}" for name in aside] + [f"made: {name}" for name in made]
    return f"starts; {', '.join(told)}" if told else "starts"


def _is_stray(name: str) -> bool:
    parsed = partition_of_folder(name)
    return parsed is not None and parsed[2] is FolderState.STRAY
