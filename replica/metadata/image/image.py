"""An image: all entities at one point of the log, frozen (Kafka: MetadataImage)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from replica.metadata.image import access, registrations, settings, topics, voters
from replica.metadata.image.kind import Entity, EntityKind
from replica.metadata.image.settings import is_always_kept
from replica.metadata.image.state import TOPIC_RESOURCE, EntityTable, State

KINDS: tuple[EntityKind, ...] = (
    topics.TOPIC, topics.PARTITION, settings.CONFIG, registrations.BROKER, registrations.CONTROLLER,
    settings.FEATURE, access.ACL, access.SCRAM, access.CLIENT_QUOTA, access.DELEGATION_TOKEN,
    settings.PRODUCER_IDS, settings.ZK_MIGRATION, *voters.KINDS,
)  # fmt: skip
"""Every kind of entity, in canonical order."""
KIND_OF: Mapping[str, EntityKind] = {kind.name: kind for kind in KINDS}
PLACE_OF: Mapping[str, int] = {kind.name: place for place, kind in enumerate(KINDS)}
"""Name of a kind -> its place in the canonical order, in which topics precede partitions."""


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """The state that a log's records make. Images with the same entities are equal, even if the
    offsets of the entities differ."""

    tables: Mapping[str, EntityTable[Any, Any]] = field(default_factory=lambda: State().tables())
    """The table of each kind of entity, by the names in state.TABLES. Nobody may change these
    tables."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Image):
            return NotImplemented
        return all(table.values == other.tables[name].values for name, table in self.tables.items())

    __hash__ = None  # type: ignore[assignment]

    def items(self) -> Iterator[tuple[EntityKind, Any, Any]]:
        """(kind, key, value as State's tables hold it) of each entity; keys in any order."""
        for kind in KINDS:
            for key, value in self.tables[kind.table].values.items():
                yield kind, key, value

    def entities(self) -> Iterator[Entity]:
        """All entities, in the order of KINDS, and by rising key within a kind."""
        for kind in KINDS:
            table = self.tables[kind.table]
            for key in sorted(table.values, key=kind.order):
                value = kind.value_text(key, table.values[key])
                yield Entity(kind.name, kind.key_text(key), value, table.offsets[key])


EMPTY = Image()


class EntityDifference(NamedTuple):
    """An entity that differs between two images. A value is None if the image lacks the entity."""

    kind: str
    key: str
    value_a: str | None
    value_b: str | None


def differences(a: Image, b: Image) -> Iterator[EntityDifference]:
    """The entities that differ between two images, in canonical order."""
    for kind in KINDS:
        for key in _differing_keys(kind, a, b):
            yield _difference(kind, key, a, b)


def orphan_topic_configs(snapshot: Image, replay: Image) -> tuple[EntityDifference, ...]:
    """The differences(snapshot, replay) that a known fault of Kafka 3.8 and newer explains.

    If one commit configures and removes a topic, its configs stay in Kafka's image, and so in its
    snapshots (ConfigurationsDelta reads only the image before the commit). The difference is then a
    topic's config that only the snapshot holds, and whose topic is in neither image.
    """
    names = {*snapshot.tables["topics"].values.values(), *replay.tables["topics"].values.values()}
    held = replay.tables["configs"].values
    return tuple(
        found
        for key, found in _config_differences(snapshot, replay)
        if key[0] == TOPIC_RESOURCE and key not in held and key[1] not in names
    )


def dropped_configs(snapshot: Image, replay: Image) -> tuple[EntityDifference, ...]:
    """The differences(snapshot, replay) that Kafka 4.2 and newer make on purpose.

    Each is a config that the log holds and the snapshot lacks, and that not all these releases know
    by name: the node that wrote the snapshot left it out (settings.KEPT_CONFIGS).
    """
    held = snapshot.tables["configs"].values
    return tuple(
        found
        for key, found in _config_differences(snapshot, replay)
        if key not in held and not is_always_kept(key[0], key[2])
    )


def _config_differences(a: Image, b: Image) -> Iterator[tuple[Any, EntityDifference]]:
    for key in _differing_keys(settings.CONFIG, a, b):
        yield key, _difference(settings.CONFIG, key, a, b)


def _differing_keys(kind: EntityKind, a: Image, b: Image) -> list[Any]:
    in_a, in_b = a.tables[kind.table].values, b.tables[kind.table].values
    if in_a == in_b:
        return []
    absent = object()
    keys = {key for key in in_a if in_b.get(key, absent) != in_a[key]}
    return sorted(keys | (in_b.keys() - in_a.keys()), key=kind.order)


def _difference(kind: EntityKind, key: Any, a: Image, b: Image) -> EntityDifference:
    texts = (
        kind.value_text(key, values[key]) if key in values else None
        for values in (a.tables[kind.table].values, b.tables[kind.table].values)
    )
    return EntityDifference(kind.name, kind.key_text(key), *texts)
