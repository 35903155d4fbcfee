"""A workload that writes the records of a small cluster's active controller: brokers come and go
with their nodes, and partitions lose and find leaders.

Nodes are brokers, too: all of them in combined mode, else only the observers. So the log shows
which nodes are down, a little late, as a real log does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any

from replica.machines.metadata import MetadataMachine
from replica.metadata.image.image import Image
from replica.metadata.image.partition import Partition
from replica.metadata.record import MetadataRecord
from replica.model.keys import NO_NODE
from replica.simulate.metadata_records import (
    BROKER,
    TOPIC,
    begin,
    bootstrap,
    config,
    controllers,
    create_topic,
    end,
    no_op,
    record,
    register_broker,
    remove_topic,
    unfence_broker,
)
from replica.simulate.node import SimulatedMachine
from replica.simulate.workload import MetadataWorkload, Values, encoded

_MOST_TOPICS = 8
_FENCE = 1


class Fleet(MetadataWorkload):
    """The workload. nodes: the machines of the run, by node id; set once they exist. brokers: the
    ids of the nodes that are brokers."""

    name = "fleet"

    def __init__(self, brokers: Iterable[int]) -> None:
        self.brokers = tuple(brokers)
        self.nodes: Mapping[int, SimulatedMachine] = {}

    def changes(
        self, random: Random, number: int, machine: MetadataMachine, *, is_idle: bool
    ) -> tuple[Values, ...]:
        if not is_idle:
            name = str(random.choice(self.brokers))
            return (encoded([config(BROKER, name, "log.cleaner.threads", str(number))]),)
        image, offset = machine.image, machine.next_offset
        records = [*self._due(image, offset)] or [*self._wanted(random, number, image)]
        if not image.tables["features"].values or random.random() > 0.2:
            return (encoded(records),)
        return (encoded([begin(f"{number}")]), encoded(records), encoded([end()]))

    def _due(self, image: Image, offset: int) -> Iterator[MetadataRecord]:
        """The records of a change of one node that the state doesn't show yet. offset: the offset
        of the first record."""
        brokers = image.tables["brokers"].values
        if not image.tables["features"].values:
            yield from bootstrap()
            return
        missing = sorted(self.nodes.keys() - image.tables["controllers"].values.keys())
        voters = [
            node_id for node_id in missing if node_id not in self.brokers or len(self.brokers) > 2
        ]
        if voters:
            yield from controllers(voters)
            return
        for broker_id in self.brokers:
            node, fields = self.nodes[broker_id], brokers.get(broker_id)
            is_up = node.host is not None
            if fields is None and is_up:
                yield from register_broker(broker_id, offset)
                yield from unfence_broker(broker_id, offset)
                return
            if fields is not None and is_up == fields["fenced"]:
                yield record(
                    "BROKER_REGISTRATION_CHANGE_RECORD",
                    2,
                    brokerId=broker_id,
                    brokerEpoch=fields["brokerEpoch"],
                    fenced=-_FENCE if is_up else _FENCE,
                )
                live = _live(brokers) - {broker_id}
                for key, partition in sorted(image.tables["partitions"].values.items()):
                    yield from (
                        _back(key, partition, broker_id)
                        if is_up
                        else _gone(key, partition, broker_id, live)
                    )
                return

    def _wanted(self, random: Random, number: int, image: Image) -> Iterator[MetadataRecord]:
        topics = sorted(image.tables["topics"].values.values())
        live = sorted(_live(image.tables["brokers"].values))
        what = random.randrange(5)
        if what < 2 and live and len(topics) < _MOST_TOPICS:
            replicas = tuple(random.sample(live, random.randrange(1, min(3, len(live)) + 1)))
            yield from create_topic(f"topic-{number}", replicas)
        elif what == 2 and len(topics) == _MOST_TOPICS:
            yield from remove_topic(random.choice(topics))
        elif what == 3 and topics:
            least = str(random.randrange(1, 4))
            yield config(TOPIC, random.choice(topics), "min.insync.replicas", least)
        else:
            yield from no_op()


def _live(brokers: Mapping[int, Any]) -> frozenset[int]:
    return frozenset(broker_id for broker_id, fields in brokers.items() if not fields["fenced"])


def _gone(
    key: tuple[str, int], partition: Partition, broker: int, live: frozenset[int]
) -> Iterator[MetadataRecord]:
    """The broker leaves the ISR, unless it is the last broker in it, and no longer leads."""
    if broker not in partition.isr:
        return
    isr = tuple(one for one in partition.isr if one != broker) or partition.isr
    leader = partition.leader
    if leader == broker:
        able = (one for one in partition.replicas if one in isr and one in live)
        leader = next(able, NO_NODE)
    yield _change(key, isr, leader)


def _back(key: tuple[str, int], partition: Partition, broker: int) -> Iterator[MetadataRecord]:
    """The broker joins the ISR again. It leads where the partition has no leader and the broker may
    lead."""
    if broker not in partition.replicas:
        return
    if partition.leader == NO_NODE and broker in partition.isr:
        yield _change(key, partition.isr, broker)
    elif partition.leader != NO_NODE and broker not in partition.isr:
        yield _change(key, (*partition.isr, broker), partition.leader)


def _change(key: tuple[str, int], isr: tuple[int, ...], leader: int) -> MetadataRecord:
    topic_id, partition_id = key
    return record(
        "PARTITION_CHANGE_RECORD",
        2,
        partitionId=partition_id,
        topicId=topic_id,
        leader=leader,
        isr=isr,
    )
