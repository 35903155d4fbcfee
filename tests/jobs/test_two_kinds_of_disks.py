"""One cluster with an emptied broker and with a broker of which one disk is missing: no answer
starts the second one without that disk, or any broker beside the first one."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.message.schema import Value
from replica.simulate.metadata_records import create_topic, record, register_broker, topic_id_of
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.jobs.conftest import Kraftlake
from tests.jobs.new_disks import ANEW, NEW_DIRECTORY, OF_5, fence, solo
from tests.jobs.test_half_of_the_disks import COMMANDS, DEAD, WHOLE, keep_only

MISSING = (
    "Do not start broker 6 while one of its 2 log directories is missing or empty: directory "
    f"{DEAD} (pair-0) was not given, and with an empty one in its place broker 6 may lead pair-0 "
    "without any record."
)


def written(folder: Path) -> Path:
    """The directories of three controllers and of brokers 4, 5 and 6. Broker 4 runs from a new
    disk, and would lead solo-0, of which broker 5 has more records. Broker 6 is down with the only
    replica in sync of pair-0, which lies on its disk 1; only its disk 2 is here."""
    quorum = ScriptedQuorum("both", Layout(voters=3, observers=3))
    quorum.begin()
    epochs = {}
    for broker, directories in ((ANEW, None), (5, None), (6, (DEAD, WHOLE))):
        epochs[broker] = quorum.log_end(1)
        (made,) = register_broker(broker, epochs[broker])
        fields = made.fields if directories is None else {**made.fields, "logDirs": directories}
        quorum.commit(1, (record(made.type, 3, **fields),))
        fence(quorum, epochs[broker], -1, broker)
    quorum.commit(1, create_topic("solo", (ANEW, 5)))
    *topic, first, _ = create_topic("pair", (6, ANEW))
    fields = {**first.fields, "replicas": (6, ANEW), "isr": (6,), "leader": 6}
    directories = (DEAD, NEW_DIRECTORY)
    quorum.commit(1, (*topic, record(first.type, 2, **{**fields, "directories": directories})))
    solo(quorum, isr=(ANEW,), leader=ANEW)
    quorum.run_ms(20_000)
    fence(quorum, epochs[5], 1, 5)
    fence(quorum, epochs[ANEW], 1)
    solo(quorum, leader=-1)
    key: dict[str, Value] = {"partitionId": 0, "topicId": topic_id_of("pair")}
    quorum.commit(1, (record("PARTITION_CHANGE_RECORD", 2, **key, leader=-1),))
    fence(quorum, epochs[6], 1, 6)
    epoch = quorum.log_end(1)
    (made,) = register_broker(ANEW, epoch)
    quorum.commit(1, (record(made.type, 3, **{**made.fields, "logDirs": (NEW_DIRECTORY,)}),))
    fence(quorum, epoch, -1)
    solo(quorum, directories=(NEW_DIRECTORY, OF_5), number=0)
    solo(quorum, directories=(OF_5, NEW_DIRECTORY), number=1)
    quorum.settle()
    write_capture(quorum.capture(), str(folder))
    keep_only(WHOLE, folder, 6)
    return folder


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("two kinds") / "nodes")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_stops_is_not_elected_and_what_lacks_a_disk_is_not_started(
    kraftlake: Kraftlake, nodes: Path, command: tuple[str, ...]
) -> None:
    lines = [one.lstrip() for one in kraftlake(*command, nodes).lines[:10]]
    first = next(one for one in lines if one.startswith("first "))
    assert "Do not start broker 5, and restart no broker, while broker 4 runs" in first
    assert "Stop broker 4 before anything else" in first
    step = next(one for one in lines if one.startswith("next "))
    assert f"First stop broker 4 and copy the log directories of broker 5. {MISSING}" in step
    assert "If that directory is lost, pair-0 has no other replica that runs." in step
    assert "on broker 4" not in step
    before, _, after = step.partition("Then start broker 6: it can lead 1 of the 3 partitions.")
    assert MISSING in before
    assert "Do not start broker 4 from its new disk before." in after
