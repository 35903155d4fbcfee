"""A broker with two disks that died with the one that has its metadata log: no answer lets it start
with an empty disk in that place, before the partitions on it have another leader."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import pytest

from replica.message.schema import Value
from replica.simulate.metadata_records import (
    create_topic,
    record,
    register_broker,
    topic_id_of,
    uuid_of,
)
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake

DEAD, WHOLE, OF_5 = uuid_of("disk 1 of 4"), uuid_of("disk 2 of 4"), uuid_of("the disk of 5")
NOT_BEFORE = (
    f"Do not start broker 4 while one of its 2 log directories is missing or empty: directory "
    f"{DEAD} (solo-0) was not given, and with an empty one in its place broker 4 may lead solo-0 "
    "without any record."
)
IF_LOST = (
    "If that directory is lost, elect solo-0 uncleanly on broker 5 while broker 4 is down (records "
    "that only broker 4 had are lost). Elect solo-1 not so: broker 4 has the newest copy in a log "
    "directory that was given."
)
COMMANDS = (
    ("check",), ("what-happened",), ("recover", "--plan"), ("state", "--exposure"),
    ("plan", "--stop-broker", "5"), ("plan", "--roll"),
)  # fmt: skip


def died_with_a_disk(folder: Path) -> Path:
    """The directories of three controllers and of brokers 4 and 5. Broker 4 was fenced while it
    alone was in sync; solo-0 lies on its disk 1, solo-1 on its disk 2. Only disk 2 is here."""
    quorum = ScriptedQuorum("half of the disks", Layout(voters=3, observers=3))
    quorum.begin()
    epochs = {}
    for broker, directories in ((4, (DEAD, WHOLE)), (5, (OF_5,))):
        epochs[broker] = quorum.log_end(1)
        (made,) = register_broker(broker, epochs[broker])
        fields = {**made.fields, "logDirs": directories}
        quorum.commit(1, (record(made.type, 3, **fields),))
        change: dict[str, Value] = {"brokerId": broker, "brokerEpoch": epochs[broker], "fenced": -1}
        quorum.commit(1, (record("BROKER_REGISTRATION_CHANGE_RECORD", 2, **change),))
    *topic, first, second = create_topic("solo", (4, 5))
    quorum.commit(1, (*topic,))
    for one, directory in zip((first, second), (DEAD, WHOLE), strict=True):
        fields = {**one.fields, "replicas": (4, 5), "isr": (4,), "leader": 4}
        quorum.commit(1, (record(one.type, 2, **{**fields, "directories": (directory, OF_5)}),))
    quorum.run_ms(20_000)
    for number in range(2):
        key: dict[str, Value] = {"partitionId": number, "topicId": topic_id_of("solo")}
        quorum.commit(1, (record("PARTITION_CHANGE_RECORD", 2, **key, leader=-1),))
    change = {"brokerId": 4, "brokerEpoch": epochs[4], "fenced": 1}
    quorum.commit(1, (record("BROKER_REGISTRATION_CHANGE_RECORD", 2, **change),))
    quorum.settle()
    write_capture(quorum.capture(), str(folder))
    return folder


def keep_only(directory: str, folder: Path, broker: int) -> None:
    """Leaves only this log directory of the broker, without a metadata log, as disk2."""
    own = folder / str(broker) / "meta.properties"
    lines = [one for one in own.read_text().splitlines() if not one.startswith("directory.id=")]
    rmtree(own.parent)
    (folder / "disk2").mkdir()
    text = "\n".join([*lines, f"directory.id={directory}", ""])
    (folder / "disk2/meta.properties").write_text(text)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = died_with_a_disk(tmp_path_factory.mktemp("half") / "nodes")
    keep_only(WHOLE, folder, 4)
    return folder


def given(nodes: Path, *, with_disk: bool = True) -> list[Path]:
    return [nodes / one for one in ("1", "2", "3", "5", *["disk2"] * with_disk)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_starts_the_broker_without_the_directory_that_was_not_given(
    kraftlake: Kraftlake, nodes: Path, command: tuple[str, ...]
) -> None:
    lines = kraftlake(*command, *given(nodes)).lines[:10]
    step = f"First copy the log directories of brokers 4 and 5. {NOT_BEFORE} {IF_LOST} "
    assert any(step in one and "Run no other unclean election before" in one for one in lines)
    for line in lines:
        for start in ("hen start broker 4", "hen start node 4", "Start broker 4"):
            assert start not in line or NOT_BEFORE in line.split(start)[0]


def test_the_recovery_s_own_step_has_the_condition(kraftlake: Kraftlake, nodes: Path) -> None:
    lines = kraftlake("recover", "--plan", *given(nodes)).lines
    assert any(f"Once there is a leader: {NOT_BEFORE} {IF_LOST} " in one for one in lines)
    (copied,) = (at for at, one in enumerate(lines) if " Copy the log directories of" in one)
    assert "Don't start broker 4 before." in lines[copied]
    assert "# on broker 4" in lines[copied + 1]
    assert "# on broker 5" in lines[copied + 3]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_broker_of_which_nothing_was_given_starts_only_with_all_its_disks(
    kraftlake: Kraftlake, nodes: Path, command: tuple[str, ...]
) -> None:
    lines = kraftlake(*command, *given(nodes, with_disk=False)).lines[:10]
    condition = "ake sure that broker 4 has all of its 2 log directories: with a new, empty one"
    assert any(condition in one for one in lines)
    for line in lines:
        if "start broker 4" in line or "start node 4" in line:
            assert condition in line


def test_the_directory_that_was_not_given_is_named(kraftlake: Kraftlake, nodes: Path) -> None:
    for command in ("check", "what-happened"):
        told = [one.strip() for one in kraftlake(command, *given(nodes)).lines]
        assert f"not given: directory {DEAD} of broker 4, so it was not judged" in told
        told = [one.strip() for one in kraftlake(command, *given(nodes, with_disk=False)).lines]
        assert any(one.startswith("not given: the director") and "4" in one for one in told)
