"""Plans which part of a cluster's state a new cluster begins with.

The plan copies features, topics with their ids, partitions, configs, quotas, ACLs, SCRAM
credentials and the next producer id. It leaves out the state of the old nodes (registrations, the
voter set), unknown values (redacted values; delegation tokens, whose HMACs no log holds), and the
state of the old replicas (leaders, eligible leader replicas, log directories, reassignments).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from replica.errors import UsageError
from replica.message.schema import REDACTED
from replica.metadata.changes.releases import NEWEST_LEVELS, release_of
from replica.metadata.image.image import KINDS, Image
from replica.metadata.image.partition import Partition
from replica.metadata.image.settings import METADATA_VERSION
from replica.metadata.image.snapshot import ELR_VERSION, LOWEST_METADATA_VERSION, to_records
from replica.metadata.image.state import TABLES, TOPIC_RESOURCE, EntityTable
from replica.metadata.record import MetadataRecord
from replica.model.keys import NO_NODE, ZERO_UUID

_SHOWN_NAMES = 5
_BROKER_RESOURCES = (4, 8)
"""The numbers of BROKER and BROKER_LOGGER in Kafka's ConfigResource.Type. The resource name ""
stands for all brokers."""

_LEFT_OUT = {
    "brokers": "brokers register themselves when they start",
    "controllers": "controllers register themselves",
    "voters": "the new quorum has its own",
    "kraft_version": "kafka-storage format sets it",
    "zk_migration": "a new cluster has none to migrate",
    "delegation_tokens": "no log holds their HMACs: clients ask for new ones",
}
"""The tables of State that are not copied, each with the reason."""
_ENTITY_OF = {kind.table: kind.name for kind in KINDS}

_Values = dict[Any, Any]


class RestoreDifference(NamedTuple):
    """A difference between the new cluster and the old one."""

    entity: str
    """The kind of the entities."""
    number: int
    """How many entities differ."""
    detail: str
    """The difference in one line."""
    examples: tuple[str, ...] = ()
    """The names of the first entities."""


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What a new cluster begins with."""

    image: Image
    """The first state of the new cluster."""
    changes: tuple[RestoreDifference, ...]
    """The differences of `image` from the old cluster's state."""

    def records(self) -> tuple[MetadataRecord, ...]:
        """The records in the order of a snapshot: features come first."""
        return tuple(one for one in to_records(self.image) if isinstance(one, MetadataRecord))


def plan_restore(image: Image, release: str, brokers: Mapping[int, int]) -> RestorePlan:
    """The plan for this image. brokers: the new broker id by the old broker id; a broker that isn't
    named keeps its id. release: a key of NEWEST_LEVELS.

    Raises UsageError if the image has no metadata.version, if the release doesn't know it or Kafka
    begins no cluster with it, and if two brokers would get the same id.
    """
    _check_level(image, release)
    planning = _Planning({name: dict(image.tables[name].values) for name in TABLES}, brokers)
    planning.run()
    tables = {
        name: EntityTable(values, dict.fromkeys(values, 0))
        for name, values in planning.values.items()
    }
    return RestorePlan(Image(tables), tuple(planning.changes))


def _check_level(image: Image, release: str) -> None:
    level = image.tables["features"].values.get(METADATA_VERSION)
    if level is None:
        raise UsageError("the state has no metadata.version: name an offset behind its beginning")
    if level > NEWEST_LEVELS[release]:
        raise UsageError(
            f"metadata.version {release_of(level)} is newer than Kafka {release}: restore to the "
            "release that the cluster ran, or to a newer one"
        )
    if level < LOWEST_METADATA_VERSION:
        raise UsageError(
            f"metadata.version {release_of(level)}: Kafka begins no cluster below "
            f"{release_of(LOWEST_METADATA_VERSION)}"
        )


class _Planning:
    """Changes the values step by step. values: the values of State's tables, by the table's
    name."""

    def __init__(self, values: dict[str, _Values], brokers: Mapping[int, int]) -> None:
        self.values = values
        self.changes: list[RestoreDifference] = []
        self._brokers = brokers

    def run(self) -> None:
        self._check_brokers()
        for table, why in _LEFT_OUT.items():
            gone, self.values[table] = self.values[table], {}
            names = sorted(gone) if table in ("brokers", "controllers") else ()
            self._tell(table, f"left out: {why}", names, len(gone))
        self._features()
        self._configs()
        self._drop(
            "scram",
            "the source has it redacted: set the user's password again",
            lambda key, fields: any(_is_redacted(value) for value in fields.values()),
        )
        self._partitions()

    def _check_brokers(self) -> None:
        used = {broker for one in self.values["partitions"].values() for broker in one.replicas}
        given: dict[int, int] = {}
        for broker in sorted(used | self._brokers.keys()):
            other = given.setdefault(self._broker(broker), broker)
            if other != broker:
                raise UsageError(
                    f"--map-brokers: brokers {other} and {broker} would both be broker "
                    f"{self._broker(broker)}: give each an id of its own"
                )

    def _broker(self, broker: int) -> int:
        return self._brokers.get(broker, broker)

    def _tell(
        self, table: str, detail: str, names: Sequence[object], count: int | None = None
    ) -> None:
        """Note that `count` entities of the table differ. count: None for the number of names."""
        number = len(names) if count is None else count
        if number:
            shown = tuple(map(str, names[:_SHOWN_NAMES]))
            self.changes.append(RestoreDifference(_ENTITY_OF[table], number, detail, shown))

    def _drop(self, table: str, why: str, is_gone: Callable[[Any, Any], bool]) -> None:
        values = self.values[table]
        gone = sorted(key for key, value in values.items() if is_gone(key, value))
        for key in gone:
            del values[key]
        self._tell(table, f"left out: {why}", [_shown(key) for key in gone])

    def _features(self) -> None:
        """Leave out the feature of eligible leader replicas. With it, a broker that the controller
        has never seen leaves all ISRs when it registers (Kafka: BrokerUncleanShutdownHandler). Then
        no replica of a partition could become its leader."""
        level = self.values["features"].pop(ELR_VERSION, None)
        if level:
            detail = (
                "left out, because with it brokers that register anew leave the ISR: finalize "
                f"{level} by `kafka-features upgrade` when all brokers have started"
            )
            self._tell("features", detail, [ELR_VERSION])

    def _configs(self) -> None:
        topics = set(self.values["topics"].values())
        self._drop(
            "configs",
            "the source has it redacted: set it by hand",
            lambda key, value: value.startswith(REDACTED),
        )
        self._drop(
            "configs",
            "of a topic that doesn't exist",
            lambda key, value: key[0] == TOPIC_RESOURCE and key[1] not in topics,
        )
        self.values["configs"] = {
            self._config_key(*key): value for key, value in self.values["configs"].items()
        }

    def _config_key(self, resource: int, name: str, config: str) -> tuple[int, str, str]:
        if resource in _BROKER_RESOURCES and name.isascii() and name.isdigit():
            return resource, str(self._broker(int(name))), config
        return resource, name, config

    def _partitions(self) -> None:
        topics, old = self.values["topics"], self.values["partitions"]
        self.values["partitions"] = {key: self._partition(one) for key, one in old.items()}

        def tell(detail: str, holds: Callable[[Partition], bool]) -> None:
            told = (key for key in sorted(old) if holds(old[key]))
            names = [f"{topics.get(topic, topic)}-{number}" for topic, number in told]
            self._tell("partitions", detail, names)

        tell(
            "a reassignment was under way: they stay on the replicas that they had before it",
            lambda one: bool(one.adding_replicas or one.removing_replicas),
        )
        tell(
            "none of their replicas is in sync: any of them may become the leader",
            lambda one: set(one.isr).isdisjoint(_before_reassignment(one)),
        )
        tell("without eligible leader replicas", lambda one: bool(one.elr))
        tell(
            "the leader was elected uncleanly, and its recovery was under way: the new cluster "
            "doesn't know that",
            lambda one: one.leader_recovery_state != 0,
        )
        tell(
            "without a leader until an in-sync replica has started; leader epochs rise by one",
            lambda one: True,
        )
        tell(
            "on other brokers, by --map-brokers",
            lambda one: any(self._broker(broker) != broker for broker in one.replicas),
        )

    def _partition(self, old: Partition) -> Partition:
        replicas = _before_reassignment(old)
        in_sync = tuple(one for one in old.isr if one in replicas) or replicas
        return Partition(
            replicas=tuple(map(self._broker, replicas)),
            isr=tuple(map(self._broker, in_sync)),
            removing_replicas=(),
            adding_replicas=(),
            leader=NO_NODE,
            leader_recovery_state=0,
            leader_epoch=old.leader_epoch + 1,
            partition_epoch=old.partition_epoch + 1,
            directories=(ZERO_UUID,) * len(replicas),
            elr=(),
            last_known_elr=(),
        )


def _before_reassignment(one: Partition) -> tuple[int, ...]:
    return tuple(broker for broker in one.replicas if broker not in one.adding_replicas)


def _is_redacted(value: Any) -> bool:
    if isinstance(value, bytes):
        return value.startswith(REDACTED.encode())
    return isinstance(value, str) and value.startswith(REDACTED)


def _shown(key: Any) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)
