"""Directories of a cluster of which broker 4 died with its disk, and was installed anew with its
old id on an empty one."""

from __future__ import annotations

from pathlib import Path

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

ANEW = 4
NEW_DIRECTORY = uuid_of("the new disk of broker 4")
OF_5 = uuid_of("log directory of broker 5")


def installed_anew(
    folder: Path, *, is_unclean: bool = False, waits: bool = False, other: bool = False
) -> Path:
    """The directories of three controllers and three brokers. Broker 4 alone has the topic solo,
    and leads it from its new disk. is_unclean: whether it was elected as the last known leader.
    waits: whether it is down again. other: whether broker 5 has replicas of solo too, which were
    not in sync, and is down; then broker 4 is up and does not lead yet. Its directory was assigned
    after it had been unfenced, and no broker has come up since. With waits, too, broker 4 was
    stopped in this state."""
    quorum = ScriptedQuorum(f"a new disk, {is_unclean}", Layout(voters=3, observers=3))
    quorum.begin()
    quorum.commit(1, create_topic("orders", quorum.brokers))
    quorum.commit(1, create_topic("solo", (ANEW, 5) if other else (ANEW,)))
    if other:
        fifth = quorum.log_end(1)
        quorum.commit(1, register_broker(5, fifth))
        fence(quorum, fifth, 1, 5)
        solo(quorum, isr=(ANEW,), leader=ANEW)
    first = quorum.log_end(1)
    quorum.commit(1, register_broker(ANEW, first))
    fence(quorum, first, 1)
    solo(quorum, leader=-1)
    epoch = quorum.log_end(1)
    (made,) = register_broker(ANEW, epoch)
    quorum.commit(1, (record(made.type, 3, **{**made.fields, "logDirs": (NEW_DIRECTORY,)}),))
    if is_unclean:
        solo(quorum, isr=(), lastKnownElr=(ANEW,))
    fence(quorum, epoch, -1)
    if other:
        solo(quorum, directories=(NEW_DIRECTORY, OF_5), number=0)
        solo(quorum, directories=(OF_5, NEW_DIRECTORY), number=1)
        if waits:
            fence(quorum, epoch, 1)
        quorum.settle()
        write_capture(quorum.capture(), str(folder))
        return folder
    elected = {"leaderRecoveryState": 1, "lastKnownElr": ()} if is_unclean else {}
    solo(quorum, leader=ANEW, isr=(ANEW,), directories=(NEW_DIRECTORY,), **elected)
    if waits:
        quorum.run_ms(20_000)
        solo(quorum, leader=-1)
        fence(quorum, epoch, 1)
    quorum.settle()
    write_capture(quorum.capture(), str(folder))
    return folder


def fence(quorum: ScriptedQuorum, epoch: int, fenced: int, broker: int = ANEW) -> None:
    change = {"brokerId": broker, "brokerEpoch": epoch, "fenced": fenced}
    quorum.commit(1, (record("BROKER_REGISTRATION_CHANGE_RECORD", 2, **change),))


def solo(quorum: ScriptedQuorum, *, number: int | None = None, **fields: Value) -> None:
    for one in range(2) if number is None else (number,):
        key: dict[str, Value] = {"partitionId": one, "topicId": topic_id_of("solo")}
        quorum.commit(1, (record("PARTITION_CHANGE_RECORD", 2, **key, **fields),))
