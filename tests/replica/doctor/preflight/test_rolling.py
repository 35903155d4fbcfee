"""An order in which all nodes can be restarted one at a time, or why there is none."""

from __future__ import annotations

import pytest

from replica.doctor.preflight.answer import ChangeSafety, Preflight
from replica.doctor.preflight.rolling import roll
from replica.doctor.preflight.stopping import stop_brokers
from replica.doctor.quorum.known_voter import BAD_DISKS, VoterDoubt
from replica.model.keys import ReplicaKey
from tests.replica.doctor.preflight.clusters import broker, cluster, controller, known, partition


def reasons(found: Preflight) -> list[tuple[str, str]]:
    return [(reason.answer.value, reason.subject) for reason in found.reasons]


def test_brokers_then_voters_and_the_best_log_last() -> None:
    quorum = known(101, 102, 103, newest=ReplicaKey(101))
    controllers = (controller(101), controller(102), controller(103))
    of = cluster(
        *controllers, partition(0, (1, 2)), partition(1, (2, 3)),
        voters=(101, 102, 103), quorum=quorum,
    )  # fmt: skip
    found = roll(of)
    assert found.answer is ChangeSafety.SAFE
    assert found.order == (1, 2, 3, 102, 103, 101)
    assert found.needs == (
        "before each step --stop-broker N has to say safe (--while 10 waits for that), so that the "
        "node before it is back and in sync",
        "while a voter restarts, 2 of the others have to run and be caught up",
    )


def test_a_combined_node_is_one_step() -> None:
    found = roll(cluster(partition(0, (1, 2)), partition(1, (2, 3)), voters=(1, 2, 3)))
    assert (found.answer, sorted(found.order)) == (ChangeSafety.SAFE, [1, 2, 3])


def test_a_partition_with_one_replica_allows_no_order() -> None:
    of = cluster(partition(0, (1,)), partition(1, (2, 3)))
    found = roll(of)
    assert found.answer is ChangeSafety.UNSAFE
    assert reasons(found) == [("unsafe", "node 1"), ("safe", "order")]
    assert found.reasons[0].detail == (
        "can't be stopped, even with all replicas in sync (orders-0: would have no leader: no "
        "in-sync replica is left of [1])"
    )
    assert found.reasons[1].detail == "there is no order while node 1 can't be in it"
    assert found.order == (), "a part of the nodes would read as if it were an order of all"


def test_min_insync_replicas_of_all_replicas_allows_no_order() -> None:
    found = roll(cluster(partition(0, (1, 2)), min_isr=2))
    assert reasons(found) == [("unsafe", "node 1"), ("unsafe", "node 2"), ("safe", "order")]
    assert "orders-0: 1 in sync are left, min.insync.replicas is 2" in found.reasons[0].detail
    assert found.reasons[2].detail.endswith("nodes 1 and 2 can't be in it")
    assert found.order == ()


def test_two_voters_allow_no_order() -> None:
    found = roll(cluster(voters=(1, 2)))
    assert reasons(found) == [("unsafe", "node 1"), ("unsafe", "node 2"), ("safe", "order")]
    assert "1 of 2 voters are left, 2 are needed" in found.reasons[0].detail


def test_while_a_node_is_down_the_others_have_no_order() -> None:
    of = cluster(broker(3, fenced=True), partition(0, (2, 3), isr=(2,)), partition(1, (1, 2)))
    found = roll(of)
    assert found.answer is ChangeSafety.UNSAFE, "the stop of node 2 would leave no leader"
    assert found.order == ()
    assert reasons(found)[0] == ("unsafe", "node 3")
    assert found.reasons[0].detail == (
        "is down: its broker is fenced, or shutting down. Start it, wait until it is in sync, and "
        "ask again; stop no other node before. A broker that is gone for good: `kraftlake plan "
        "--decommission 3` says what has to move before it is unregistered"
    )


def test_with_a_node_down_that_nothing_depends_on_the_answer_is_unknown() -> None:
    found = roll(cluster(broker(3, fenced=True), partition(0, (1, 2))))
    assert (found.answer, found.order) == (ChangeSafety.UNKNOWN, ())
    assert ("unknown", "node 3") in reasons(found)
    assert "stop no other node before" not in found.reasons[0].detail


def test_a_roll_is_unsafe_while_a_broker_with_replicas_is_down() -> None:
    """All brokers may be down, or one of three whose replicas no other stop depends on."""
    controllers = (controller(101), controller(102), controller(103))
    everyone = [broker(one, fenced=True) for one in (1, 2)]
    of_all = cluster(*controllers, *everyone, partition(0, (1, 2)), voters=(101, 102, 103))
    of_one = cluster(broker(3, fenced=True), partition(0, (1, 2, 3), isr=(1, 2)))
    for of, down in ((of_all, ("node 1", "node 2")), (of_one, ("node 3",))):
        found = roll(of)
        assert found.answer is ChangeSafety.UNSAFE
        told = [one for one in found.reasons if "stop no other node before" in one.detail]
        assert [(one.answer, one.subject) for one in told] == [
            (ChangeSafety.UNSAFE, node) for node in down
        ]


def test_a_voter_that_is_down_and_no_partition_leaves_no_order() -> None:
    found = roll(cluster(broker(3, fenced=True), voters=(1, 2, 3)))
    assert (found.answer, found.order) == (ChangeSafety.UNSAFE, ())


def test_a_lagging_replica_puts_the_last_one_in_sync_behind_the_others() -> None:
    of = cluster(partition(0, (1, 2), isr=(1,)), partition(1, (2, 3)))
    found = roll(of)
    assert (found.answer, found.order) == (ChangeSafety.SAFE, (2, 3, 1))


def test_the_second_step_may_wait_for_the_first() -> None:
    of = cluster(partition(0, (1, 2), isr=(2,)), partition(1, (1, 3), isr=(3,)))
    assert ("unsafe", "start") not in reasons(roll(of))


def test_where_no_node_may_be_stopped_now_the_first_step_is_to_wait() -> None:
    of = cluster(*(partition(number, (1, 2, 3), isr=(number + 1,)) for number in range(3)))
    found = roll(of)
    assert found.answer is ChangeSafety.UNSAFE
    assert reasons(found)[0] == ("unsafe", "start")
    assert found.reasons[0].detail == (
        "no node may be stopped now: 3 partitions with replicas that are not in sync. Wait for "
        "them (--while), or find out why they lag"
    )
    assert found.order == (1, 2, 3)


def test_a_stale_voter_leaves_the_majority_unknown() -> None:
    stale = known(1, 2, 3, doubts={3: VoterDoubt.STALE})
    found = roll(cluster(voters=(1, 2, 3), quorum=stale))
    assert found.answer is ChangeSafety.UNKNOWN
    assert found.order == ()


@pytest.mark.parametrize("doubt", BAD_DISKS)
def test_a_voter_that_is_not_to_be_trusted_is_in_no_order(doubt: VoterDoubt) -> None:
    """Four of the five would do for every step, and nothing speaks against a stop."""
    quorum = known(1, 2, 3, 4, 5, doubts={5: doubt})
    found = roll(cluster(broker(4), broker(5), voters=(1, 2, 3, 4, 5), quorum=quorum))
    assert (found.answer, found.order) == (ChangeSafety.UNKNOWN, ())
    assert reasons(found)[0] == ("unknown", "node 5")
    (voter,) = quorum.in_doubt(doubt)
    assert found.reasons[0].detail == (
        f"{voter.why_doubted}: first do what `kraftlake check` says about it, then ask again"
    )


def test_an_unknown_min_isr_is_unknown() -> None:
    found = roll(cluster(partition(0, (1, 2)), min_isr=None))
    assert found.answer is ChangeSafety.UNKNOWN
    assert found.reasons[0].detail.startswith("may not be safe to stop, even with all replicas in")


def test_racks_stay_together() -> None:
    racks = (broker(1, rack="b"), broker(2, rack="a"), broker(3, rack="b"), broker(4, rack="a"))
    found = roll(cluster(*racks, partition(0, (1, 2))))
    assert found.order == (2, 4, 1, 3)


def test_a_broker_that_is_down_is_unregistered_only_where_it_holds_nothing() -> None:
    """Partitions that wait for it have their records on its disks. Other replicas have to move."""
    waiting = (partition(0, (3,), leader=-1), partition(1, (3,), leader=-1))
    alone = roll(cluster(broker(3, fenced=True), *waiting, partition(2, (1, 2)))).reasons[0]
    assert alone.detail == (
        "is down: its broker is fenced, or shutting down. Start it, wait until it is in sync, and "
        "ask again; stop no other node before. Don't unregister it: 2 partitions without a leader "
        "(orders-0 and orders-1) can get one from it"
    )
    held = roll(cluster(broker(3, fenced=True), partition(0, (2, 3), isr=(2,)))).reasons[0]
    assert held.detail.endswith(
        "; stop no other node before. A broker that is gone for good: `kraftlake plan "
        "--decommission 3` says what has to move before it is unregistered"
    )
    voter = roll(cluster(broker(3, fenced=True), voters=(1, 2, 3))).reasons[0]
    assert voter.detail.endswith("says what has to move before it is unregistered")
    idle = roll(cluster(broker(3, fenced=True), partition(0, (1, 2)))).reasons[0]
    assert idle.detail.endswith(", and ask again. A broker that is gone for good: unregister it")


def test_a_roll_without_an_order_says_what_to_do_first() -> None:
    of = cluster(partition(0, (1, 2)), partition(1, (1, 2, 3)), min_isr=2)
    for found in (roll(of), stop_brokers(of, [1])):
        assert found.first == (
            "give another replica to 1 partition that needs each replica it has (orders-0), by "
            "kafka-reassign-partitions.sh; else it has no leader, or refuses writes with "
            "acks=all, while one of its brokers is stopped",
        )
    lagging = cluster(partition(0, (1, 2, 3), isr=(1, 3)), min_isr=2)
    assert stop_brokers(lagging, [1]).first == (
        "wait until the replicas of 1 partition (orders-0) are in sync: --while 10 waits",
    )
    assert stop_brokers(lagging, [2]).first == (), "it is not in sync"
    two = roll(cluster(voters=(101, 102)))
    assert two.first == (
        "add voters until there are 3: while one of 2 restarts, no majority is left. Static voters "
        "have to become dynamic before (--to-dynamic)",
    )
    down = roll(cluster(broker(3, fenced=True), partition(0, (2, 3), isr=(2,)), voters=(1, 2, 3)))
    assert down.first == ("start node 3, wait until it is in sync, and ask again",)
    waiting = partition(0, (2, 3), isr=(2,), leader=-1)
    stopped = stop_brokers(cluster(broker(2, fenced=True), waiting), [2])
    assert stopped.first == ("start node 2, wait until it is in sync, and ask again",)
