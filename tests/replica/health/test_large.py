"""Health and exposure of 100,000 partitions on 30 brokers: seconds after the replay."""

from __future__ import annotations

import random
import time

import pytest

from replica.health.cluster import Cluster
from replica.health.exposure import exposures
from replica.health.judging import judge_health
from replica.message.primitives import uuid_text
from replica.model.keys import NO_NODE
from tests.replica.health.clusters import a_broker, a_partition, cluster_after
from tests.replica.metadata.image.made import config, feature, topic

BROKERS, TOPICS, PARTITIONS = 30, 1000, 100
WITHIN_S = 5.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """Of each partition three random replicas, of which some have left the in-sync ones; broker 7
    is fenced."""
    dice = random.Random(7)
    records = [feature("metadata.version", 27)]
    for one in range(BROKERS):
        records.append(a_broker(one, fenced=one == 7, rack=f"rack-{one % 5}"))
    for number in range(TOPICS):
        topic_id = uuid_text(f"topic-{number:010}".encode())
        records.append(topic(f"topic-{number}", topic_id))
        if number % 3:
            records.append(config("2", "min.insync.replicas", f"topic-{number}"))
        for partition in range(PARTITIONS):
            replicas = dice.sample(range(BROKERS), 3)
            isr = [one for one in replicas if one != 7 and dice.random() > 0.02]
            leader = isr[0] if isr else NO_NODE
            records.append(a_partition(partition, replicas, isr, leader, topic_id))
    return cluster_after(records, voters=frozenset({101, 102, 103}))


def test_exposure_takes_seconds(cluster: Cluster) -> None:
    began = time.process_time()
    found = list(exposures(cluster))
    took = time.process_time() - began
    assert len(cluster.partitions) == TOPICS * PARTITIONS
    live = BROKERS - 1
    assert len(found) == 1 + 5 + live + live * (live - 1) // 2 + 3
    assert max(one.harm.leaderless for one in found) > found[0].harm.leaderless
    assert took < WITHIN_S, f"{took:.1f} s"


def test_all_rules_of_health_take_seconds(cluster: Cluster) -> None:
    began = time.process_time()
    found = {finding.rule.id: finding for finding in judge_health(cluster)}
    took = time.process_time() - began
    assert len(found["under-replicated-partition"].subjects) > 10_000
    assert took < WITHIN_S, f"{took:.1f} s"
