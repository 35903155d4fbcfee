"""The value of a config that is in force for a topic, a broker or a group, and its source.

A value in the metadata log overrides a value in server.properties, and a value of the resource
itself overrides the default of all brokers (Kafka: ConfigHelper, DynamicBrokerConfig). A topic or
group without its own value has the value of the broker that leads the partition, or coordinates the
group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from replica.metadata.image.state import TOPIC_RESOURCE
from replica.metadata.known_configs import KNOWN_CONFIGS
from replica.metadata.topic_configs import TOPIC_CONFIGS, BrokerConfig, TopicConfig

BROKER_RESOURCE, GROUP_RESOURCE = 4, 32
"""The numbers of BROKER and GROUP in Kafka's ConfigResource.Type."""
ALL_BROKERS, FILE, KAFKA = "all brokers", "server.properties", "Kafka's default"
"""Sources: the default of all brokers in the log (kafka-configs.sh --entity-default), a broker's
file, and Kafka's own default."""
_GROUP_PREFIX = "group."
"""A broker's config with this prefix is the default of the group's config without the prefix."""
_KINDS_OF_GROUPS = ("consumer.", "share.", "streams.")


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that the metadata log or a file sets."""

    value: str
    offset: int | None = None
    """The offset of the record that set the value; None if a snapshot or a file set it."""
    at: int | None = None
    """The time of the record at `offset`, in ms since 1970 (UTC); None if it is unknown."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The values that the log and a file set for configs, by the names of resource and config."""

    topics: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)
    brokers: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)
    """The dynamic configs of each broker; "" is the default of all brokers."""
    groups: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)
    file: Mapping[str, Setting] = field(default_factory=dict)
    """The configs of a broker's server.properties."""


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """The value of a config that is in force."""

    name: str
    value: str
    source: str
    """The source of the value: `topic NAME`, `broker ID`, `group NAME`, ALL_BROKERS, FILE or KAFKA.
    If a topic's or group's value comes from a broker, it holds on this broker."""
    set_as: str
    """The name by which the source sets the config, such as log.retention.hours for
    retention.ms."""
    offset: int | None
    """The offset of the record that set the value; None if a snapshot, a file or Kafka's default
    set it."""
    at: int | None
    """The time of the record at `offset`, in ms since 1970 (UTC); None if it is unknown."""
    instead_of: tuple[str, ...]
    """The values that this value overrides, such as `all brokers: 4 (offset 42)`."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    source: str
    config: BrokerConfig
    setting: Setting

    @property
    def value(self) -> str:
        return self.config.value_for_topics(self.setting.value)

    @property
    def shown(self) -> str:
        where = "" if self.setting.offset is None else f" (offset {self.setting.offset})"
        return f"{self.source}: {self.value}{where}"


def settings_of(
    configs: Iterable[tuple[int, str, str, Setting]], file: Mapping[str, str]
) -> Settings:
    """The settings of a state and of a file. configs: resource type, resource, name and setting of
    each config of the state."""
    found: dict[int, dict[str, dict[str, Setting]]] = {
        kind: {} for kind in (TOPIC_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE)
    }
    for kind, resource, name, setting in configs:
        if kind in found:
            found[kind].setdefault(resource, {})[name] = setting
    in_file = {name: Setting(value) for name, value in file.items()}
    return Settings(found[TOPIC_RESOURCE], found[BROKER_RESOURCE], found[GROUP_RESOURCE], in_file)


def of_topic(topic: str, settings: Settings) -> Iterator[EffectiveConfig]:
    """All configs of a topic, by name. A config that the topic doesn't set has a further value for
    each broker that sets it for itself."""
    own = settings.topics.get(topic, {})
    known = {one.name: one for one in TOPIC_CONFIGS}
    for name in sorted({*known, *own}):
        config = known.get(name, TopicConfig(name, ""))
        default = config.default if name in known else None
        yield from _resolved(name, f"topic {topic}", own, config.of_brokers, settings, default)


def of_group(group: str, settings: Settings) -> Iterator[EffectiveConfig]:
    """The configs of a group that the log or a file sets, for the group or for brokers, by name. A
    config that the group doesn't set has a further value for each broker that sets it for itself.
    """
    own = settings.groups.get(group, {})
    of_brokers = {
        name.removeprefix(_GROUP_PREFIX)
        for one in (*settings.brokers.values(), settings.file)
        for name in one
        if name.startswith(_GROUP_PREFIX)
    }
    defaults = {one for one in of_brokers & KNOWN_CONFIGS if one.startswith(_KINDS_OF_GROUPS)}
    for name in sorted({*own, *defaults}):
        of_broker = (BrokerConfig(f"{_GROUP_PREFIX}{name}"),)
        yield from _resolved(name, f"group {group}", own, of_broker, settings, None)


def of_broker(broker_id: int, settings: Settings) -> Iterator[EffectiveConfig]:
    """The configs of a broker that the log or its file sets, by name. If several configs have one
    meaning, such as log.retention.ms and log.retention.hours, only the config in force is given."""
    levels = _levels(settings, str(broker_id))
    names = {name for _, held in levels for name in held}
    families: dict[str, tuple[BrokerConfig, ...]] = {name: (BrokerConfig(name),) for name in names}
    for topic_config in TOPIC_CONFIGS:
        families |= {one.name: topic_config.of_brokers for one in topic_config.of_brokers}
    for family in sorted({families[name] for name in names}, key=lambda one: one[0].name):
        plain = tuple(BrokerConfig(one.name) for one in family)
        found = [*_candidates(levels, plain)]
        yield _effective(found[0].config.name, found)


def _resolved(
    name: str,
    resource: str,
    own: Mapping[str, Setting],
    of_brokers: tuple[BrokerConfig, ...],
    settings: Settings,
    default: str | None,
) -> Iterator[EffectiveConfig]:
    first = [_Candidate(resource, BrokerConfig(name), own[name])] if name in own else []
    last = [] if default is None else [_Candidate(KAFKA, BrokerConfig(name), Setting(default))]
    shared = [*_candidates(_levels(settings), of_brokers), *last]
    if first or shared:
        yield _effective(name, [*first, *shared])
    for broker in sorted(settings.brokers, key=_by_number) if not first else ():
        mine = [*_candidates([(f"broker {broker}", settings.brokers[broker])], of_brokers)]
        if broker and mine:
            yield _effective(name, [*mine, *shared])


_Level = tuple[str, Mapping[str, Setting]]


def _levels(settings: Settings, broker: str = "") -> list[_Level]:
    """(source, settings by name) of all that set a broker's configs, the strongest first. broker:
    its id; "" for what holds for all brokers."""
    own = [(f"broker {broker}", settings.brokers.get(broker, {}))] if broker else []
    return [*own, (ALL_BROKERS, settings.brokers.get("", {})), (FILE, settings.file)]


def _candidates(levels: Iterable[_Level], configs: Iterable[BrokerConfig]) -> Iterator[_Candidate]:
    """The values of the configs, the strongest first: a level overrides later levels, and within
    one level a config overrides later configs."""
    configs = tuple(configs)
    for source, held in levels:
        for config in configs:
            if config.name in held:
                yield _Candidate(source, config, held[config.name])


def _effective(name: str, candidates: list[_Candidate]) -> EffectiveConfig:
    chosen, *hidden = candidates
    return EffectiveConfig(
        name,
        chosen.value,
        chosen.source,
        chosen.config.name,
        chosen.setting.offset,
        chosen.setting.at,
        tuple(one.shown for one in hidden),
    )


def _by_number(broker: str) -> tuple[int, str]:
    return (int(broker) if broker.isdecimal() else -1), broker
