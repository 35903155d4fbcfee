"""Scenarios with valid snapshots, and with snapshots of faulty releases of Kafka."""

from __future__ import annotations

from replica.simulate.metadata_records import (
    begin,
    change_leader,
    create_topic,
    end,
    no_op,
    remove_topic,
    topic_config,
)
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.scenario import NamedScenario, Tampering
from replica.simulate.scenarios.tampering import (
    move_newest_snapshot,
    remove_first_segment,
    stale_newest_snapshot,
)


def _snapshot_fetch(quorum: ScriptedQuorum) -> None:
    """While node 3 is down, nodes 1 and 2 write snapshots and remove the log that node 3 would
    need."""
    quorum.restart(1, retention_bytes=0)
    quorum.restart(2, retention_bytes=0)
    quorum.begin("orders", "payments")
    quorum.crash(3)
    quorum.commit(1, create_topic("refunds", quorum.brokers), remove_topic("payments"))
    quorum.settle()
    quorum.snapshot(1, 2)
    quorum.commit(1, change_leader("orders", 0, 5, (5,)))
    quorum.start(3)
    quorum.settle()


def _two_snapshots(quorum: ScriptedQuorum) -> None:
    """All voters have snapshots of the same two offsets."""
    quorum.begin("orders", "payments")
    quorum.snapshot(*quorum.voters)
    quorum.commit(1, create_topic("refunds", quorum.brokers), remove_topic("payments"))
    quorum.commit(1, topic_config("orders", "cleanup.policy", "compact"))
    quorum.settle()
    quorum.snapshot(*quorum.voters)
    quorum.commit(1, no_op())
    quorum.settle()


def _snapshot_behind_a_topic(quorum: ScriptedQuorum) -> None:
    """The last batch in the voters' snapshots holds a topic with its partitions."""
    quorum.begin("orders", "payments")
    quorum.snapshot(*quorum.voters)
    quorum.commit(1, no_op())
    quorum.settle()


def _transaction_behind_a_snapshot(quorum: ScriptedQuorum) -> None:
    """The voters write snapshots. Then a transaction of three batches is written."""
    quorum.begin("orders")
    quorum.snapshot(*quorum.voters)
    topic = create_topic("invoices", quorum.brokers)
    quorum.commit(1, (begin("Create topics"),), topic, (end(),))
    quorum.settle()


def _retention_behind_a_snapshot(quorum: ScriptedQuorum) -> None:
    """Node 2 removes the log below its snapshot, and writes further segments."""
    quorum.restart(2, retention_bytes=0)
    quorum.begin("orders", "payments")
    quorum.snapshot(2)
    for number in range(80):
        quorum.commit(1, topic_config("orders", "retention.ms", str(1000 * number)))
    quorum.settle()


SCENARIOS = (
    NamedScenario(
        "snapshot-fetch",
        "A voter was down while the others dropped the part of the log that it needs. It fetches a "
        "snapshot, and its log restarts at the snapshot's end.",
        ("KIP-630",),
        _snapshot_fetch,
    ),
    NamedScenario(
        "stale-snapshot",
        "A node whose state no longer follows the log still writes snapshots of that state. A node "
        "that loads or fetches one would bring back a removed topic and lose another topic.",
        ("KAFKA-14203", "KAFKA-14275"),
        _two_snapshots,
        findings=("snapshot-content", "snapshot-id-conflict"),
        tampering=Tampering(
            2, "node 2's newest snapshot holds what its older one holds", stale_newest_snapshot
        ),
    ),
    NamedScenario(
        "snapshot-off-by-one",
        "A snapshot is named by the last offset in it, although the offset of an id is exclusive. "
        "A follower that loads the snapshot then fetches from inside a batch.",
        ("KAFKA-14618",),
        _snapshot_behind_a_topic,
        findings=("snapshot-inside-batch", "snapshot-unverified"),
        tampering=Tampering(
            2, "the id of node 2's newest snapshot is one lower", move_newest_snapshot(-1)
        ),
    ),
    NamedScenario(
        "snapshot-inside-transaction",
        "A snapshot was made between BEGIN and END of a metadata transaction. A node that loads it "
        "then reads END without BEGIN.",
        ("KAFKA-17713",),
        _transaction_behind_a_snapshot,
        findings=("snapshot-inside-transaction",),
        tampering=Tampering(
            2, "node 2's snapshot ends one offset later, behind BEGIN", move_newest_snapshot(1)
        ),
    ),
    NamedScenario(
        "snapshot-log-hole",
        "Retention has deleted a segment that the newest snapshot doesn't cover. Its records are "
        "nowhere on this node, which doesn't start any more.",
        ("KAFKA-14238", "KAFKA-14240"),
        _retention_behind_a_snapshot,
        findings=("snapshot-log-hole",),
        tampering=Tampering(2, "node 2's first segment is gone", remove_first_segment),
    ),
)
