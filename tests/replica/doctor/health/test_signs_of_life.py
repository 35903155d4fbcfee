"""When a broker that is fenced was last alive, by what the log shows before it was fenced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from replica.doctor.health.cluster import Beginning, Cluster
from replica.doctor.health.rewound import VisibleChange
from replica.doctor.health.signs_of_life import LastSign, SignsBackwards
from replica.doctor.quorum.log_ends import OwnEnd, own_ends_of
from replica.doctor.verdict.evidence import StoppedBefore, leaderless
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
    for each in steps:
        back.take_back(each)
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
    assert since.stopped == (StoppedBefore(11, 70_000),)
    earlier = [step(95, a_state(11, 11, fenced=True), "partitions", KEY), *steps[1:]]
    assert leaderless(GONE, lambda: earlier).stopped == ()  # type: ignore[union-attr]


def test_an_outage_has_the_creation_of_its_partitions_if_all_were_created_in_what_was_read() -> (
    None
):
    fenced = [step(90, ALONE, "partitions", KEY), step(90, ALONE, "brokers", 11)]
    made = VisibleChange(75, 75_000, (("partitions", KEY, None),))
    seen = step(70, a_state(11, 11, fenced=True), "brokers", 11)
    since = leaderless(GONE, lambda: [*fenced, made, seen])
    assert since is not None
    assert (since.at_first, since.created_ms) == (1, 75_000)
    older = leaderless(GONE, lambda: [*fenced, seen])
    assert older is not None
    assert older.created_ms is None


@pytest.mark.parametrize(
    ("own_end", "expected"),
    [
        (85, LastSign(Beginning(90, 90_000), Beginning(85, 85_000), is_own_end=True)),
        (60, LastSign(Beginning(90, 90_000), Beginning(70, 70_000))),
        (90, LastSign(Beginning(90, 90_000), Beginning(70, 70_000))),
    ],
    ids=["beyond the log's signs", "older", "with the record that fenced it"],
)
def test_a_broker_lived_when_it_wrote_the_last_record_of_its_own_copy_of_the_log(
    own_end: int, expected: LastSign
) -> None:
    gone = replace(GONE, own_ends={11: OwnEnd(own_end, 1000 * own_end), 12: OwnEnd(89, 1)})
    fenced = [step(90, ALONE, "partitions", KEY), step(90, ALONE, "brokers", 11)]
    grown = step(70, a_state(11, 11), "partitions", KEY), step(80, BOTH, "partitions", KEY)
    assert last_signs(gone, [*fenced, *reversed(grown)]) == {11: expected}
    (told,) = leaderless(gone, lambda: [*fenced, *reversed(grown)]).stopped  # type: ignore[union-attr]
    assert expected.seen is not None
    assert told == StoppedBefore(11, expected.seen.at, expected.is_own_end)


def test_of_several_copies_of_a_broker_the_longest_counts_and_only_times_that_are_known() -> None:
    ends = [(11, OwnEnd(5, 50)), (11, OwnEnd(9, 90)), (11, OwnEnd(7, 70))]
    assert own_ends_of([*ends, (12, OwnEnd(9, None))]) == {11: OwnEnd(9, 90)}


def test_times_across_a_clock_that_was_set_back_say_nothing() -> None:
    steps = [
        step(90, ALONE, "partitions", KEY),
        step(90, ALONE, "brokers", 11),
        step(70, a_state(11, 11, fenced=True), "brokers", 11)._replace(at=95_000),
    ]
    since = leaderless(GONE, lambda: steps)
    assert since is not None
    assert since.stopped == ()
