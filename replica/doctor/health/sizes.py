"""The sizes of a cluster: entities by kind, replicas by topic, and records of its log by type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from replica.doctor.health.log_content import LogContent
from replica.metadata.image.image import KINDS, Image

ENTITY, TOPIC, RECORD = "entity", "topic", "record"
"""The values of EntitySize.about, which are part of the output of `state --sizes --json`."""
_MS_PER_HOUR = 3_600_000


@dataclass(frozen=True, slots=True)
class EntitySize:
    """The size of a kind of entities, of a topic, or of a type of records."""

    about: str
    """ENTITY, TOPIC or RECORD."""
    name: str
    """The kind of entity, the topic, or the type of record."""
    count: int
    """The number of entities, of the topic's partitions, or of records."""
    replicas: int | None = None
    """The number of replicas of a topic's partitions; None if the size isn't about a topic."""
    size_bytes: int | None = None
    """The bytes of the records' values; None if the size isn't about records, or if unknown."""
    per_hour: float | None = None
    """The number of records per hour, from the log's first batch to its last; None if unknown."""


def entity_sizes(counts: Mapping[str, int]) -> Iterator[EntitySize]:
    """The kinds of entities that exist, the most numerous first."""
    for name in sorted(counts, key=lambda one: (-counts[one], one)):
        if counts[name]:
            yield EntitySize(ENTITY, name, counts[name])


def entity_counts(image: Image) -> dict[str, int]:
    """The number of entities of each kind."""
    return {kind.name: len(image.tables[kind.table].values) for kind in KINDS}


def topic_sizes(image: Image) -> Iterator[EntitySize]:
    """All topics, the topics with most replicas first, then by name."""
    partitions: Counter[str] = Counter()
    replicas: Counter[str] = Counter()
    for (topic_id, _), partition in image.tables["partitions"].values.items():
        partitions[topic_id] += 1
        replicas[topic_id] += len(partition.replicas)
    sizes = (
        EntitySize(TOPIC, name, partitions[topic_id], replicas[topic_id])
        for topic_id, name in image.tables["topics"].values.items()
    )
    yield from sorted(sizes, key=lambda size: (-(size.replicas or 0), size.name))


def record_sizes(content: LogContent) -> Iterator[EntitySize]:
    """The types of the log's records, the types with most bytes first."""
    hours = None
    if content.first_at is not None and content.last_at is not None:
        hours = max(content.last_at - content.first_at, 0) / _MS_PER_HOUR
    for name in sorted(content.counts, key=lambda one: (-content.sizes[one], one)):
        count = content.counts[name]
        per_hour = round(count / hours, 1) if hours else None
        size_bytes = content.sizes[name] if content.sizes else None
        yield EntitySize(RECORD, name, count, None, size_bytes, per_hour)
