"""Judges brokers that hold replicas and aren't live, and log directories that are offline or
cordoned."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Subject
from replica.doctor.health.absent import absent_brokers
from replica.doctor.health.cluster import LOST_DIRECTORY, Cluster
from replica.doctor.health.copy_first import copies_first
from replica.metadata.image.partition import UNASSIGNED_DIRECTORY


def judge_brokers(cluster: Cluster) -> Iterator[Finding]:
    """Findings of the rules about brokers and their directories."""
    yield from _absent(cluster)
    yield from _in_directories(cluster)
    yield from _cordoned(cluster)


def _absent(cluster: Cluster) -> Iterator[Finding]:
    held = cluster.replicas_by_broker
    brokers, offsets = cluster.values("brokers"), cluster.offsets("brokers")
    fenced, unregistered = [], []
    absent, copies = absent_brokers(cluster), copies_first(cluster)
    copied = {one.broker for one in copies if one.is_copied}
    stop = {one.broker: one.stop for one in copies if one.stop}
    for broker_id, count in sorted(held.items()):
        name, replicas = f"broker {broker_id}", f"{count} replica{'s' * (count > 1)}"
        if broker_id in copied:
            replicas += "; copy its log directories before it starts"
        if broker_id in stop:
            replicas += f"; stop {stop[broker_id]} before"
        if broker_id not in brokers:
            unregistered.append(Subject(name, replicas))
        elif broker_id in absent:
            told = f"{absent[broker_id].value}, {replicas}"
            fenced.append(Subject(name, told, offsets[broker_id]))
    of_all = f"of {len(held)} brokers that hold replicas"
    message = f"{len(unregistered)} {of_all}"
    yield from cluster.about(health.UNREGISTERED_BROKER, message, unregistered)
    yield from cluster.about(health.FENCED_BROKER, f"{len(fenced)} {of_all}", fenced)


def _in_directories(cluster: Cluster) -> Iterator[Finding]:
    """Findings about replicas of registered brokers whose directory is lost, offline or not yet
    named."""
    offsets = cluster.offsets("partitions")
    lost, unassigned = [], []
    for key, partition in cluster.partitions.items():
        for broker_id, directory in zip(partition.replicas, partition.directories, strict=True):
            told = partial(Subject, cluster.name_of(key), offset=offsets[key])
            is_known = broker_id in cluster.online_directories
            if directory == UNASSIGNED_DIRECTORY and is_known:
                unassigned.append(told(f"on broker {broker_id}"))
            elif cluster.offline_directory(partition, broker_id) == LOST_DIRECTORY:
                lost.append(told(f"on broker {broker_id}, in a directory that was lost"))
            elif cluster.offline_directory(partition, broker_id) is not None:
                lost.append(told(f"on broker {broker_id}, in directory {directory}, not online"))
    for rule, found in ((health.LOST_DIRECTORY, lost), (health.UNASSIGNED_DIRECTORY, unassigned)):
        yield from cluster.about(rule, f"{len(found)} replica{'s' * (len(found) > 1)}", found)


def _cordoned(cluster: Cluster) -> Iterator[Finding]:
    offsets = cluster.offsets("brokers")
    subjects = [
        Subject(
            f"broker {broker_id}",
            f"{len(cordoned)} of its {len(fields['logDirs'])} log directories",
            offsets[broker_id],
        )
        for broker_id, fields in sorted(cluster.values("brokers").items())
        if (cordoned := fields["cordonedLogDirs"])
    ]
    message = f"of {len(subjects)} broker{'s' * (len(subjects) > 1)}"
    yield from cluster.about(health.CORDONED_DIRECTORY, message, subjects)
