"""Gives what is known of a watched quorum as metrics for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from replica.doctor.check.catalogue import HEALTH_RULES
from replica.doctor.watching.committed import CommittedReplay
from replica.doctor.watching.described import Described
from replica.doctor.watching.judged import QuorumJudgement
from replica.node.metrics import counters, gauge, gauges
from replica.wire.describe_quorum import DescribedQuorum, DescribedReplica

MAX_REPLICAS = 1_000
"""The largest number of replicas that get metrics. Voters come before observers."""


def quorum_metrics(described: Described) -> Iterator[Metric]:
    """The metrics of the leader's last answer. Before its first answer there are no metrics of
    replicas."""
    yield gauge("quorum_described", "1 where the leader told it last time", not described.trouble)
    if described.quorum is None or described.at_s is None:
        return
    quorum = described.quorum
    age = time.monotonic() - described.at_s
    yield gauge("quorum_description_age_seconds", "Since the leader told what follows", age)
    leader = -1 if described.trouble else quorum.leader_id
    yield gauge("quorum_leader", "Node id of the leader, -1 where none answers", leader)
    yield gauge("quorum_epoch", "Its epoch", quorum.epoch)
    yield gauge("quorum_high_watermark", "Its high watermark (exclusive)", quorum.high_watermark)
    if quorum.leader is not None:
        yield gauge("quorum_log_end_offset", "The leader's log end", quorum.leader.log_end)
    yield gauge("quorum_voters", "Size of the voter set", len(quorum.voters))
    yield gauge("quorum_observers", "Observers that fetch", len(quorum.observers))
    yield from _replicas(quorum, age)


def _replicas(quorum: DescribedQuorum, age_s: float) -> Iterator[Metric]:
    labels = ["replica", "directory", "kind"]
    lag, fetched, caught_up = (
        GaugeMetricFamily(f"kraftlake_quorum_replica_{name}", text, labels=labels)
        for name, text in (
            ("lag", "Records that the leader has and this replica hasn't"),
            ("last_fetch_age_seconds", "Seconds since the replica fetched last"),
            ("caught_up_age_seconds", "Seconds since the replica was at the leader's log end"),
        )
    )
    voters = [("voter", each) for each in quorum.voters]
    observers = [("observer", each) for each in quorum.observers]
    for kind, replica in (*voters, *observers)[:MAX_REPLICAS]:
        named = [str(replica.key.node_id), replica.key.directory_id, kind]
        behind = quorum.lag(replica)
        if behind is not None:
            lag.add_metric(named, behind)
        for family, at in ((fetched, replica.last_fetch), (caught_up, replica.last_caught_up)):
            ago = _ago(quorum, replica, at)
            if ago is not None:
                family.add_metric(named, ago + age_s)
    yield from (lag, fetched, caught_up)


def _ago(quorum: DescribedQuorum, replica: DescribedReplica, at: int | None) -> float | None:
    """The seconds from the time `at` (ms) to the leader's answer; None if `at` is unknown. It is 0
    for the leader itself, which never fetches."""
    if replica.key.node_id == quorum.leader_id:
        return 0.0
    ago = quorum.ago(at)
    return None if ago is None else ago / 1000


def snapshot_metrics(described: Described) -> Iterator[Metric]:
    """Metrics of the leader's newest snapshot; none while there is none."""
    newest = described.snapshot
    if newest is None:
        return
    text = "End offset (exclusive) of the leader's newest snapshot"
    yield gauge("quorum_snapshot_end_offset", text, newest.id.offset)
    if newest.contained_at is not None:
        age = max(0.0, time.time() - newest.contained_at / 1000)
        text = "Seconds since the newest record in the leader's newest snapshot was appended"
        yield gauge("quorum_snapshot_age_seconds", text, age)


def log_metrics(committed: CommittedReplay) -> Iterator[Metric]:
    """Metrics of the log's growth, by the type of its records."""
    for name, text, found in (
        ("log_records", "Committed records that came in", committed.counts),
        ("log_record_bytes", "Bytes of their keys and values", committed.sizes),
    ):
        yield counters(name, text, ["type"], (([kind], n) for kind, n in sorted(found.items())))
    text = "Up to where the log was read and counted (exclusive)"
    yield gauge("log_read_offset", text, committed.next_offset)


def health_metrics(newest: QuorumJudgement | None) -> Iterator[Metric]:
    """Metrics of each rule of health; none before the first judgement."""
    if newest is None:
        return
    text = "For how many things a rule holds; `kraftlake explain RULE` tells what it means"
    found = (([each.id, each.severity.value], newest.subjects[each.id]) for each in HEALTH_RULES)
    yield gauges("health_subjects", text, ["rule", "severity"], found)
    yield gauge("health_offset", "Of the state that was judged (exclusive)", newest.offset)
    age = time.monotonic() - newest.at_s
    yield gauge("health_age_seconds", "Since the state was judged", age)
    yield gauge("health_judging_seconds", "How long judging it took", newest.took_s)
