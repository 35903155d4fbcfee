"""Topics of a Kafka cluster: made where they are missing, and read to their end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from replica.errors import UsageError

_TIMEOUT_S = 30.0
_POLL_S = 0.2
_BY_CLUSTER = -1
"""The cluster's own defaults for partitions and replicas (KIP-464)."""
_SILENT = logging.getLogger("kraftlake.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class KafkaCluster:
    """The clients of a cluster.

    properties: librdkafka's, for all clients.
    hear: is called with librdkafka's messages about errors from which it recovers, which would
        otherwise go to stderr.

    All methods raise KafkaException.
    """

    def __init__(self, properties: Mapping[str, str], hear: Callable[[KafkaError], object]) -> None:
        self.properties: dict[str, Any] = {
            **properties,
            "error_cb": hear,
            "logger": _SILENT,
        }
        self._admin = AdminClient(dict(self.properties))

    def make_topics(self, topic: str, compacted: str) -> None:
        """Makes both topics where they are missing. Raises UsageError where the topic that must be
        compacted exists, and isn't."""
        present = self._partitions()
        wanted = {topic: {}, compacted: {"cleanup.policy": "compact"}}
        missing = [
            NewTopic(name, _BY_CLUSTER, _BY_CLUSTER, config=config)
            for name, config in wanted.items()
            if name not in present
        ]
        for made in self._admin.create_topics(missing).values() if missing else ():
            try:
                made.result(_TIMEOUT_S)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
        if compacted in present:
            self._check_compacted(compacted)
        self._wait_for(wanted.keys())

    def newest_value(self, topic: str, key: bytes) -> bytes | None:
        """The value of the newest committed record with the key; None where there is none. Waits
        until transactions of other producers have ended."""
        partitions = [TopicPartition(topic, index) for index in self._partitions()[topic]]
        ends = self._ends(partitions)
        consumer = Consumer(
            {
                **self.properties,
                "group.id": "kraftlake-publish",  # the client demands it; nothing is committed
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
        try:
            consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in ends])
            return self._newest(consumer, key, ends)
        finally:
            consumer.close()

    def _newest(self, consumer: Consumer, key: bytes, ends: dict[int, int]) -> bytes | None:
        found, remaining = None, {index for index, end in ends.items() if end > 0}
        # longer than the default of transaction.timeout.ms
        deadline = time.monotonic() + 2 * _TIMEOUT_S
        while remaining:
            read = consumer.poll(_POLL_S)
            if read is None:
                if time.monotonic() > deadline:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "progress not readable"))
            elif (error := read.error()) is None:
                deadline = time.monotonic() + 2 * _TIMEOUT_S
                found = read.value() if read.key() == key else found
            elif error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            else:  # a reader with read_committed stops before an open transaction
                partition, offset = cast(tuple[int, int], (read.partition(), read.offset()))
                if offset >= ends[partition]:
                    remaining.discard(partition)
        return found

    def _ends(self, partitions: list[TopicPartition]) -> dict[int, int]:
        """The end offset (exclusive) of each partition, which counts records of open transactions,
        too."""
        latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = self._admin.list_offsets(
            dict.fromkeys(partitions, latest),
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=_TIMEOUT_S,
        )
        return {part.partition: end.result(_TIMEOUT_S).offset for part, end in asked.items()}

    def _partitions(self) -> dict[str, list[int]]:
        try:
            topics = self._admin.list_topics(timeout=_TIMEOUT_S).topics
        finally:
            self._admin.poll(0)  # delivers the reason of an error to `hear`
        return {name: sorted(topic.partitions) for name, topic in topics.items()}

    def _wait_for(self, topics: Any) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while any(not self._partitions().get(name) for name in topics):
            if time.monotonic() > deadline:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the topics aren't there"))
            time.sleep(_POLL_S)

    def _check_compacted(self, topic: str) -> None:
        (asked,) = self._admin.describe_configs(
            [ConfigResource(ResourceType.TOPIC, topic)], request_timeout=_TIMEOUT_S
        ).values()
        try:
            policy = asked.result(_TIMEOUT_S)["cleanup.policy"].value
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return  # a user who may not read configs must check this by other means
            raise
        if policy != "compact":
            raise UsageError(
                f"topic {topic} has cleanup.policy={policy}, and would lose the progress: set it "
                "to compact, or name another one by --progress-topic"
            )
