"""Health and exposure of 100,000 partitions on 30 brokers take seconds after the replay."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from replica.doctor.health.cluster import Cluster
from replica.doctor.health.exposure import exposures
from replica.doctor.health.judging import judge_health
from replica.doctor.health.past import past_of
from replica.doctor.health.rewound import WATCHED, VisibleChange
from replica.message.primitives import uuid_text
from replica.metadata.image.versions import VersionedReplay
from replica.metadata.record import new_record
from replica.model.keys import NO_NODE
from tests.replica.doctor.health.clusters import a_broker, a_partition, cluster_after
from tests.replica.metadata.image.made import broker_change, config, feature, topic

BROKERS, TOPICS, PARTITIONS = 30, 1000, 100
WITHIN_S = 20.0
"""Of processor time: far above what it takes, a bound against work that grows with the square."""
VOTERS = frozenset({101, 102, 103})

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def records() -> list[Any]:
    """Partitions with three random replicas each, some of which have left the ISR. Broker 7 is
    fenced."""
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
    return records


@pytest.fixture(scope="module")
def cluster(records: list[Any]) -> Cluster:
    return cluster_after(records, voters=VOTERS)


def test_exposure_takes_seconds(cluster: Cluster) -> None:
    began = time.process_time()
    found = list(exposures(cluster))
    took = time.process_time() - began
    assert len(cluster.partitions) == TOPICS * PARTITIONS
    live = BROKERS - 1
    assert len(found) == 1 + 5 + live + live * (live - 1) // 2 + 3
    assert max(one.harm.leaderless for one in found) > found[0].harm.leaderless
    assert took < WITHIN_S, f"{took:.1f} s"


def restart_of(broker: int, records: list[Any]) -> Iterator[Any]:
    """A broker is fenced, leaves all ISRs, comes back, and catches up."""
    mine = [
        record.fields
        for record in records
        if record.type == "PARTITION_RECORD" and broker in record.fields["isr"]
    ]
    change = partial(new_record, "PARTITION_CHANGE_RECORD", 0)
    yield broker_change(brokerId=broker, fenced=1)
    for gone in (broker, NO_NODE):
        for fields in mine:
            isr = tuple(one for one in fields["isr"] if one != gone)
            leader = isr[0] if isr else NO_NODE
            keys = {"partitionId": fields["partitionId"], "topicId": fields["topicId"]}
            yield change({**keys, "isr": isr, "leader": leader})
        yield broker_change(brokerId=broker, fenced=-1)


def test_finding_out_since_when_exposures_hold_takes_seconds(records: list[Any]) -> None:
    """Three brokers were restarted, one after the other, so each exposure began somewhere in 60,000
    records. The search goes back over these, and over the records that made the partitions."""
    whole = [*records, *(one for broker in (1, 2, 3) for one in restart_of(broker, records))]
    replay, steps = VersionedReplay(), []
    for offset, record in enumerate(whole):
        writes = replay.apply(offset, record)
        watched = (write for write in writes if write.kind.table in WATCHED)
        before = tuple((write.kind.table, write.key, write.old) for write in watched)
        steps.append(VisibleChange(offset, offset, before))
    newest = cluster_after(whole, voters=VOTERS)
    began = time.process_time()
    past = past_of(newest, reversed(steps))
    took = time.process_time() - began
    assert len(whole) > 150_000
    assert past.unknown == 0
    assert len(past.exposed) > 400
    assert took < WITHIN_S, f"{took:.1f} s"


def test_all_rules_of_health_take_seconds(cluster: Cluster) -> None:
    began = time.process_time()
    found = {finding.rule.id: finding for finding in judge_health(cluster)}
    took = time.process_time() - began
    assert len(found["under-replicated-partition"].subjects) > 10_000
    assert took < WITHIN_S, f"{took:.1f} s"
