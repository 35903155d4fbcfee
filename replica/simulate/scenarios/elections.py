"""Scenarios in which leaders change, and nothing is lost."""

from __future__ import annotations

from replica.raft.leader.leading import RecordBatchTooLargeError
from replica.simulate.metadata_records import (
    change_leader,
    create_topic,
    no_op,
    topic_config,
)
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.scenario import NamedScenario

_BATCH_LIMIT = 1024
_FAILED_CONTROLLERS = 24


def _clean_failover(quorum: ScriptedQuorum) -> None:
    quorum.begin("orders", "payments")
    quorum.crash(1)
    quorum.elect(2)
    quorum.commit(2, create_topic("refunds", quorum.brokers), no_op())
    quorum.start(1)
    quorum.settle()
    quorum.snapshot(1, 2)
    quorum.commit(2, change_leader("orders", 0, 5, (5,)))
    quorum.settle()


def _endless_elections(quorum: ScriptedQuorum) -> None:
    """Each active controller writes, fails at a batch above the limit, and resigns. The next
    controller has the same task, and fails in the same way."""
    for node_id in quorum.voters:
        quorum.restart(node_id, max_batch_bytes=_BATCH_LIMIT)
    quorum.elect(1)
    quorum.populate(1, "orders")
    too_large = create_topic("clickstream", quorum.brokers, partitions=100)
    for turn in range(_FAILED_CONTROLLERS):
        leader = turn % 3 + 1
        if turn:
            quorum.elect(leader)
            quorum.commit(leader, no_op())
            quorum.settle()
        try:
            quorum.append(leader, too_large)
        except RecordBatchTooLargeError:
            quorum.resign(leader)
    quorum.elect(1)
    quorum.settle()


def _slow_follower(quorum: ScriptedQuorum) -> None:
    """From some time on, all fetches of node 3 and of broker 5 get lost, so both lag behind."""
    quorum.begin("orders")
    quorum.lose_requests([3, 5])
    for number in range(30):
        quorum.commit(1, topic_config("orders", "retention.ms", str(1000 * number)))
        quorum.run_ms(20)


SCENARIOS = (
    NamedScenario(
        "clean-failover",
        "The leader crashes, another is elected, the first comes back and follows.",
        ("KIP-595",),
        _clean_failover,
    ),
    NamedScenario(
        "endless-elections",
        "A task needs a batch above the limit: each controller in turn fails at it and resigns.",
        ("KAFKA-14204", "AutoMQ/automq#2057", "bitnami/charts#20403"),
        _endless_elections,
        findings=("endless-elections", "epoch-churn"),
    ),
    NamedScenario(
        "slow-follower",
        "The fetches of a voter and a broker get lost: both lag behind, and no log diverges.",
        ("KIP-836",),
        _slow_follower,
    ),
)
