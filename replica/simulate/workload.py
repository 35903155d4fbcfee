"""The workload of a run: a state machine, and the batches that clients append."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import lru_cache
from random import Random
from typing import Protocol

from replica.machines.metadata import MetadataMachine, messages_in
from replica.machines.opaque import OpaqueMachine
from replica.metadata.codec import encode
from replica.metadata.image.image import Image
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.record import MetadataRecord
from replica.model.batch import Batch
from replica.raft.ports import StateMachine
from replica.simulate.metadata_records import BROKER, TOPIC, begin, config, end, record

Values = tuple[bytes, ...]
"""The values of one batch's records."""


class Workload(Protocol):
    """The state machine of a run, and the appends of its clients. name: the workload's name in what
    people read."""

    name: str

    def machine(self) -> StateMachine:
        """A new state machine."""

    def state(self, machine: StateMachine) -> object:
        """The machine's state. Two states are equal if and only if their contents are equal."""

    def batches(
        self, random: Random, number: int, machine: StateMachine, *, is_active: bool, is_idle: bool
    ) -> tuple[Values, ...]:
        """The batches that a leader appends now, all together; empty if the leader must wait.

        number: a number that differs in each call.
        machine: the leader's state machine.
        is_active: whether the leader has all records of earlier epochs, so that
            Effects.leader_change has named this leader.
        is_idle: whether the machine has got all records of the log.
        """


class OpaqueWorkload(Workload):
    """Records of arbitrary bytes."""

    name = "opaque"

    def machine(self) -> StateMachine:
        return OpaqueMachine()

    def state(self, machine: StateMachine) -> object:
        assert isinstance(machine, OpaqueMachine)
        return machine.state

    def batches(
        self, random: Random, number: int, machine: StateMachine, *, is_active: bool, is_idle: bool
    ) -> tuple[Values, ...]:
        return ((b"%d " % number * random.randrange(1, 30),),)


class MetadataWorkload(Workload):
    """Kafka's metadata records as a controller writes them, some in a transaction (KIP-868). A new
    leader first aborts the open transaction of the former leader."""

    name = "metadata"

    def machine(self) -> StateMachine:
        return MetadataMachine(lambda batch: _read_once(batch.data))

    def state(self, machine: StateMachine) -> object:
        assert isinstance(machine, MetadataMachine)
        return machine.image

    def batches(
        self, random: Random, number: int, machine: StateMachine, *, is_active: bool, is_idle: bool
    ) -> tuple[Values, ...]:
        assert isinstance(machine, MetadataMachine)
        if not is_active:
            return ()
        if not machine.can_snapshot:
            return ((encode(record("ABORT_TRANSACTION_RECORD")),),) if is_idle else ()
        return self.changes(random, number, machine, is_idle=is_idle)

    def changes(
        self, random: Random, number: int, machine: MetadataMachine, *, is_idle: bool
    ) -> tuple[Values, ...]:
        """The batches of an active leader, outside of a transaction. `batches` has the same
        parameters."""
        records = _created(random, number)
        if is_idle and random.random() < 0.7:
            records = _changed(random, number, machine.image) or records
        if random.random() < 0.3:
            first, last = begin(f"transaction {number}"), end()
            return (encoded([first]), encoded(records), encoded([last]))
        return (encoded(records),)


OPAQUE, METADATA = OpaqueWorkload(), MetadataWorkload()


@lru_cache(maxsize=2048)
def _read_once(data: bytes) -> tuple[tuple[int, ReplayedRecord], ...]:
    """The records of a batch, cached, because every replica of a run reads the same bytes, also at
    each start."""
    return tuple(messages_in(Batch(0, 0, 0, 0, data=data)))


def encoded(records: Iterable[MetadataRecord]) -> Values:
    """The values of the records."""
    return tuple(encode(record) for record in records)


def _created(random: Random, number: int) -> list[MetadataRecord]:
    """The records of a new topic with its partitions, or of a config. These records may follow any
    other records."""
    if random.random() < 0.5:
        return [config(BROKER, str(random.randrange(4)), "log.cleaner.threads", str(number))]
    topic_id = base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode()[:22]
    name, replicas = f"topic-{number}", (1, 2)
    partitions = [
        record(
            "PARTITION_RECORD",
            topicId=topic_id,
            partitionId=partition_id,
            replicas=replicas,
            isr=replicas,
            leader=1,
            leaderEpoch=0,
            partitionEpoch=0,
        )
        for partition_id in range(random.randrange(1, 4))
    ]
    topic = record("TOPIC_RECORD", name=name, topicId=topic_id)
    return [topic, config(TOPIC, name, "retention.ms", str(number)), *partitions]


def _changed(random: Random, number: int, image: Image) -> list[MetadataRecord]:
    """The records of a change of an existing topic or partition; empty if the image has no
    partition."""
    partitions = sorted(image.tables["partitions"].values)
    if not partitions:
        return []
    topic_id, partition_id = random.choice(partitions)
    what = random.randrange(4)
    if what == 0 or len(partitions) > 30:
        return [record("REMOVE_TOPIC_RECORD", topicId=topic_id)]
    if what == 1:
        return [config(TOPIC, image.tables["topics"].values[topic_id], "retention.ms", None)]
    leader = number % 2 + 1
    change = record(
        "PARTITION_CHANGE_RECORD",
        topicId=topic_id,
        partitionId=partition_id,
        leader=leader,
        isr=(leader,),
    )
    return [change]
