"""Scenarios in which logs diverge: after a network partition, the losing side holds uncommitted
records."""

from __future__ import annotations

from replica.simulate.metadata_records import (
    NEWEST_METADATA_VERSION,
    change_leader,
    create_topic,
    feature,
    topic_config,
)
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.scenario import NamedScenario


def _ghost_writes(quorum: ScriptedQuorum) -> None:
    """Leader 1 is cut off, and continues to append for its clients; one record is an upgrade of
    metadata.version. Meanwhile nodes 2 and 3 elect node 2."""
    quorum.begin("orders", "payments")
    quorum.cut([1])
    quorum.append(1, (feature("metadata.version", NEWEST_METADATA_VERSION),))
    for number in range(4):
        quorum.append(1, create_topic(f"ghost-{number}", quorum.brokers))
        quorum.run_ms(20)
    quorum.elect(2)
    quorum.commit(2, create_topic("refunds", quorum.brokers), change_leader("orders", 0, 5, (5,)))
    quorum.settle(3, 4, 5)


def _split_brain(quorum: ScriptedQuorum) -> None:
    """The cluster is cut in two: nodes 1 and 2 and broker 6 are on one side, nodes 3, 4 and 5 and
    broker 7 on the other."""
    quorum.begin("orders", "payments")
    quorum.cut([1, 2, 6])
    for number in range(4):
        quorum.append(1, create_topic(f"ghost-{number}", quorum.brokers))
        quorum.run_ms(40)
    quorum.run_ms(300)
    quorum.elect(3)
    quorum.commit(3, create_topic("refunds", quorum.brokers), create_topic("audit", (6, 7)))
    quorum.settle(4, 5, 7)


def _divergent_many_epochs(quorum: ScriptedQuorum) -> None:
    """Nodes 1 and 2 are elected in turn by the vote of node 3. Each new leader is cut off before
    node 3 fetches the leader's records."""
    quorum.begin("orders")
    quorum.cut([1])
    _append_ghosts(quorum, 1, 0)
    for turn in range(1, 7):
        leader, other = (2, 1) if turn % 2 else (1, 2)
        quorum.heal()
        quorum.cut([other])
        quorum.elect(leader)
        quorum.cut([leader])
        _append_ghosts(quorum, leader, turn)
    quorum.run_ms(100)


def _append_ghosts(quorum: ScriptedQuorum, leader: int, turn: int) -> None:
    for number in range(3 + turn % 3):
        quorum.append(leader, topic_config("orders", "retention.ms", f"{turn}{number}000"))
        quorum.run_ms(11)


def _figure_8(quorum: ScriptedQuorum) -> None:
    """Figure 8 of the Raft paper up to (c): leader 1 of a newer epoch has replicated its old entry
    to a majority, but no entry of its own epoch. Node 5 has another entry at the same offset, of an
    epoch between the old entry's epoch and leader 1's epoch. Node 3 fetches one batch at a time, so
    it can hold only the old entry."""
    quorum.restart(3, fetch_max_bytes=1)
    quorum.begin("orders")
    quorum.cut([1, 2])
    quorum.append(1, topic_config("orders", "retention.ms", "1000"))
    old_end = quorum.log_end(1)
    quorum.run_until(lambda: quorum.log_end(2) == old_end)
    quorum.run_ms(100)
    quorum.crash(1)
    quorum.elect(5)
    quorum.cut([5])
    quorum.append(5, topic_config("orders", "retention.ms", "2000"))
    quorum.run_ms(100)
    quorum.crash(5)
    quorum.heal()
    quorum.start(1)
    quorum.run_ms(100)
    quorum.elect(1)
    quorum.cut([1, 3])
    quorum.run_until(lambda: quorum.log_end(3) == old_end)
    quorum.cut([3])
    quorum.run_ms(100)


SCENARIOS = (
    NamedScenario(
        "ghost-writes",
        "A leader that was cut off keeps appending records that no other node gets, while the "
        "others elect another leader.",
        ("KAFKA-15489", "KAFKA-20839"),
        _ghost_writes,
        findings=("log-divergence", "quorum-state-ahead"),
    ),
    NamedScenario(
        "split-brain",
        "The network between five voters and two brokers is cut in two: the old leader's side "
        "can't commit, and the other side elects a leader and commits.",
        ("redpanda-data/redpanda#11360", "KAFKA-15489"),
        _split_brain,
        findings=("log-divergence",),
        layout=Layout(voters=5, observers=2),
        compare=(1, 3),
    ),
    NamedScenario(
        "divergent-many-epochs",
        "Two voters win every other epoch by the third one's vote, and are cut off before they "
        "replicate anything: when one follows the other, it truncates in several rounds.",
        ("KIP-595", "KAFKA-13141"),
        _divergent_many_epochs,
        findings=("log-divergence", "quorum-state-ahead", "voter-behind"),
        layout=Layout(voters=3, observers=1),
    ),
    NamedScenario(
        "figure-8",
        "An entry of an older epoch is on a majority and not committed: Raft's figure 8, part c.",
        ("Raft, figure 8",),
        _figure_8,
        findings=("log-divergence", "quorum-state-ahead"),
        layout=Layout(voters=5, observers=1),
        compare=(1, 5),
    ),
)
