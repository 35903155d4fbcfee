"""Finds the brokers that are down and whose start is a danger unless all their log directories are
there: with a new, empty directory, the broker is elected without any record, and the other replicas
truncate their logs to its empty log (Kafka elects by the metadata, not by what a disk holds)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from replica.doctor.health.cluster import Cluster
from replica.doctor.health.emptied import emptied_partitions
from replica.doctor.health.live_replicas import eligible_to_lead
from replica.model.keys import NO_NODE
from replica.words import listed, named, shortened

_SHOWN = 5


class AbsentDirectories(NamedTuple):
    """A broker that is down, has several log directories, and without which partitions have no
    leader. Partitions are given by their names."""

    broker: int
    registered: int
    """The number of log directories that the broker registered."""
    absent: tuple[str, ...] = ()
    """The ids of the registered directories that were not given, if other registered directories
    were given. Empty if none was given, or if nothing is known of what was given."""
    held: tuple[str, ...] = ()
    """The partitions whose replica lies in an absent directory, the partitions of `waiting`
    first."""
    waiting: tuple[str, ...] = ()
    """The partitions without leader that wait for a replica in an absent directory."""
    others: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """For each partition of `waiting`: the live brokers with other replicas of the partition,
    without the emptied brokers, which have to stop."""
    kept: tuple[str, ...] = ()
    """The partitions without leader that wait for a replica in a given directory."""

    @property
    def others_up(self) -> tuple[int, ...]:
        """The brokers of `others`, by id."""
        return tuple(sorted({broker for _, brokers in self.others for broker in brokers}))


def absent_directories(cluster: Cluster) -> Mapping[int, AbsentDirectories]:
    """The AbsentDirectories of each broker that is down, by broker id. A broker is left out if it
    has a single log directory, if all its directories were given, or if no partition waits for a
    replica in an absent directory."""
    found = {}
    emptied = frozenset(emptied_partitions(cluster).values())
    for broker, online in cluster.online_directories.items():
        if broker in cluster.live_brokers or len(online) < 2:
            continue
        given = cluster.given_directories.get(broker, frozenset()) & online
        if given != online and (one := _of(cluster, broker, online, given, emptied)) is not None:
            found[broker] = one
    return found


def _of(
    cluster: Cluster,
    broker: int,
    online: frozenset[str],
    given: frozenset[str],
    emptied: frozenset[int],
) -> AbsentDirectories | None:
    held, waiting, kept = [], [], []
    for key, partition in cluster.partitions.items():
        if broker not in partition.replicas:
            continue
        name = cluster.name_of(key)
        is_waiting = partition.leader == NO_NODE and broker in eligible_to_lead(partition)
        if partition.directories[partition.replicas.index(broker)] in given:
            kept += [name] * is_waiting
            continue
        held.append(name)
        if is_waiting:
            up = {one for one in partition.replicas if cluster.can_lead(partition, one)}
            waiting.append((name, tuple(sorted(up - emptied))))
    if not waiting:
        return None
    if not given:
        return AbsentDirectories(broker, len(online))
    names = sorted(name for name, _ in waiting)
    return AbsentDirectories(
        broker,
        len(online),
        tuple(sorted(online - given)),
        (*names, *sorted(set(held).difference(names))),
        tuple(names),
        tuple(sorted(waiting)),
        tuple(sorted(kept)),
    )


def not_before(one: AbsentDirectories) -> str:
    """A sentence that says when the broker must not start, if some of its directories were given
    and others not; else ""."""
    if not one.absent:
        return ""
    is_one = len(one.absent) == 1
    which = f"{'directory' if is_one else 'directories'} {listed(one.absent, limit=2)}"
    was, place = ("was", "its place") if is_one else ("were", "their place")
    return (
        f"Do not start broker {one.broker} while one of its {one.registered} log directories is "
        f"missing or empty: {which} ({_names(one.held)}) {was} not given, and with an empty one in "
        f"{place} broker {one.broker} may lead {_names(one.waiting)} without any record."
    )


def with_all(one: AbsentDirectories) -> str:
    """A sentence that says what the broker needs before it starts, if none of its directories was
    given; else ""."""
    if one.absent:
        return ""
    return (
        f"Make sure that broker {one.broker} has all of its {one.registered} log directories: with "
        "a new, empty one in the place of another it may lead partitions without any record."
    )


def if_lost(one: AbsentDirectories) -> str:
    """Sentences for the case that the absent directories are lost. They come before the step that
    starts the broker."""
    told = []
    if having := [name for name, brokers in one.others if brokers]:
        on = named("broker", [str(broker) for broker in one.others_up], limit=_SHOWN)
        told.append(
            f"elect {_names(having)} uncleanly on {on} while broker {one.broker} is down (records "
            f"that only broker {one.broker} had are lost)"
        )
    if alone := [name for name, brokers in one.others if not brokers]:
        has = "has" if len(alone) == 1 else "have"
        told.append(f"{_names(alone)} {has} no other replica that runs")
    kept = ""
    if one.kept:
        kept = (
            f" Elect {_names(one.kept)} not so: broker {one.broker} has the newest copy in a log "
            "directory that was given."
        )
    them = "that directory is" if len(one.absent) == 1 else "these directories are"
    return f"If {them} lost, {' and '.join(told)}.{kept}"


def _names(partitions: Sequence[str]) -> str:
    return listed([shortened(one) for one in partitions], limit=_SHOWN)
