"""Metadata records as the active controller of a small cluster writes them (Kafka 4.1 at
metadata.version 25). A function that returns Records returns the records of one batch.

Ids are made from names, so a scenario has the same bytes each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from replica.message.primitives import uuid_text
from replica.message.schema import Value
from replica.metadata.record import MetadataRecord, new_record

Records = tuple[MetadataRecord, ...]

METADATA_VERSION = 25
NEWEST_METADATA_VERSION = 27
TOPIC, BROKER = 2, 4
"""Resource types of configs (Kafka: ConfigResource.Type)."""
_PLAINTEXT = 0
_UNFENCE = -1


def uuid_of(name: str) -> str:
    """A UUID of 22 characters, made from the name."""
    return uuid_text(hashlib.sha256(name.encode()).digest()[:16])


def record(record_type: str, version: int = 0, /, **fields: Value) -> MetadataRecord:
    """A record with these fields, by Kafka's names."""
    return new_record(record_type, version, fields)


def bootstrap() -> Records:
    """The records that the first leader of a new cluster writes, in a transaction (KIP-868)."""
    return (
        begin("Bootstrap records"),
        feature("metadata.version", METADATA_VERSION),
        feature("group.version", 1),
        feature("transaction.version", 2),
        config(BROKER, "", "min.insync.replicas", "2"),
        end(),
    )


def begin(name: str) -> MetadataRecord:
    return record("BEGIN_TRANSACTION_RECORD", name=name)


def end() -> MetadataRecord:
    return record("END_TRANSACTION_RECORD")


def no_op() -> Records:
    """The record that a controller writes twice a second, so that the newest timestamp in the log
    is never old."""
    return (record("NO_OP_RECORD"),)


def feature(name: str, level: int) -> MetadataRecord:
    return record("FEATURE_LEVEL_RECORD", name=name, featureLevel=level)


def config(resource_type: int, resource: str, name: str, value: str | None) -> MetadataRecord:
    return record(
        "CONFIG_RECORD", resourceType=resource_type, resourceName=resource, name=name, value=value
    )


def topic_config(topic: str, name: str, value: str | None) -> Records:
    """The record that sets a config of a topic. value: None to remove the config."""
    return (config(TOPIC, topic, name, value),)


def controllers(node_ids: Iterable[int]) -> Records:
    return tuple(
        record(
            "REGISTER_CONTROLLER_RECORD",
            controllerId=node_id,
            incarnationId=uuid_of(f"controller {node_id}"),
            endPoints=_end_points("CONTROLLER", node_id, 9093),
            features=_features(),
        )
        for node_id in node_ids
    )


def migration_state(state: int) -> Records:
    """The record that sets the state of a migration from ZooKeeper. replica.metadata.image.settings
    has the states."""
    return (record("ZK_MIGRATION_STATE_RECORD", zkMigrationState=state),)


def register_broker(broker_id: int, broker_epoch: int, *, is_of_zookeeper: bool = False) -> Records:
    """The registration of a broker. broker_epoch: the offset that the record gets."""
    registration = record(
        "REGISTER_BROKER_RECORD",
        3,
        brokerId=broker_id,
        isMigratingZkBroker=is_of_zookeeper,
        incarnationId=uuid_of(f"broker {broker_id} {broker_epoch}"),
        brokerEpoch=broker_epoch,
        endPoints=_end_points("PLAINTEXT", broker_id, 9092),
        features=_features(),
        rack=f"rack-{broker_id}",
        logDirs=(_log_dir(broker_id),),
    )
    return (registration,)


def unfence_broker(broker_id: int, broker_epoch: int) -> Records:
    """The change that unfences a broker. broker_epoch: the epoch of the current registration."""
    kind = "BROKER_REGISTRATION_CHANGE_RECORD"
    return (record(kind, 2, brokerId=broker_id, brokerEpoch=broker_epoch, fenced=_UNFENCE),)


def create_topic(
    name: str, brokers: tuple[int, ...], *, partitions: int = 2, incarnation: int = 0
) -> Records:
    """A topic with its partitions. incarnation: topics of the same name with different numbers have
    different topic ids."""
    topic_id = topic_id_of(name, incarnation)
    return (
        record("TOPIC_RECORD", name=name, topicId=topic_id),
        *topic_config(name, "retention.ms", "86400000"),
        *(_partition(topic_id, number, brokers) for number in range(partitions)),
    )


def topic_id_of(name: str, incarnation: int = 0) -> str:
    return uuid_of(f"topic {name} {incarnation}")


def remove_topic(name: str, incarnation: int = 0) -> Records:
    return (record("REMOVE_TOPIC_RECORD", topicId=topic_id_of(name, incarnation)),)


def change_leader(name: str, partition: int, leader: int, isr: tuple[int, ...]) -> Records:
    """A change of a partition's leader and ISR, as after a broker was fenced or came back."""
    change = record(
        "PARTITION_CHANGE_RECORD",
        2,
        partitionId=partition,
        topicId=topic_id_of(name),
        leader=leader,
        isr=isr,
    )
    return (change,)


def _partition(topic_id: str, number: int, brokers: tuple[int, ...]) -> MetadataRecord:
    first = number % len(brokers)
    replicas = (*brokers[first:], *brokers[:first])
    return record(
        "PARTITION_RECORD",
        2,
        partitionId=number,
        topicId=topic_id,
        replicas=replicas,
        isr=replicas,
        leader=replicas[0],
        leaderEpoch=0,
        partitionEpoch=0,
        directories=tuple(_log_dir(broker_id) for broker_id in replicas),
    )


def _log_dir(broker_id: int) -> str:
    return uuid_of(f"log directory of broker {broker_id}")


def _end_points(listener: str, node_id: int, port: int) -> Value:
    end_point: dict[str, Value] = {
        "name": listener,
        "host": f"node{node_id}",
        "port": port,
        "securityProtocol": _PLAINTEXT,
    }
    return (end_point,)


def _features() -> Value:
    levels = {
        "group.version": (0, 1),
        "metadata.version": (7, NEWEST_METADATA_VERSION),
        "transaction.version": (0, 2),
    }
    return tuple(
        {"name": name, "minSupportedVersion": low, "maxSupportedVersion": high}
        for name, (low, high) in levels.items()
    )
