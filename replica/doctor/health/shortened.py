"""Finds topics whose retention was shortened while a broker with their replicas was down.

The broker applies the new value when it starts. It then deletes records, and no other disk may hold
these records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Subject
from replica.doctor.health.cluster import Cluster, Shortened
from replica.doctor.health.min_isrs import BROKER_RESOURCE
from replica.doctor.health.rewound import VisibleChange
from replica.metadata.image.state import TOPIC_RESOURCE
from replica.metadata.topic_configs import TOPIC_CONFIGS, TopicConfig
from replica.words import listed

_CONFIGS = {
    one.name: one
    for one in TOPIC_CONFIGS
    if one.name in ("retention.ms", "retention.bytes", "cleanup.policy")
}
_BY_AGE = "retention.ms"
_SHOWN = 2
NAMES = frozenset(
    name for one in _CONFIGS.values() for name in (one.name, *(b.name for b in one.of_brokers))
)
"""The configs of topics and brokers that decide which records a broker deletes."""
_Key = tuple[int, str, str]


def brokers_down(cluster: Cluster) -> Mapping[int, int]:
    """The fenced brokers that hold replicas, each with the offset of the record that last changed
    its registration."""
    brokers, offsets = cluster.values("brokers"), cluster.offsets("brokers")
    held = cluster.replicas_by_broker
    return {one: offsets[one] for one in held if one in brokers and brokers[one]["fenced"]}


def shortened_while_down(
    cluster: Cluster, steps: Callable[[], Iterable[VisibleChange]]
) -> tuple[Shortened, ...]:
    """The configs that were shortened while a broker was down, for each broker that is still down.
    A topic that is younger than its new retention.ms is left out: the broker has none of its
    records to delete.

    steps: gives the changes that led to the state, newest first. It is called only if a broker is
    down. It is read back to the first fencing of these brokers, and further back to the creation of
    each topic whose retention.ms was shortened.
    """
    down = set(brokers_down(cluster))
    if not down:
        return ()
    back, found = _Back(), dict[int, _Back]()
    remaining = iter(steps())
    for step in remaining:
        ended = {key for table, key, _ in step.before if table == "brokers"} & down
        found |= {one: back.copy() for one in ended}
        down -= ended
        if not down:
            break
        back.take(step)
    found |= dict.fromkeys(down, back)
    all_found = [one for broker in sorted(found) for one in _of(cluster, broker, found[broker])]
    aged = {one.topic for one in all_found if one.config == _BY_AGE}
    ids = {key: name for key, name in cluster.values("topics").items() if name in aged}
    for older in remaining if aged else ():
        back.take(older)
        if ids.keys() <= back.created.keys():
            break
    created = {name: back.created.get(key) for key, name in ids.items()}
    return tuple(
        one
        for one in all_found
        if one.config != _BY_AGE or not _is_younger(one, created[one.topic], cluster.now)
    )


def _is_younger(one: Shortened, created: int | None, now: int | None) -> bool:
    """Whether the topic is known to be younger than its new retention.ms. created: when it was
    created, in ms since 1970 (UTC); None if the steps don't show it."""
    limit = _limit(one.now)
    if created is None or now is None or limit is None:
        return False
    return now - created < limit


@dataclass
class _Back:
    """Earlier values of the newest state's configs and topics, as far as changes were undone."""

    values: dict[_Key, str | None] = field(default_factory=dict)
    """The earlier values of the configs; None if there was none."""
    offsets: dict[_Key, int] = field(default_factory=dict)
    """The offset of the newest change of each config in `values`."""
    created: dict[str, int | None] = field(default_factory=dict)
    """The time of the creation of each topic whose creation was undone, by topic id, in ms since
    1970 (UTC); None if the record has no time."""

    def take(self, step: VisibleChange) -> None:
        for table, key, value in step.before:
            if table == "topics" and value is None:
                self.created[key] = step.at
            elif table == "configs" and key[2] in NAMES:
                self.values[key] = value
                self.offsets.setdefault(key, step.offset)

    def copy(self) -> _Back:
        return _Back(self.values.copy(), self.offsets.copy(), self.created.copy())


def _of(cluster: Cluster, broker: int, back: _Back) -> Iterator[Shortened]:
    if not back.values:
        return
    now: Mapping[_Key, str] = cluster.values("configs")
    names = cluster.values("topics")
    held = {key[0] for key, one in cluster.partitions.items() if broker in one.replicas}
    file = cluster.broker_defaults
    for topic in sorted(names[one] for one in held - back.created.keys()):
        policy = _in_force(_CONFIGS["cleanup.policy"], topic, broker, now.get, file)
        for config in _CONFIGS.values():
            keys = [key for key in _keys(config, topic, broker) if key in back.values]
            if not keys or (config.name != "cleanup.policy" and "delete" not in policy):
                continue

            def then(key: _Key) -> str | None:
                return back.values[key] if key in back.values else now.get(key)

            was = _in_force(config, topic, broker, then, file)
            value = _in_force(config, topic, broker, now.get, file)
            if _deletes_more(config.name, was, value):
                offset = max(back.offsets[key] for key in keys)
                yield Shortened(broker, topic, config.name, was, value, offset)


def _keys(config: TopicConfig, topic: str, broker: int) -> Iterator[_Key]:
    """The keys of the configs in the log that can set this config for the topic on the broker. The
    first key that has a value decides."""
    yield TOPIC_RESOURCE, topic, config.name
    for resource in (str(broker), ""):
        yield from ((BROKER_RESOURCE, resource, one.name) for one in config.of_brokers)


def _in_force(
    config: TopicConfig,
    topic: str,
    broker: int,
    value_of: Callable[[_Key], str | None],
    file: Mapping[str, str],
) -> str:
    units = {one.name: one for one in config.of_brokers}
    for key in _keys(config, topic, broker):
        if (value := value_of(key)) is not None:
            return units[key[2]].value_for_topics(value) if key[2] in units else value
    in_file = (
        one.value_for_topics(file[one.name]) for one in config.of_brokers if one.name in file
    )
    return next(in_file, config.default)


def _deletes_more(name: str, was: str, now: str) -> bool:
    if name == "cleanup.policy":
        return bool(_policies(now) - _policies(was))
    before, after = _limit(was), _limit(now)
    return before is not None and after is not None and after < before


def _policies(text: str) -> set[str]:
    return {one.strip() for one in text.split(",")} & {"delete", "compact"}


def _limit(text: str) -> float | None:
    """A limit as a number; infinity for a negative number, which means no limit. None for any other
    text."""
    if not text.removeprefix("-").isdecimal():
        return None
    number = int(text)
    return float("inf") if number < 0 else float(number)


def judge_shortened(cluster: Cluster) -> Iterator[Finding]:
    """The finding about topics of which a broker deletes records when it starts, because a config
    was shortened while the broker was down."""
    subjects = [
        Subject(
            f"topic {one.topic}",
            f"{one.config} became {one.now} ({one.was} before) while broker {one.broker} was down",
            one.offset,
        )
        for one in cluster.shortened
    ]
    found = [f"{one.name}: {one.what}" for one in subjects]
    yield from cluster.about(health.RETENTION_SHORTENED, listed(found, limit=_SHOWN), subjects)
