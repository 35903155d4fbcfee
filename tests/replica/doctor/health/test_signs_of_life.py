"""When a broker that is fenced was last alive, by what the log shows before it was fenced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from replica.doctor.health.cluster import Beginning, Cluster
from replica.doctor.health.past import VisibleChange
from replica.doctor.health.signs_of_life import LastSign, SignsBackwards
from replica.doctor.verdict.evidence import leaderless
from replica.model.keys import NO_NODE
from tests.replica.doctor.health.clusters import a_broker, a_partition, cluster_after, healthy
from tests.replica.metadata.image.made import TOPIC

KEY = (TOPIC, 0)


def a_state(leader: int, *isr: int, fenced: bool = False, **broker: Any) -> Cluster:
    """Broker 11, and a partition with this leader and these in-sync replicas."""
    return cluster_after(
        [
            *healthy(),
            a_broker(11, fenced=fenced, **broker),
            a_broker(12),
            a_partition(0, (11, 12), leader=leader, isr=isr),
        ]
    )


def step(offset: int, state: Cluster, table: str, key: Any) -> VisibleChange:
    """The change at this offset, a second for each, of what `state` had before."""
    values = state.partitions if table == "partitions" else state.values(table)
    return VisibleChange(offset, 1000 * offset, ((table, key, values.get(key)),))


def last_signs(cluster: Cluster, steps: Iterable[VisibleChange]) -> dict[int, LastSign]:
    back = SignsBackwards(cluster)
    for one in steps:
        assert not back.is_complete
        back.take_back(one)
    return back.found


GONE = a_state(NO_NODE, fenced=True)
ALONE = a_state(11, 11)
BOTH = a_state(11, 11, 12)


def test_a_broker_was_last_alive_when_its_leader_added_it_to_the_isr_or_it_did_so_itself() -> None:
    fenced = [step(90, ALONE, "partitions", KEY), step(90, ALONE, "brokers", 11)]
    grown, shrunk = step(70, a_state(11, 11), "partitions", KEY), step(80, BOTH, "partitions", KEY)
    found = last_signs(GONE, [*fenced, shrunk, grown])
    assert found == {11: LastSign(Beginning(90, 90_000), Beginning(70, 70_000))}, (
        "only a broker that lives asks for a larger ISR; a controller makes one smaller by itself"
    )


def test_nothing_that_comes_after_it_was_fenced_is_a_sign_and_none_may_be_known() -> None:
    again = step(95, GONE, "brokers", 11)
    found = last_signs(GONE, [again, step(90, ALONE, "brokers", 11)])
    assert found == {11: LastSign(Beginning(90, 90_000), None)}


def test_a_broker_that_said_that_it_stops_leaves_no_doubt() -> None:
    stopping = a_state(11, 11, inControlledShutdown=True)
    assert last_signs(GONE, [step(90, stopping, "brokers", 11)]) == {}


def test_an_outage_by_a_fenced_broker_has_its_last_sign_of_life() -> None:
    steps = [
        step(90, ALONE, "partitions", KEY),
        step(90, ALONE, "brokers", 11),
        step(70, a_state(11, 11, fenced=True), "brokers", 11),
    ]
    since = leaderless(GONE, lambda: steps)
    assert since is not None
    assert since.first_ms == 90_000
    assert since.last_signs == ((11, 70_000),)
    earlier = [step(95, a_state(11, 11, fenced=True), "partitions", KEY), *steps[1:]]
    assert leaderless(GONE, lambda: earlier).last_signs == ()  # type: ignore[union-attr]


def test_times_across_a_clock_that_was_set_back_say_nothing() -> None:
    steps = [
        step(90, ALONE, "partitions", KEY),
        step(90, ALONE, "brokers", 11),
        step(70, a_state(11, 11, fenced=True), "brokers", 11)._replace(at=95_000),
    ]
    since = leaderless(GONE, lambda: steps)
    assert since is not None
    assert since.last_signs == ()
