"""What the user asks about: entities whose changes a command shows, and a cluster at a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jobs.cli.commands.asking import StateOptions
from jobs.cli.commands.options import lake_unless
from jobs.cli.commands.planning import PlanOptions
from jobs.cli.moments import Moment, asked_moment
from pipelines.lake import Lake

_USER = "User:"


@dataclass(frozen=True, slots=True)
class AskedCluster:
    """A cluster in directories, or in a lake at a moment.

    lake: None where the cluster is in `paths`. cluster: its id; None for the only cluster there.
    committed_only: whether only records count that are proven to be committed.
    """

    paths: Sequence[str]
    lake: Lake | None
    cluster: str | None
    moment: Moment
    committed_only: bool


def asked_cluster(options: StateOptions | PlanOptions, command: str) -> AskedCluster:
    """The cluster that the options name. command: its name, for messages. Raises UsageError."""
    lake = lake_unless(options.paths, options.lake, command)
    moment = asked_moment(options.at_offset, options.at_time)
    paths = options.paths or ()
    return AskedCluster(paths, lake, options.cluster, moment, options.committed_only)


@dataclass(frozen=True, slots=True)
class About:
    """The entities whose history is asked for. A field that is None excludes nothing. Where several
    fields are given, all must hold."""

    topic: str | None = None
    broker: int | None = None
    principal: str | None = None
    config: str | None = None

    def holds(self, entity: str, name: str) -> bool:
        """Whether the change of an entity is asked for. entity: its kind. name: its name for
        people."""
        return all(entity in kinds and is_about(entity, name) for kinds, is_about in self._tests())

    def entities(self) -> frozenset[str] | None:
        """The kinds of entities that are possible, None for all."""
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
            yield ("config",), lambda entity, name: name.endswith(f": {self.config}")

    def _is_of_topic(self, entity: str, name: str) -> bool:
        topic = self.topic
        return (
            (entity == "topic" and name == topic)
            or (entity == "partition" and name.rpartition("-")[0] == topic)
            or (entity == "config" and name.startswith(f"topic {topic}: "))
            or (entity == "acl" and name.endswith(f" on topic {topic}"))
        )

    def _is_of_broker(self, entity: str, name: str) -> bool:
        broker = f"broker {self.broker}"
        return (entity == "broker" and name == broker) or (
            entity == "config" and name.startswith(f"{broker}: ")
        )

    def _is_of_principal(self, entity: str, name: str) -> bool:
        given = self.principal or ""
        principal = given if ":" in given else _USER + given
        user = principal.removeprefix(_USER)
        return (
            (entity == "acl" and name.startswith(f"{principal} from "))
            or (entity == "delegation_token" and name.startswith(f"{principal} "))
            or (entity == "scram" and name.rpartition(" ")[0] == user)
            or (entity == "client_quota" and f"user {user}" in name.rpartition(": ")[0].split(", "))
        )
