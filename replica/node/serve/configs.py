"""DescribeConfigs and AlterConfigs. The configuration of a metadata log can't be altered
(KIP-630)."""

from __future__ import annotations

from replica.model.kafka_errors import ErrorCode
from replica.node.serve.partition import ServedPartition
from replica.wire.header import WireRequest
from replica.wire.schema import Message
from replica.wire.server import Client

_TOPIC = 2
_DEFAULT, _STRING = 5, 2
"""The numbers of ConfigSource DEFAULT_CONFIG and ConfigType STRING in Kafka."""


async def describe_configs(
    partition: ServedPartition, client: Client, request: WireRequest
) -> Message:
    """The answer to DescribeConfigs: cleanup.policy is `snapshot` for the metadata topic; for
    another topic cleanup.policy is `delete`, with retention -1."""
    return {"results": [_described(partition, asked) for asked in request.message["resources"]]}


async def alter_configs(
    partition: ServedPartition, client: Client, request: WireRequest
) -> Message:
    """The answer to AlterConfigs and IncrementalAlterConfigs: INVALID_CONFIG for the topic that
    this node serves, because only server.properties sets its configuration."""
    return {"responses": [_altered(partition, asked) for asked in request.message["resources"]]}


def _described(partition: ServedPartition, asked: Message) -> Message:
    error, why = _error(partition, asked)
    wanted = asked["configurationKeys"]
    values = {} if error is not ErrorCode.NONE else _values(partition)
    return {
        **_resource(asked),
        "errorCode": int(error),
        "errorMessage": why,
        "configs": [
            {
                "name": name,
                "value": value,
                "readOnly": True,
                "configSource": _DEFAULT,
                "isSensitive": False,
                "synonyms": [],
                "configType": _STRING,
            }
            for name, value in values.items()
            if wanted is None or name in wanted
        ],
    }


def _altered(partition: ServedPartition, asked: Message) -> Message:
    error, why = _error(partition, asked)
    if error is ErrorCode.NONE:
        error = ErrorCode.INVALID_CONFIG
        why = f"{partition.topic.name} is kept as server.properties says; it can't be altered"
    return {**_resource(asked), "errorCode": int(error), "errorMessage": why}


def _values(partition: ServedPartition) -> dict[str, str]:
    if partition.topic.is_metadata:
        return {"cleanup.policy": "snapshot"}
    return {"cleanup.policy": "delete", "retention.bytes": "-1", "retention.ms": "-1"}


def _error(partition: ServedPartition, asked: Message) -> tuple[ErrorCode, str | None]:
    if asked["resourceType"] != _TOPIC:
        return ErrorCode.INVALID_REQUEST, "only topics have configurations here"
    if asked["resourceName"] != partition.topic.name:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
    return ErrorCode.NONE, None


def _resource(asked: Message) -> Message:
    return {key: asked[key] for key in ("resourceType", "resourceName")}
