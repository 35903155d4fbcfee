"""Which brokers were missing while partitions refused writes, read backwards."""

from __future__ import annotations

from typing import Any

from replica.doctor.health.cluster import Beginning, Cluster
from replica.doctor.health.leaderless import outages_of
from replica.doctor.health.min_isrs import MIN_ISR
from replica.doctor.health.refusals import Fencing, Missing, Refusal, refusals
from replica.doctor.health.rewound import RewoundPartitions, VisibleChange
from tests.replica.doctor.health.clusters import a_partition, cluster_after, healthy
from tests.replica.metadata.image.made import config

NOW = cluster_after([*healthy(), config("2", MIN_ISR)])
(KEY,) = NOW.partitions
WHOLE = NOW.partitions[KEY]
FEW = WHOLE._replace(isr=(11,))
UP = NOW.values("brokers")[13]
ASKED = {**UP, "inControlledShutdown": True}
FENCED = {**UP, "fenced": True}
ANOTHER = {**UP, "incarnationId": "BAAAAAAAAAAAAAAAAAAAAA"}


def change(at: int, *before: tuple[str, Any, Any]) -> VisibleChange:
    return VisibleChange(at, 1000 * at, before)


def found(*steps: VisibleChange, cluster: Cluster = NOW) -> tuple[Refusal, ...]:
    outages = outages_of(RewoundPartitions.of(cluster), steps)
    return refusals(cluster, outages, steps)


def at(offset: int) -> Beginning:
    return Beginning(offset, 1000 * offset)


def fencing_of_13(*steps: VisibleChange, cluster: Cluster = NOW) -> Fencing | None:
    (refusal,) = found(*steps, cluster=cluster)
    assert refusal.names == ("orders-0",)
    of_12, of_13 = refusal.missing
    assert of_12 == Missing(12, None), "it was not fenced"
    assert of_13.broker == 13
    return of_13.fencing


def test_a_broker_that_was_fenced_and_came_back_without_a_restart() -> None:
    """The controller shrinks the ISR with the record that fences the broker."""
    back = change(8, ("brokers", 13, FENCED)), change(9, ("partitions", KEY, FEW))
    out = change(5, ("brokers", 13, UP), ("partitions", KEY, WHOLE))
    assert fencing_of_13(*reversed(back), out) == Fencing(at(5), False, at(8))


def test_another_process_is_a_restart() -> None:
    restarted = cluster_after([*healthy(), config("2", MIN_ISR)])
    steps = [
        change(9, ("partitions", KEY, FEW)),
        change(8, ("brokers", 13, FENCED)),
        change(7, ("brokers", 13, {**ANOTHER, "fenced": True})),
        change(5, ("brokers", 13, ANOTHER), ("partitions", KEY, WHOLE)),
    ]
    assert fencing_of_13(*steps, cluster=restarted) == Fencing(at(5), False, at(8), True)


def test_a_shutdown_in_order_takes_replicas_out_of_sync_before_the_broker_is_fenced() -> None:
    steps = [
        change(9, ("partitions", KEY, FEW)),
        change(8, ("brokers", 13, FENCED)),
        change(6, ("brokers", 13, ASKED)),
        change(5, ("brokers", 13, UP), ("partitions", KEY, WHOLE)),
    ]
    fencing = fencing_of_13(*steps)
    assert fencing is not None
    assert (fencing.fenced, fencing.is_asked) == (at(6), True)


def test_a_fencing_that_was_over_is_no_cause_and_the_first_state_of_the_log_no_begin() -> None:
    earlier = change(3, ("brokers", 13, FENCED)), change(2, ("brokers", 13, UP))
    steps = change(9, ("partitions", KEY, FEW)), change(5, ("partitions", KEY, WHOLE)), *earlier
    assert fencing_of_13(*steps) is None
    assert found(change(9, ("partitions", KEY, FEW)), *earlier) == ()
    assert found() == ()


def test_each_of_several_times_has_its_own_fencing() -> None:
    def twice(first: int) -> list[VisibleChange]:
        return [
            change(first + 3, ("partitions", KEY, FEW)),
            change(first + 2, ("brokers", 13, FENCED)),
            change(first, ("brokers", 13, UP), ("partitions", KEY, WHOLE)),
        ]

    told = [one.missing[1].fencing for one in found(*twice(15), *twice(5))]
    assert [None if one is None else (one.fenced, one.back) for one in told] == [
        (at(5), at(7)), (at(15), at(17)),
    ]  # fmt: skip


def test_a_refusal_that_a_lower_min_isr_ended_says_so() -> None:
    lowered = cluster_after([*healthy(), config("1", MIN_ISR), a_partition(isr=(11,))])
    (key,) = lowered.values("configs")
    out = change(5, ("partitions", KEY, WHOLE))
    (refusal,) = found(change(8, ("configs", key, "2")), out, cluster=lowered)
    assert refusal.outage.ended == at(8)
    assert refusal.was_lowered
    came_back = change(8, ("partitions", KEY, FEW)), out
    assert [one.was_lowered for one in found(*came_back)] == [False]


def test_a_moment_that_began_an_outage_of_today_is_left_out() -> None:
    """The partition refused writes, lost its leader 0.1 s later, and refuses writes again."""
    few = cluster_after([*healthy(), config("2", MIN_ISR)])
    few.partitions[KEY] = FEW
    began = VisibleChange(5, 5000, (("partitions", KEY, WHOLE),))
    lost = VisibleChange(6, 5100, (("partitions", KEY, FEW),))
    again = VisibleChange(9, 9000, (("partitions", KEY, FEW._replace(leader=-1, isr=(11,))),))
    (still,) = found(again, lost, began, cluster=few)
    assert (still.outage.began.offset, still.outage.ended) == (9, None)
    long_before = lost._replace(at=6000 + 1)
    assert len(found(again, long_before, began, cluster=few)) == 2, "it lasted a second"
