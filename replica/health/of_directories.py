"""A cluster's newest state as the directories of its replicas tell it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replica.check.examined import Examined
from replica.check.newest import ClusterState
from replica.errors import DataError
from replica.health.cluster import Cluster, PartitionKey, ReassignmentStart
from replica.health.reassignments import reassigned, reassignment_starts
from replica.message.primitives import uuid_bytes
from replica.metadata.image import Image
from replica.metadata.reader import decode
from replica.metadata.record import MetadataRecord

_PARTITION_RECORDS = ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD")


def cluster_of(told: ClusterState, broker_defaults: Mapping[str, str]) -> Cluster | None:
    """What the rules of health look at; None where no state is known.

    broker_defaults: of a broker's server.properties, empty where they aren't known.
    """
    state = told.state
    if state is None:
        return None
    return Cluster(
        state.image,
        told.cluster_id,
        told.examined.shown,
        end_offset=state.end.offset,
        is_whole=state.is_whole,
        voters=frozenset(voter.node_id for voter in told.voters),
        broker_defaults=broker_defaults,
        starts=_starts(told.examined, state.image, state.end.offset),
        now=told.last_timestamp,
    )


def _starts(
    examined: Examined, image: Image, end_offset: int
) -> dict[PartitionKey, ReassignmentStart]:
    """When the reassignments under way began. The log is read again for them, where there are any:
    only records that name one of their topics are decoded."""
    keys = reassigned(image)
    if not keys:
        return {}
    topics = [uuid_bytes(topic_id) for topic_id in {key[0] for key in keys}]
    return reassignment_starts(keys, _changes_of(examined, topics, end_offset))


def _changes_of(
    examined: Examined, topics: list[bytes], end_offset: int
) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    for batch, record in examined.records(0, end_offset):
        value = record.value or b""
        if batch.header.is_control or not any(topic in value for topic in topics):
            continue
        try:
            message = decode(value)
        except DataError:  # the rule undecodable-record names it
            continue
        if isinstance(message, MetadataRecord) and message.type in _PARTITION_RECORDS:
            yield record.offset, record.timestamp, message.fields
