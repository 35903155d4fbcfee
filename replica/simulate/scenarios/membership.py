"""Scenarios in which voters are added or removed, lose their disks, or have different
configurations."""

from __future__ import annotations

from replica.model.voters import VoterSet
from replica.simulate.metadata_records import create_topic, no_op, topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.scenario import NamedScenario

_STATIC = Layout(voters=3, observers=2, is_static=True)


def _wiped_voter(quorum: ScriptedQuorum) -> None:
    """Nodes 1 and 2 have committed records. Node 2 loses its disk, and then votes for node 3, which
    lacks the records."""
    quorum.begin("orders")
    quorum.cut([3])
    quorum.commit(1, create_topic("payments", quorum.brokers), create_topic("refunds", (4, 5)))
    quorum.settle(2, 4, 5)
    quorum.snapshot(1)
    quorum.crash(1, 2)
    quorum.wipe(2)
    quorum.start(2)
    quorum.heal()
    quorum.cut(quorum.brokers)
    quorum.elect(3)
    quorum.commit(3, create_topic("payments", quorum.brokers, incarnation=1))
    quorum.settle(2)


def _replaced_disk(quorum: ScriptedQuorum) -> None:
    """Node 2 catches up with a new directory id, but the voter set names only its old directory id.
    Node 3 is cut off, so there is no majority."""
    quorum.begin("orders")
    quorum.crash(2)
    quorum.wipe(2)
    quorum.start(2)
    quorum.settle()
    quorum.cut([3])
    quorum.run_ms(10_000)


def _replaced_voter(quorum: ScriptedQuorum) -> None:
    """Node 2 is removed, wiped and added again. The logs of nodes 1 and 2 keep only the newest
    voter set."""
    quorum.begin("orders")
    quorum.remove_voter(1, 2)
    quorum.crash(2)
    quorum.wipe(2)
    quorum.start(2)
    quorum.settle()
    quorum.add_voter(1, 2)
    quorum.settle()
    quorum.restart(1, retention_bytes=0)
    quorum.elect(3)
    quorum.commit(3, create_topic("refunds", quorum.brokers))
    quorum.settle()
    quorum.snapshot(1)
    quorum.commit(3, no_op())
    quorum.settle()


def _joined_voter(quorum: ScriptedQuorum) -> None:
    """Node 2's disk is replaced. Without an administrator, node 2 has its old directory removed
    from the voters, and adds itself one update timer later."""
    quorum.begin("orders")
    quorum.crash(2)
    quorum.wipe(2)
    quorum.configure(2, auto_join=True)
    quorum.start(2)
    joined = quorum.nodes[2].local.key
    quorum.run_until(lambda: quorum.nodes[1].running.raft.log.voters.is_voter(joined))
    quorum.commit(1, create_topic("refunds", quorum.brokers))
    quorum.settle()


def _removed_leader(quorum: ScriptedQuorum) -> None:
    """Leader 1 commits its own removal without counting itself. Then leader 1 resigns, and nodes 2
    and 3 elect a leader."""
    quorum.begin("orders")
    quorum.remove_voter(1, 1)
    quorum.elect(2)
    quorum.commit(2, topic_config("orders", "cleanup.policy", "compact"))
    quorum.settle()


def _two_quorums(quorum: ScriptedQuorum) -> None:
    """Node 1 still runs as its own quorum when nodes 2 and 3 start. By their configuration node 1
    is the third voter."""
    alone = VoterSet(quorum.nodes[1].config.static_voters.voters[:1])
    quorum.restart(1, static_voters=alone)
    quorum.cut([1, 4])
    quorum.settle(1)
    quorum.populate(1, "orders")
    quorum.settle(4)
    quorum.elect(2)
    quorum.populate(2, "payments")
    quorum.commit(2, create_topic("orders", quorum.brokers, incarnation=1))
    quorum.settle(3, 5, leader=2)


def _lost_disks(quorum: ScriptedQuorum) -> None:
    """All voters lose their disks, and elect a leader in epoch 1 again. The brokers keep their
    disks."""
    quorum.begin("orders", "payments")
    quorum.crash(*quorum.voters)
    for node_id in quorum.voters:
        quorum.wipe(node_id)
    quorum.cut(quorum.brokers)
    quorum.start(*quorum.voters)
    quorum.elect(1)
    quorum.populate(1, "orders")
    quorum.settle(2, 3)


def _restored_voter(quorum: ScriptedQuorum) -> None:
    """Node 2 gets an older copy of its disk, which lacks records that nodes 1 and 2 have committed.
    Then node 2 votes for node 3, which also lacks these records."""
    quorum.begin("orders")
    quorum.crash(2)
    backup = quorum.disk_image(2)
    quorum.start(2)
    quorum.settle()
    quorum.cut([3])
    quorum.commit(1, create_topic("payments", quorum.brokers), create_topic("refunds", (4, 5)))
    quorum.settle(2, 4, 5)
    quorum.snapshot(1)
    quorum.crash(1, 2)
    quorum.restore(2, backup)
    quorum.start(2)
    quorum.heal()
    quorum.cut(quorum.brokers)
    quorum.elect(3)
    quorum.commit(3, create_topic("audit", quorum.brokers))
    quorum.settle(2)


SCENARIOS = (
    NamedScenario(
        "wiped-voter",
        "A voter of a static quorum comes back with an empty disk, and has forgotten its votes "
        "and its log: with its vote a leader is elected that lacks committed records.",
        ("KAFKA-14077", "KIP-853"),
        _wiped_voter,
        findings=("committed-data-at-risk", "log-divergence"),
        compare=(1, 3),
        layout=_STATIC,
        is_safe=False,
    ),
    NamedScenario(
        "restored-voter",
        "A voter's disk is restored from yesterday's backup, with the same directory id: the "
        "voter has forgotten what it acknowledged, and helps to elect a leader that lacks "
        "committed records.",
        ("KAFKA-14077", "strimzi/strimzi-kafka-operator#10728"),
        _restored_voter,
        findings=("committed-data-at-risk", "log-divergence"),
        compare=(1, 3),
        is_safe=False,
    ),
    NamedScenario(
        "lost-disks",
        "The disks of all controllers are lost, and those of the brokers are not: the same leader "
        "is elected in the same epoch again, and writes other records at the same offsets.",
        ("KAFKA-10527",),
        _lost_disks,
        findings=("conflict",),
        layout=_STATIC,
        compare=(1, 4),
        is_safe=False,
    ),
    NamedScenario(
        "replaced-disk",
        "A voter's disk is replaced and formatted anew: its directory id isn't the one in the "
        "voter set, so its votes don't count, and one failure more leaves no majority.",
        ("blog.schwarzeni.com 2025-12-20", "KIP-853"),
        _replaced_disk,
        findings=("quorum-state-ahead", "voter-directory-id"),
    ),
    NamedScenario(
        "replaced-voter",
        "The right way: the voter is removed, gets an empty disk, catches up and is added. Only "
        "replicas that dropped no log still hold the former voter sets.",
        ("KIP-853", "KAFKA-19850"),
        _replaced_voter,
    ),
    NamedScenario(
        "joined-voter",
        "A voter's disk is replaced, and its node joins the voters by itself: it has its older "
        "directory removed, then adds itself (controller.quorum.auto.join.enable).",
        ("KIP-853", "KIP-1186", "KAFKA-19078"),
        _joined_voter,
    ),
    NamedScenario(
        "removed-leader",
        "The leader is removed from the voters: it commits its own removal, resigns, and another "
        "voter is elected.",
        ("KAFKA-17608", "KAFKA-16963"),
        _removed_leader,
    ),
    NamedScenario(
        "two-quorums",
        "A quorum of one is scaled to three by configuration alone: the two new voters make a "
        "majority without the first, and one cluster id has two histories.",
        ("bitnami/charts#29167", "strimzi/strimzi-kafka-operator#6862"),
        _two_quorums,
        findings=(
            "committed-data-at-risk",
            "conflict",
            "quorum-state-voters",
            "voter-sets-differ",
        ),
        layout=_STATIC,
        is_safe=False,
    ),
)
