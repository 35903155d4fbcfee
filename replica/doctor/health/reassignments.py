"""Running reassignments: since when, by which record, and whether they can end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Subject
from replica.doctor.health.cluster import Beginning, Cluster, PartitionKey, listed
from replica.metadata.image.image import Image
from replica.metadata.image.partition import Partition
from replica.words import duration_text

LONG_MS = 24 * 60 * 60 * 1000
"""The time (ms) after which a reassignment is reported as stuck."""


def judge_reassignments(cluster: Cluster) -> Iterator[Finding]:
    """Findings of the rules about running and about stuck reassignments."""
    running: list[Subject] = []
    stuck: list[Subject] = []
    offsets = cluster.offsets("partitions")
    for key in sorted(reassigned(cluster.image), key=cluster.name_of):
        partition, start = cluster.partitions[key], cluster.starts.get(key)
        adding = set(partition.adding_replicas)
        absent = sorted(adding - cluster.live_brokers)
        lost = sorted(one for one in adding if cluster.offline_directory(partition, one))
        age = _age(cluster, start)
        told = _told(partition, age, absent, lost)
        subject = Subject(cluster.name_of(key), told, start.offset if start else offsets[key])
        is_stuck = absent or lost or (age is not None and age > LONG_MS)
        (stuck if is_stuck else running).append(subject)
    for rule, found in (
        (health.REASSIGNMENT_STUCK, stuck),
        (health.REASSIGNMENT_RUNNING, running),
    ):
        message = f"{len(found)} of {len(cluster.partitions)} partitions"
        yield from cluster.about(rule, message, found)


def reassigned(image: Image) -> list[PartitionKey]:
    """The partitions to which replicas are being added, or from which they are being removed."""
    return [
        key
        for key, partition in image.tables["partitions"].values.items()
        if partition.adding_replicas or partition.removing_replicas
    ]


def reassignment_starts(
    keys: Collection[PartitionKey], changes: Iterable[tuple[int, int, Mapping[str, Any]]]
) -> dict[PartitionKey, Beginning]:
    """The beginnings of the reassignments of these partitions, if `changes` hold them.

    changes: (offset, time in ms, fields) of PARTITION_RECORD and PARTITION_CHANGE_RECORD of any
    partitions, in the order of the log.
    """
    starts: dict[PartitionKey, Beginning] = {}
    held: dict[PartitionKey, tuple[Any, Any]] = dict.fromkeys(keys, ((), ()))
    for offset, at, fields in changes:
        key = fields["topicId"], fields["partitionId"]
        if key not in held:
            continue
        adding, removing = held[key]
        if fields["addingReplicas"] is not None:  # null doesn't change the list
            adding = fields["addingReplicas"]
        if fields["removingReplicas"] is not None:
            removing = fields["removingReplicas"]
        if not (adding or removing):
            starts.pop(key, None)
        elif not any(held[key]):
            starts[key] = Beginning(offset, at)
        held[key] = adding, removing
    return starts


def _age(cluster: Cluster, start: Beginning | None) -> int | None:
    """The time (ms) from the reassignment's beginning to the log's last batch; None if unknown."""
    if start is None or start.at is None or cluster.now is None:
        return None
    return max(cluster.now - start.at, 0)


def _told(
    partition: Partition, age: int | None, absent: Collection[int], lost: Collection[int]
) -> str:
    parts = []
    if partition.adding_replicas:
        parts.append(f"adds {listed(partition.adding_replicas)}")
    if partition.removing_replicas:
        parts.append(f"removes {listed(partition.removing_replicas)}")
    if absent:
        parts.append(f"{listed(absent)} not live")
    if lost:
        parts.append(f"log directory of {listed(lost)} not online")
    parts.append("began before this log" if age is None else f"for {duration_text(age)}")
    return ", ".join(parts)
