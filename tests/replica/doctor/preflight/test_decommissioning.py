"""Taking brokers out of a cluster for good: what has to move first, and whether it can."""

from __future__ import annotations

from replica.doctor.preflight.answer import ChangeSafety, Preflight
from replica.doctor.preflight.decommissioning import decommission
from tests.replica.doctor.preflight.clusters import Record, broker, cluster, partition
from tests.replica.doctor.preflight.test_quorum_and_levels import dynamic


def reasons(found: Preflight) -> list[tuple[str, str]]:
    return [(reason.answer.value, reason.subject) for reason in found.reasons]


def details(found: Preflight, subject: str) -> list[str]:
    return [reason.detail for reason in found.reasons if reason.subject == subject]


def four(*records: Record) -> tuple[Record, ...]:
    return (broker(4), *records)


def test_a_broker_without_replicas_may_go() -> None:
    found = decommission(cluster(partition(0, (1, 2))), [3])
    assert (found.answer, found.reasons) == (ChangeSafety.SAFE, ())
    assert found.needs == ("after broker 3 has stopped: unregister it (kafka-cluster.sh)",)


def test_what_it_holds_has_to_move_first() -> None:
    of = cluster(*four(partition(0, (1, 2)), partition(1, (2, 1)), partition(2, (1, 3))))
    found = decommission(of, [1])
    assert found.answer is ChangeSafety.UNSAFE
    (told,) = details(found, "broker 1")
    assert told == (
        "has replicas of 3 of 3 partitions (1 topic), and leads 2 of them: move them first "
        "(kafka-reassign-partitions.sh); brokers 2, 3 and 4 can take them all"
    )
    assert reasons(found) == [("unsafe", "broker 1")], "each can move, so none is named"


def test_a_partition_that_no_other_broker_can_take_is_named() -> None:
    of = cluster(partition(0, (1, 2, 3)), partition(1, (1, 2)))
    found = decommission(of, [1])
    assert reasons(found) == [("unsafe", "broker 1"), ("unsafe", "orders-0")]
    (told,) = details(found, "broker 1")
    assert told.endswith("brokers 2 and 3 can take 1 of them")
    assert details(found, "orders-0") == [
        "needs 3 brokers, and 2 would be left that can take replicas: add a broker, or start one "
        "that is down, or reassign it with 1 replica less"
    ]


def test_several_brokers_are_judged_together() -> None:
    of = cluster(*four(partition(0, (1, 2)), partition(1, (1, 3, 4))))
    assert details(decommission(of, [1]), "orders-1") == []
    assert details(decommission(of, [1, 2]), "orders-1") == [
        "needs 3 brokers, and 2 would be left that can take replicas: add a broker, or start one "
        "that is down, or reassign it with 1 replica less"
    ]
    assert details(decommission(of, [1, 2]), "orders-0") == []


def test_fenced_and_wholly_cordoned_brokers_take_nothing() -> None:
    change = ("BROKER_REGISTRATION_CHANGE_RECORD", 3, {
        "brokerId": 4, "brokerEpoch": 4, "logDirs": ("directoryOf4AAAAAAAAAA",),
        "cordonedLogDirs": ("directoryOf4AAAAAAAAAA",),
    })  # fmt: skip
    one = partition(0, (1, 2))
    assert details(decommission(cluster(one), [1]), "orders-0") == []
    assert details(decommission(cluster(broker(3, fenced=True), one), [1]), "orders-0") != []
    cordoned = cluster(broker(3, fenced=True), broker(4), change, one)
    assert details(decommission(cordoned, [1]), "orders-0") != []


def test_a_replica_that_only_the_broker_has_in_sync_cannot_be_copied_while_it_is_down() -> None:
    of = cluster(broker(1, fenced=True), partition(0, (1, 2), isr=(1,), leader=-1))
    found = decommission(of, [1])
    assert details(found, "orders-0") == [
        "only broker 1 has its newest records and can't lead now: bring that broker and its log "
        "directory back before you move this partition"
    ]
    up = decommission(cluster(partition(0, (1, 2), isr=(1,))), [1])
    assert details(up, "orders-0") == [], "it is copied from broker 1 itself"


def test_racks_are_kept_where_they_can_be() -> None:
    racks = (broker(1, rack="a"), broker(2, rack="b"), broker(3, rack="b"))
    found = decommission(cluster(*racks, partition(0, (1, 2))), [1])
    assert details(found, "orders-0") == ["all of its replicas would be in rack b"]
    more = cluster(*racks, broker(4, rack="a"), partition(0, (1, 2)))
    assert details(decommission(more, [1]), "orders-0") == []
    assert details(decommission(more, [1]), "rack a") == [
        "1 replica leaves broker 1; of this rack, broker 4 can take it"
    ]


def test_a_voter_leaves_the_quorum_first() -> None:
    of = dynamic((1, 2, 3))
    found = decommission(of, [1])
    assert found.answer is ChangeSafety.UNSAFE
    assert details(found, "voter 1") == [
        "has to leave the voters first: `kraftlake plan --remove-voter 1` says whether that is safe"
    ]
    static = decommission(cluster(voters=(1, 2, 3)), [1])
    assert details(static, "voter 1") == [
        "controller.quorum.voters of all nodes names it (static voters): make the voters dynamic "
        "first (--to-dynamic), or change that line on all nodes and restart them"
    ]


def test_a_reassignment_to_the_broker_is_named() -> None:
    of = cluster(*four(partition(0, (1, 2), addingReplicas=(1,))))
    assert details(decommission(of, [1]), "orders-0") == [
        "is being moved to broker 1 now: cancel that reassignment"
    ]


def test_a_broker_that_is_not_registered_is_named() -> None:
    found = decommission(cluster(), [7])
    assert reasons(found) == [("unsafe", "broker 7")]


def test_a_controller_that_votes_is_no_broker_that_is_missing() -> None:
    found = decommission(dynamic((101, 102, 103)), [101])
    assert reasons(found) == [("unsafe", "voter 101")]


def test_a_broker_that_is_not_registered_is_not_to_be_unregistered() -> None:
    found = decommission(cluster(), [3, 7])
    assert found.needs == ("after broker 3 has stopped: unregister it (kafka-cluster.sh)",)
