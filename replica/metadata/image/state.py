"""The state of a replay while it runs: a table for each kind of entity, and indexes between the
tables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from replica.metadata.image.partition import Partition
from replica.model.voters import Voter

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Fields: TypeAlias = Mapping[str, Any]
"""The fields of a decoded record, which nobody may change."""

Refused: TypeAlias = tuple[str, tuple[int, ...]]
"""(why a record changes nothing, the offsets of the earlier records that explain this)."""

Handler: TypeAlias = "Callable[[State, int, Fields], Refused | None]"
"""A function that applies a record to the state: it takes the record's offset and fields, and
returns a Refused if the record can't be applied."""

QuotaKey: TypeAlias = tuple[tuple[tuple[str, str | None], ...], str]
"""((entity type, entity name) sorted by type, quota key); a name of None is the default entity."""


@dataclass(slots=True, eq=False)
class EntityTable(Generic[K, V]):
    """The entities of one kind: their values, which are never changed in place, and for each entity
    the offset of the record that last changed it."""

    values: dict[K, V] = field(default_factory=dict)
    offsets: dict[K, int] = field(default_factory=dict)

    def put(self, key: K, value: V, offset: int) -> None:
        self.values[key] = value
        self.offsets[key] = offset

    def drop(self, key: K) -> None:
        """Forget the entity. An entity that is absent is no error."""
        if self.values.pop(key, None) is not None:
            del self.offsets[key]

    def renumber(self, offset: int) -> None:
        """Give every entity this offset, as if the record at the offset had last changed the
        entity."""
        self.offsets = dict.fromkeys(self.offsets, offset)

    def copy(self) -> EntityTable[K, V]:
        return EntityTable(self.values.copy(), self.offsets.copy())


TOPIC_RESOURCE = 2
"""Kafka's ConfigResource.Type.TOPIC."""

TABLES = (
    "topics", "partitions", "configs", "brokers", "controllers", "features", "acls", "scram",
    "client_quotas", "delegation_tokens", "producer_ids", "zk_migration",
    "voters", "kraft_version",
)  # fmt: skip
"""The attributes of State that are tables."""


@dataclass(slots=True, eq=False)
class State:
    """All tables, their indexes, and the offsets that explain refusals. `removals` and
    `registrations` know only records since the replay's first image."""

    topics: EntityTable[str, str] = field(default_factory=EntityTable)
    partitions: EntityTable[tuple[str, int], Partition] = field(default_factory=EntityTable)
    configs: EntityTable[tuple[int, str, str], str] = field(default_factory=EntityTable)
    brokers: EntityTable[int, Fields] = field(default_factory=EntityTable)
    controllers: EntityTable[int, Fields] = field(default_factory=EntityTable)
    features: EntityTable[str, int] = field(default_factory=EntityTable)
    acls: EntityTable[str, Fields] = field(default_factory=EntityTable)
    scram: EntityTable[tuple[str, int], Fields] = field(default_factory=EntityTable)
    client_quotas: EntityTable[QuotaKey, str] = field(default_factory=EntityTable)
    delegation_tokens: EntityTable[str, Fields] = field(default_factory=EntityTable)
    producer_ids: EntityTable[str, int] = field(default_factory=EntityTable)
    zk_migration: EntityTable[str, int] = field(default_factory=EntityTable)
    voters: EntityTable[str, tuple[Voter, ...]] = field(default_factory=EntityTable)
    kraft_version: EntityTable[str, int] = field(default_factory=EntityTable)
    topic_ids: dict[str, str] = field(default_factory=dict)
    """The id of each topic, by its name."""
    partition_ids: dict[str, set[int]] = field(default_factory=dict)
    """The ids of each topic's partitions, by the topic's id."""
    topic_configs: dict[str, set[str]] = field(default_factory=dict)
    """The names of each topic's configs, by the topic's name, even if the topic doesn't exist."""
    removals: dict[tuple[str, Hashable], int] = field(default_factory=dict)
    """The offset of the record that removed an entity, by the entity's table and key."""
    registrations: dict[int, int] = field(default_factory=dict)
    """The offset of each broker's registration, by the broker's id."""

    def tables(self) -> dict[str, EntityTable[Any, Any]]:
        """A copy of each table, by name."""
        return {name: getattr(self, name).copy() for name in TABLES}

    def removal(self, table: str, key: Hashable) -> tuple[int, ...]:
        """The offset at which the entity was removed, as a tuple for a refusal; () if the entity
        was not removed."""
        offset = self.removals.get((table, key))
        return () if offset is None else (offset,)

    def renumber(self, offset: int) -> None:
        """Give all changes, removals and registrations so far this offset, as if the record at the
        offset had made them."""
        for name in TABLES:
            getattr(self, name).renumber(offset)
        self.removals = dict.fromkeys(self.removals, offset)
        self.registrations = dict.fromkeys(self.registrations, offset)

    def copy(self) -> State:
        return State(
            **self.tables(),
            topic_ids=self.topic_ids.copy(),
            partition_ids={key: ids.copy() for key, ids in self.partition_ids.items()},
            topic_configs={key: names.copy() for key, names in self.topic_configs.items()},
            removals=self.removals.copy(),
            registrations=self.registrations.copy(),
        )


def state_of(tables: Mapping[str, EntityTable[Any, Any]]) -> State:
    """A state with copies of these tables."""
    copies: dict[str, Any] = {name: table.copy() for name, table in tables.items()}
    state = State(**copies)
    for topic_id, name in state.topics.values.items():
        state.topic_ids[name] = topic_id
    for topic_id, partition_id in state.partitions.values:
        state.partition_ids.setdefault(topic_id, set()).add(partition_id)
    for resource_type, resource_name, name in state.configs.values:
        if resource_type == TOPIC_RESOURCE:
            state.topic_configs.setdefault(resource_name, set()).add(name)
    return state
