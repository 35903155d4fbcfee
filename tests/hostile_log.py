"""A node's directory whose names and texts are hostile: they move a terminal, turn the direction of
writing, forge a line, or are a formula or markup. All records are sound."""

from __future__ import annotations

from pathlib import Path

from replica.message.schema import Value
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from tests.secret_log import batch, level, write_node

ESCAPES = "\x1b]0;x\x07\x1b[2J"
TURNS = "\u202egnp.exe\u2066"
LINES = "a\nb\x85c\u2028d\r"
FORMULA = "=cmd|'/c calc'!A1"
MARKUP = "<script>alert(1)</script>\"'>"
TEXTS = (ESCAPES, TURNS, LINES, FORMULA, MARKUP, "+1", "@SUM(1)", "\t=1", "-2")


def _uuid(number: int) -> str:
    return "A" * 18 + f"{number:04d}"


def _broker(node_id: int, text: str) -> bytes:
    endpoint = {"name": text, "host": text, "port": 9092, "securityProtocol": 0}
    feature = {"name": text, "minSupportedVersion": 0, "maxSupportedVersion": 1}
    fields: dict[str, Value] = {
        "brokerId": node_id,
        "incarnationId": _uuid(node_id),
        "brokerEpoch": node_id,
        "endPoints": (endpoint,),
        "features": (feature,),
        "rack": text,
        "fenced": False,
    }
    return encode(new_record("REGISTER_BROKER_RECORD", 1, fields))


def _topic(number: int, text: str) -> list[bytes]:
    topic_id = _uuid(100 + number)
    brokers = (10 + number,)
    partition: dict[str, Value] = {
        "partitionId": 0,
        "topicId": topic_id,
        "replicas": brokers,
        "isr": brokers,
        "leader": brokers[0],
        "leaderEpoch": 0,
        "partitionEpoch": 0,
    }
    return [
        encode(new_record("TOPIC_RECORD", 0, {"name": text, "topicId": topic_id})),
        encode(new_record("PARTITION_RECORD", 0, partition)),
    ]


def _others(number: int, text: str) -> list[bytes]:
    config: dict[str, Value] = {"resourceType": 2, "resourceName": text, "name": text}
    acl: dict[str, Value] = {
        "id": _uuid(200 + number),
        "resourceType": 2,
        "resourceName": text,
        "patternType": 3,
        "principal": f"User:{text}",
        "host": text,
        "operation": 3,
        "permissionType": 3,
    }
    entity = {"entityType": "client-id", "entityName": text}
    quota: dict[str, Value] = {
        "entity": (entity,),
        "key": "producer_byte_rate",
        "value": 1.0,
        "remove": False,
    }
    return [
        encode(new_record("CONFIG_RECORD", 0, {**config, "value": text})),
        encode(new_record("ACCESS_CONTROL_ENTRY_RECORD", 0, acl)),
        encode(new_record("CLIENT_QUOTA_RECORD", 0, quota)),
    ]


def write_hostile_node(folder: Path, texts: tuple[str, ...] = TEXTS) -> Path:
    """Writes the directory, and gives its path."""
    values = [level()]
    for number, text in enumerate(texts):
        values += [_broker(10 + number, text), *_topic(number, text), *_others(number, text)]
    content = b"".join(batch(offset, [value]) for offset, value in enumerate(values))
    return write_node(folder, content=content, with_snapshot=False)
