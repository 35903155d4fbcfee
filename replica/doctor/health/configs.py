"""Dynamic configs of topics and brokers that don't exist."""

from __future__ import annotations

from collections.abc import Iterator

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Subject
from replica.doctor.health.cluster import BROKER_RESOURCE, Cluster
from replica.metadata.image.state import TOPIC_RESOURCE


def judge_configs(cluster: Cluster) -> Iterator[Finding]:
    """One finding about all dynamic configs of topics and brokers that don't exist."""
    topics = set(cluster.values("topics").values())
    brokers = {str(broker_id) for broker_id in cluster.values("brokers")}
    offsets = cluster.offsets("configs")
    subjects = []
    for key in sorted(cluster.values("configs")):
        resource_type, resource, name = key
        if resource_type == TOPIC_RESOURCE and resource not in topics:
            subjects.append(Subject(f"topic {resource}", name, offsets[key]))
        elif resource_type == BROKER_RESOURCE and resource and resource not in brokers:
            subjects.append(Subject(f"broker {resource}", name, offsets[key]))
    message = f"{len(subjects)} of {len(offsets)} configs"
    yield from cluster.about(health.ORPHAN_CONFIG, message, subjects)
