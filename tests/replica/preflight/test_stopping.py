"""Stopping brokers and racks: what is safe, and what says that it isn't."""

from __future__ import annotations

from replica.preflight.answer import ChangeSafety, Preflight
from replica.preflight.stopping import stop_brokers, stop_rack
from tests.replica.preflight.clusters import broker, cluster, partition


def told(found: Preflight) -> list[tuple[str, str]]:
    return [(reason.answer.value, reason.subject) for reason in found.reasons]


def test_a_broker_whose_partitions_keep_enough_in_sync_replicas_may_be_stopped() -> None:
    found = stop_brokers(cluster(partition(0, (1, 2, 3)), min_isr=2), [1])
    assert (found.answer, found.reasons) == (ChangeSafety.SAFE, ())


def test_the_last_in_sync_replica_may_not_be_stopped() -> None:
    found = stop_brokers(cluster(partition(0, (1, 2), isr=(1,))), [1])
    assert found.answer is ChangeSafety.UNSAFE
    (reason,) = found.reasons
    assert reason.subject == "orders-0"
    assert "[2] would be an unclean election" in reason.detail
    assert reason.offset == 5


def test_two_brokers_may_be_unsafe_where_each_alone_is_safe() -> None:
    of = cluster(partition(0, (1, 2)), partition(1, (2, 3)))
    assert [stop_brokers(of, [one]).answer for one in (1, 2, 3)] == [ChangeSafety.SAFE] * 3
    assert told(stop_brokers(of, [1, 2])) == [("unsafe", "orders-0")]


def test_an_eligible_leader_replica_may_lead() -> None:
    eligible = partition(0, (1, 2), isr=(1,), eligibleLeaderReplicas=(2,))
    assert stop_brokers(cluster(eligible), [1]).answer is ChangeSafety.UNSAFE, (
        "it is below min ISR then"
    )
    assert "0 in sync are left" in stop_brokers(cluster(eligible), [1]).reasons[0].detail


def test_below_min_insync_replicas_is_unsafe_and_unknown_where_nobody_tells_it() -> None:
    of_two = partition(0, (1, 2))
    assert stop_brokers(cluster(of_two, min_isr=2), [1]).answer is ChangeSafety.UNSAFE
    found = stop_brokers(cluster(of_two, min_isr=None), [1])
    assert found.answer is ChangeSafety.UNKNOWN
    assert "--broker-config" in found.reasons[0].detail


def test_harm_that_is_there_before_the_stop_is_a_note() -> None:
    of = cluster(partition(0, (1, 2), isr=()), partition(1, (2, 3), isr=(3,)), min_isr=2)
    assert told(stop_brokers(of, [2])) == [("safe", "orders-0"), ("safe", "orders-1")]


def test_fenced_brokers_do_not_count_as_replicas_that_are_left() -> None:
    of = cluster(broker(2, fenced=True), partition(0, (1, 2)))
    assert stop_brokers(of, [1]).answer is ChangeSafety.UNSAFE


def test_a_broker_that_is_not_registered_is_told() -> None:
    assert told(stop_brokers(cluster(), [7])) == [("unsafe", "broker 7")]


def test_voters_among_the_brokers_need_a_majority_without_them() -> None:
    of = cluster(voters=(1, 2, 3))
    assert stop_brokers(of, [1]).answer is ChangeSafety.SAFE
    found = stop_brokers(of, [1, 2])
    assert found.answer is ChangeSafety.UNSAFE
    assert "1 of 3 voters are left, 2 are needed" in found.reasons[0].detail


def test_a_rack_is_all_of_its_brokers() -> None:
    racks = (broker(1, rack="a"), broker(2, rack="a"), broker(3, rack="b"))
    of = cluster(*racks, partition(0, (1, 2)), partition(1, (2, 3)))
    assert told(stop_rack(of, "a")) == [("unsafe", "orders-0")]
    assert stop_rack(of, "b").answer is ChangeSafety.SAFE
    assert told(stop_rack(of, "c")) == [("unsafe", "rack c")]
