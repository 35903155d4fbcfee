"""Invented records for the examples, and the entities that a replay of them gives."""

from __future__ import annotations

import json
from typing import Any

from replica.message.primitives import uuid_text
from replica.message.schema import Value
from replica.metadata.image.image import Image
from replica.metadata.image.replay import Refusal, Replay
from replica.metadata.record import MetadataRecord, new_record

TOPIC = uuid_text(b"topic-of-orders.")
OTHER_TOPIC = uuid_text(b"topic-of-clicks.")
DIRECTORY = uuid_text(b"directory-one...")
OTHER_DIRECTORY = uuid_text(b"directory-two...")
ACL = uuid_text(b"acl-for-alice...")

BEGIN = new_record("BEGIN_TRANSACTION_RECORD", 0, {})
END = new_record("END_TRANSACTION_RECORD", 0, {})
ABORT = new_record("ABORT_TRANSACTION_RECORD", 0, {})


def topic(name: str = "orders", topic_id: str = TOPIC) -> MetadataRecord:
    return new_record("TOPIC_RECORD", 0, {"name": name, "topicId": topic_id})


def remove_topic(topic_id: str = TOPIC) -> MetadataRecord:
    return new_record("REMOVE_TOPIC_RECORD", 0, {"topicId": topic_id})


def partition(version: int = 2, **fields: Value) -> MetadataRecord:
    """Partition 0 of TOPIC on brokers 1 and 2, led by 1 in epoch 5, changed 7 times."""
    usual = {
        **{"partitionId": 0, "topicId": TOPIC, "replicas": (1, 2), "isr": (1, 2)},
        **{"leader": 1, "leaderEpoch": 5, "partitionEpoch": 7},
    }
    return new_record("PARTITION_RECORD", version, {**usual, **fields})


def change(version: int = 2, **fields: Value) -> MetadataRecord:
    usual = {"partitionId": 0, "topicId": TOPIC}
    return new_record("PARTITION_CHANGE_RECORD", version, {**usual, **fields})


def clear_elr(name: str) -> MetadataRecord:
    return new_record("CLEAR_ELR_RECORD", 0, {"topicName": name})


def config(
    value: str | None, name: str = "retention.ms", resource: str = "orders", resource_type: int = 2
) -> MetadataRecord:
    fields = {"resourceType": resource_type, "resourceName": resource, "name": name, "value": value}
    return new_record("CONFIG_RECORD", 0, fields)


def broker(
    broker_id: int = 1, epoch: int = 10, version: int = 4, **fields: Value
) -> MetadataRecord:
    usual = {"brokerId": broker_id, "brokerEpoch": epoch}
    return new_record("REGISTER_BROKER_RECORD", version, {**usual, **fields})


def broker_change(epoch: int = 10, **fields: Value) -> MetadataRecord:
    usual = {"brokerId": 1, "brokerEpoch": epoch}
    return new_record("BROKER_REGISTRATION_CHANGE_RECORD", 3, {**usual, **fields})


def feature(name: str, level: int) -> MetadataRecord:
    return new_record("FEATURE_LEVEL_RECORD", 0, {"name": name, "featureLevel": level})


def after(*records: Any) -> tuple[Image, list[Refusal]]:
    """The image after these records at offsets 0, 1, 2, ..., and the refusals."""
    replay = Replay()
    refusals = [replay.apply(offset, record) for offset, record in enumerate(records)]
    return replay.image(), [refusal for refusal in refusals if refusal]


def held(image: Image, kind: str) -> dict[str, Any]:
    """Key -> value of each entity of a kind, values as JSON objects."""
    return {e.key: json.loads(e.value) for e in image.entities() if e.kind == kind}


def offsets(image: Image) -> dict[tuple[str, str], int]:
    return {(e.kind, e.key): e.offset for e in image.entities()}


def the_partition(*records: Any) -> dict[str, Any]:
    """Partition 0 of TOPIC after TOPIC and these records, none of which may be refused."""
    image, refusals = after(topic(), *records)
    assert not refusals
    return dict(held(image, "partition")[f"{TOPIC}:0"])
