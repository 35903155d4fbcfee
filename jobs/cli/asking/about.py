"""The subject of a question: entities whose changes a command shows, and a cluster at a moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from jobs.cli.commands.asking import StateOptions
from jobs.cli.commands.options import lake_unless, names_in, passed_over_in
from jobs.cli.commands.planning import PlanOptions
from jobs.cli.moments import NOW, Moment, asked_moment
from pipelines.lake import Lake
from replica.errors import UsageError
from replica.metadata.changes.naming import DEFAULT
from replica.metadata.image.partition import topic_of
from replica.metadata.known_configs import KNOWN_CONFIGS, is_known_config
from replica.metadata.passed_over import NOTHING, PassedOver
from replica.metadata.topic_configs import ALL_BROKER_NAMES, broker_names
from replica.words import listed

_USER = "User:"
_NEAREST = 3


@dataclass(frozen=True, slots=True)
class AskedCluster:
    """A cluster in directories, or in a lake at a moment."""

    paths: Sequence[str]
    lake: Lake | None = None
    """The lake; None where the cluster is in `paths`."""
    cluster: str | None = None
    """The id of the cluster; None for the only cluster there."""
    moment: Moment = NOW
    committed_only: bool = False
    """Whether only records that are proven to be committed count."""
    order: tuple[str, ...] = ()
    """The names of captures, the oldest first."""
    passed_over: PassedOver = NOTHING
    """The types of records that the replay of directories passes over."""


def asked_cluster(options: StateOptions | PlanOptions, command: str) -> AskedCluster:
    """The cluster that the options name. command: the name of the command, for messages. Raises
    UsageError."""
    lake = lake_unless(options.paths, options.lake, command)
    moment = asked_moment(options.at_offset, options.at_time)
    paths = options.paths or ()
    return AskedCluster(
        paths,
        lake,
        options.cluster,
        moment,
        options.committed_only,
        names_in(options.order),
        passed_over_in(options.pass_over),
    )


@dataclass(frozen=True, slots=True)
class About:
    """The entities whose history the user asks for. A field that is None excludes nothing. Where
    several fields are given, all must hold."""

    topic: str | None = None
    broker: int | None = None
    principal: str | None = None
    config: str | None = None
    with_defaults: bool = False
    """Whether a topic's configs include those of the brokers that apply where the topic sets
    none."""

    def holds(self, entity: str, name: str) -> bool:
        """Whether the user asks for the changes of an entity. entity: its kind. name: its name for
        people."""
        return all(entity in kinds and is_about(entity, name) for kinds, is_about in self._tests())

    def entities(self) -> frozenset[str] | None:
        """The kinds of entities that are possible; None for all kinds."""
        kinds = [frozenset(possible) for possible, _ in self._tests()]
        return frozenset.intersection(*kinds) if kinds else None

    def _tests(self) -> Iterator[tuple[tuple[str, ...], Callable[[str, str], bool]]]:
        """(possible kinds of entities, test of kind and name) for each field that is given."""
        if self.topic is not None:
            yield ("topic", "partition", "config", "acl"), self._is_of_topic
        if self.broker is not None:
            yield ("broker", "config"), self._is_of_broker
        if self.principal is not None:
            yield ("acl", "delegation_token", "scram", "client_quota"), self._is_of_principal
        if self.config is not None:
            yield ("config",), lambda entity, name: name.endswith(self._config_endings())

    def refuse_unknown(self, known: KnownNames) -> None:
        """Raises UsageError for an unknown topic, broker, principal or config. The error's message
        has the nearest names.

        A config that Kafka knows may never have been set, which is no error.
        """
        if self.topic is not None and self.topic not in known.topics:
            raise _unknown("--topic", self.topic, "topic", known.topics)
        if self.broker is not None and self.broker not in known.brokers:
            brokers = {str(one) for one in sorted(known.brokers)}
            raise _unknown("--broker", str(self.broker), "broker", brokers)
        if self.principal is not None and self._full_principal not in known.principals:
            raise _unknown("--principal", self._full_principal, "principal", known.principals)
        if self.config is None or is_known_config(self.config) or self.config in known.configs:
            return
        raise _unknown("--config", self.config, "config", known.configs | KNOWN_CONFIGS)

    @property
    def _full_principal(self) -> str:
        given = self.principal or ""
        return given if ":" in given else _USER + given

    def _config_endings(self) -> tuple[str, ...]:
        config = self.config or ""
        names = broker_names(config) if self.with_defaults and self.topic is not None else ()
        return tuple(f": {one}" for one in (config, *names))

    def _is_default(self, name: str) -> bool:
        resource, _, config = name.rpartition(": ")
        return self.with_defaults and resource.startswith("broker ") and config in ALL_BROKER_NAMES

    def _is_of_topic(self, entity: str, name: str) -> bool:
        topic = self.topic
        return (
            (entity == "topic" and name == topic)
            or (entity == "partition" and topic_of(name) == topic)
            or (
                entity == "config"
                and (name.startswith(f"topic {topic}: ") or self._is_default(name))
            )
            or (entity == "acl" and name.endswith(f" on topic {topic}"))
        )

    def _is_of_broker(self, entity: str, name: str) -> bool:
        broker = f"broker {self.broker}"
        own_and_default = f"{broker}: ", f"broker {DEFAULT}: "
        return (entity == "broker" and name == broker) or (
            entity == "config" and name.startswith(own_and_default)
        )

    def _is_of_principal(self, entity: str, name: str) -> bool:
        principal = self._full_principal
        user = principal.removeprefix(_USER)
        own_and_default = {f"user {user}", f"user {DEFAULT}"}
        return (
            (entity == "acl" and name.startswith(f"{principal} from "))
            or (entity == "delegation_token" and name.startswith(f"{principal} "))
            or (entity == "scram" and name.rpartition(" ")[0] == user)
            or (
                entity == "client_quota"
                and not own_and_default.isdisjoint(name.rpartition(": ")[0].split(", "))
            )
        )


def _unknown(option: str, name: str, what: str, known: Collection[str]) -> UsageError:
    """The error for a name that isn't among the `known` names. Its message suggests similar names.
    option: the option whose value is the name. what: the word for what has such a name, such as
    topic."""
    close = get_close_matches(name, known, n=_NEAREST, cutoff=0.6)
    if close:
        hint = f"did you mean {listed(close, last='or')}?"
    elif known:
        hint = f"known are {listed(sorted(known), limit=_NEAREST)}"
    else:
        hint = f"what was read names no {what}"
    return UsageError(f"{option} {name}: no {what} of that name; {hint}")


@dataclass
class KnownNames:
    """The names of all known topics, brokers, principals and configs, whether they exist now or did
    once."""

    topics: set[str] = field(default_factory=set)
    brokers: set[int] = field(default_factory=set)
    principals: set[str] = field(default_factory=set)
    """The principals with their type, such as User:alice."""
    configs: set[str] = field(default_factory=set)

    def add(self, entity: str, name: str) -> None:
        """Adds the topics, brokers, principals and configs that an entity's name contains. entity:
        the kind of entity. name: its name as people read it."""
        if entity == "topic":
            self.topics.add(name)
        elif entity == "broker":
            self.brokers.add(int(name.removeprefix("broker ")))
        elif entity == "config":
            resource, _, config = name.rpartition(": ")
            kind, _, of = resource.partition(" ")
            self.configs.add(config)
            if kind == "topic":
                self.topics.add(of)
            elif kind == "broker" and of.isdecimal():
                self.brokers.add(int(of))
        elif entity == "acl":
            self.principals.add(name.partition(" from ")[0])
            _, of_topic, topic = name.rpartition(" on topic ")
            self.topics.update([topic] if of_topic else [])
        elif entity in ("scram", "delegation_token"):
            owner = name.rpartition(" ")[0]
            self.principals.add(owner if entity == "delegation_token" else _USER + owner)
        elif entity == "client_quota":
            parts = name.rpartition(": ")[0].split(", ")
            users = (part.removeprefix("user ") for part in parts if part.startswith("user "))
            self.principals.update(_USER + user for user in users)
