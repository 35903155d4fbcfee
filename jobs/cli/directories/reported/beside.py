"""Two sections of the page of directories: the events that led to the verdict, and the state now.
The page of a lake has neither; it has a slider, which shows the state at any moment."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from jobs.cli.clock import ZonedClock
from jobs.cli.directories.incident import Incident, incident_events
from pipelines.html_text import Html, element, joined, ticks
from pipelines.report.sections.pieces import Column, code, head, more, number, table
from pipelines.report.view import Section
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.min_isrs import BROKER_RESOURCE
from replica.metadata.changes.releases import release_of
from replica.metadata.image.image import Image
from replica.metadata.image.state import TOPIC_RESOURCE
from replica.model.keys import NO_NODE
from replica.words import counted, listed, named, sentence

MAX_LEADERLESS, MAX_CONFIGS, MAX_VALUES = 10, 40, 3


def events(incident: Incident, clock: ZonedClock) -> Section:
    """What happened, and what is not known. What to do is in the summary."""
    return Section("events", "What happened", joined(_events(incident, clock)))


def _events(incident: Incident, clock: ZonedClock) -> Iterator[Html]:
    verdict = incident.verdict
    told = incident_events(incident, clock)
    if told:
        columns = (
            head("Time", lambda one: clock.words(one.at), "nowrap"),
            number("Offset", lambda one: one.offset),
            Column("Event", lambda one: one.text),
        )
        yield table("Events", told, columns)
    else:
        yield element("p", "These logs show no event that led to it.")
    for label, text in incident.beside(clock):
        yield element("p", ticks(f"{label.capitalize()}: {text}."))
    unknown = [*(f"{one.what}, because {one.why}" for one in verdict.not_judged), *incident.gaps]
    if unknown:
        yield element("h4", "What is not known")
        yield element("ul", *(element("li", ticks(sentence(one))) for one in unknown))


def state_now(cluster: Cluster, text: str, lacked: str, image: Image | None) -> Section:
    """The newest state. text: the moment of the state, in words. lacked: see leader_lacked. image:
    the same state without secrets; None where it isn't known."""
    title = "The last known state of the cluster" if lacked else "The cluster now"
    return Section("state", title, joined(_state(cluster, text, lacked, image)))


def _state(cluster: Cluster, text: str, lacked: str, image: Image | None) -> Iterator[Html]:
    yield element("p", f"As of {text}.")
    if lacked:
        told = f"The quorum has {lacked} by the verdict, and without one no broker is fenced"
        yield element("p", f"{told}: which brokers serve since then is not known.")
    points = ((element("dt", name), element("dd", what)) for name, what in _points(cluster) if what)
    yield element("dl", *(part for pair in points for part in pair))
    yield from _brokers(cluster)
    yield from _leaderless(cluster)
    if image is not None:
        yield from _configs(image)


def _points(cluster: Cluster) -> Iterator[tuple[str, str]]:
    partitions = cluster.partitions.values()
    none = sum(one.leader == NO_NODE for one in partitions)
    short = sum(len(one.isr) < len(one.replicas) for one in partitions)
    brokers, live = len(cluster.values("brokers")), len(cluster.live_brokers)
    yield "Topics", f"{len(cluster.values('topics')):,}"
    yield (
        "Partitions",
        f"{len(partitions):,}: {none:,} without leader, {short:,} with fewer in-sync replicas than "
        "replicas",
    )
    yield "Brokers", f"{brokers}: {live} serving, {brokers - live} fenced or shutting down"
    yield "Voters", named("node", [str(one) for one in sorted(cluster.voters)])
    level = cluster.metadata_version
    yield "metadata.version", "" if level is None else release_of(level)
    acls, users = len(cluster.values("acls")), len(cluster.values("scram"))
    if acls or users:
        yield "Access", f"{counted(acls, 'ACL')}, {counted(users, 'SCRAM credential')}"


def _brokers(cluster: Cluster) -> Iterator[Html]:
    brokers: Mapping[int, Mapping[str, Any]] = cluster.values("brokers")
    leads: dict[int, int] = defaultdict(int)
    for partition in cluster.partitions.values():
        leads[partition.leader] += 1
    columns = (
        head("Broker", lambda one: one),
        Column("State", lambda one: _state_of(brokers[one], is_live=one in cluster.live_brokers)),
        Column("Rack", lambda one: brokers[one].get("rack")),
        number("Replicas", lambda one: cluster.replicas_by_broker.get(one, 0)),
        number("Leads", lambda one: leads[one]),
        Column("Listeners", lambda one: _listeners(brokers[one]), "path"),
    )
    if brokers:
        yield element("h4", "Brokers")
        yield table("Brokers", sorted(brokers), columns)


def _state_of(fields: Mapping[str, Any], *, is_live: bool) -> str:
    return "serving" if is_live else "fenced" if fields["fenced"] else "shutting down"


def _listeners(fields: Mapping[str, Any]) -> str:
    points = fields.get("endPoints") or ()
    return listed([f"{one['name']} {one['host']}:{one['port']}" for one in points], limit=4)


def _leaderless(cluster: Cluster) -> Iterator[Html]:
    """A table of the first MAX_LEADERLESS topics that have partitions without leader, those with
    the most such partitions first; nothing where there is no such topic."""
    topics: Mapping[str, str] = cluster.values("topics")
    every = Counter(topic for topic, _ in cluster.partitions)
    without: Counter[str] = Counter()
    brokers: dict[str, set[int]] = defaultdict(set)
    for (topic, _), partition in cluster.partitions.items():
        if partition.leader == NO_NODE:
            without[topic] += 1
            brokers[topic].update(partition.replicas)
    if not without:
        return
    rows = sorted((-count, topics.get(one, one), one) for one, count in without.items())
    columns = (
        head("Topic", lambda row: row[1]),
        number("Without leader", lambda row: -row[0]),
        number("Of its partitions", lambda row: every[row[2]]),
        Column("Their replicas are on", lambda row: _brokers_text(brokers[row[2]])),
    )
    yield element("h4", "Partitions without leader")
    yield table("Partitions without leader", rows[:MAX_LEADERLESS], columns)
    yield more(len(rows) - MAX_LEADERLESS, "topics with partitions without leader", "")


def _brokers_text(ids: Collection[int]) -> str:
    return named("broker", [str(one) for one in sorted(ids)], limit=6)


class _Setting(NamedTuple):
    """A config of a resource.

    kind: the type of the resource.
    of: the name of the resource, such as a broker's id; "" for all topics together.
    name: the name of the config.
    """

    kind: int
    of: str
    name: str


def _configs(image: Image) -> Iterator[Html]:
    """A table of the first MAX_CONFIGS configs that somebody set; nothing where none was set. For a
    config of topics it has the number of topics with each value."""
    found: dict[_Setting, Counter[str]] = defaultdict(Counter)
    for (kind, resource, name), value in image.tables["configs"].values.items():
        of = "" if kind == TOPIC_RESOURCE else resource
        found[_Setting(kind, of, name)][value] += 1
    rows = sorted(found.items(), key=lambda one: (one[0].kind == TOPIC_RESOURCE, one[0]))
    columns = (
        head("Of", lambda row: _resource(row[0], row[1].total())),
        Column("Config", lambda row: row[0].name),
        Column("Value", lambda row: _values(row[0], row[1])),
    )
    if rows:
        yield element("h4", "Configs that were set")
        yield table("Configs that were set", rows[:MAX_CONFIGS], columns)
        yield more(len(rows) - MAX_CONFIGS, "configs", "")


def _resource(one: _Setting, count: int) -> str:
    if one.kind == TOPIC_RESOURCE:
        return counted(count, "topic")
    if one.kind == BROKER_RESOURCE:
        return f"broker {one.of}" if one.of else "all brokers"
    return f"resource type {one.kind}: {one.of}"


def _values(one: _Setting, values: Counter[str]) -> Html:
    shown = [
        joined((code(value), f" on {count}" if one.kind == TOPIC_RESOURCE else ""))
        for value, count in values.most_common(MAX_VALUES)
    ]
    left = len(values) - len(shown)
    rest = [f"and {left} more values"] if left else []
    return joined([*shown, *rest], Html(", "))
