"""Judges an older Kafka release on the current directories: what its nodes can't read at their
start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from replica.doctor.health.cluster import Cluster
from replica.doctor.preflight.answer import Preflight, Reason, note, preflight, unknown, unsafe
from replica.doctor.preflight.majority import caught_up_needs
from replica.metadata.changes.readers import Reader, reader_of
from replica.metadata.changes.unread import BOOTSTRAP, Unread, UnreadPlace, unread_level, why_kept
from replica.metadata.image.settings import METADATA_VERSION
from replica.model.control import KRAFT_VERSION
from replica.shell_text import line
from replica.words import named


class NodeReading(NamedTuple):
    """What a release can't read in one node's directory."""

    node_id: int | None
    """The node's id; None if no meta.properties names it."""
    shown: str
    places: tuple[UnreadPlace, ...]
    is_whole: bool = True
    """Whether the whole log of the node could be read."""
    is_of_quorum: bool = False
    """Whether the log of a running quorum was read, not a node's directory: each node may have a
    newer snapshot, after which it reads less of the log."""

    @property
    def name(self) -> str:
        return self.shown if self.node_id is None else str(self.node_id)


def downgrade_binaries(
    cluster: Cluster, release: str, readings: Sequence[NodeReading], not_judged: str = ""
) -> Preflight:
    """The start of all nodes with an older release, on the current directories.

    release: a key of NEWEST_LEVELS.
    readings: what this release can't read in each given directory.
    not_judged: what is unknown about the nodes; "" for nothing.
    """
    reader = reader_of(release)
    reasons = [*_of_places(cluster, reader, readings)]
    for one in readings:
        if not one.is_whole:
            told = "a part of its log can't be read: `kraftlake check` says which"
            reasons.append(unknown(f"node {one.name}", told))
    action = f"run Kafka {release} on these directories"
    needs = [not_judged] * bool(not_judged)
    if not any(one.is_of_quorum for one in readings):
        needs += _needs(cluster, readings)
        needs += caught_up_needs(
            cluster, [one.node_id for one in readings if one.node_id is not None]
        )
    return replace(preflight(action, reasons, tuple(needs)), asks_quorum=False)


def _of_places(
    cluster: Cluster, reader: Reader, readings: Sequence[NodeReading]
) -> Iterator[Reason]:
    """A reason for each kind of unreadable content, for all nodes that have it."""
    alike: dict[tuple[Unread, bool], list[tuple[str, UnreadPlace]]] = {}
    for reading in readings:
        if reading.is_of_quorum:
            yield from _of_quorum(cluster, reader, reading)
            continue
        for place in reading.places:
            alike.setdefault((place.unread, place.at_start), []).append((reading.name, place))
    for (unread, at_start), places in alike.items():
        nodes = named("node", [name for name, _ in places])
        offset = min((one.offset for _, one in places if one.offset is not None), default=None)
        if not at_start:
            told = f"{unread.why}. It is behind the newest snapshot of {nodes}: only a node with "
            yield note(unread.subject, f"{told}an empty disk reads it", offset)
        elif not unread.is_fatal:
            yield note(unread.subject, f"{unread.why}. On {nodes}", offset)
        else:
            told = f"{unread.why}. It would end {nodes}"
            yield unsafe(unread.subject, told + _way_out(cluster, reader, unread.subject), offset)


def _of_quorum(cluster: Cluster, reader: Reader, reading: NodeReading) -> Iterator[Reason]:
    """A reason for each kind of unreadable content in a quorum's log. Each node reads the values in
    force, and the records behind its newest snapshot."""
    for place in reading.places:
        unread, offset = place.unread, place.offset
        if not (place.at_start and unread.is_fatal):
            yield note(unread.subject, f"{unread.why}. In the quorum's log", offset)
        elif _is_in_force(cluster, reader, unread.subject):
            way_out = _way_out(cluster, reader, unread.subject)
            yield unsafe(unread.subject, f"{unread.why}. It would end every node{way_out}", offset)
        else:
            told = "It ends each node whose newest snapshot doesn't lie above it: name the nodes'"
            yield unknown(unread.subject, f"{unread.why}. {told} directories", offset)


def _is_in_force(cluster: Cluster, reader: Reader, subject: str) -> bool:
    """Whether the subject is a feature with a current level at which a node of the release would
    stop."""
    if subject not in (*cluster.values("features"), KRAFT_VERSION):
        return False
    return unread_level(reader, subject, cluster.level(subject)) is not None


def _way_out(cluster: Cluster, reader: Reader, subject: str) -> str:
    """What can be done about a level or a bootstrap file that the release can't read, as the end of
    a text; "" for all else."""
    if subject == BOOTSTRAP:
        return ". A log with records needs this file no more: put it aside"
    is_metadata = subject == METADATA_VERSION
    if not is_metadata and subject not in cluster.values("features") and subject != KRAFT_VERSION:
        return ""
    now = (cluster.metadata_version or 0) if is_metadata else cluster.level(subject)
    if unread_level(reader, subject, now) is None:
        return (
            ". It is no longer in force: the nodes start once each of them has written a snapshot "
            "above this offset"
        )
    if is_metadata and why_kept(now, reader.levels[-1]) is not None:
        return ". Kafka refuses to lower it, also with --unsafe"
    if is_metadata:
        judge = line("kraftlake", "plan", "--downgrade", reader.release)
        return f". Lower it first: `{judge}` says whether Kafka does"
    if subject == KRAFT_VERSION:
        return ". Kafka lowers it never: dynamic voters stay dynamic"
    return f". Lower it first, to {reader.features.get(subject, 0)}"


def _needs(cluster: Cluster, readings: Sequence[NodeReading]) -> Iterator[str]:
    given = {one.node_id for one in readings}
    nodes = cluster.voters | set(cluster.values("brokers")) | set(cluster.values("controllers"))
    missing = sorted(nodes - given)
    if missing:
        names = named("node", [str(one) for one in missing], limit=5)
        if len(missing) == 1:
            yield f"the directory of {names}, which was not given, has to be readable too"
        else:
            yield f"the directories of {names}, which were not given, have to be readable too"
