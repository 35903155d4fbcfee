"""Since when exposures and reassignments are as they are, compared with the states of every
offset."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.doctor.health.cluster import LOST_DIRECTORY, Beginning, Cluster
from replica.doctor.health.exposure import Exposure, Failure, exposures
from replica.doctor.health.past import Past, PastRange, Waiting, does_harm, past_in_range, past_of
from replica.doctor.health.rewound import WATCHED, VisibleChange
from replica.metadata.image.versions import VersionedReplay
from replica.metadata.record import new_record
from replica.model.keys import NO_NODE
from tests.examples import examples
from tests.replica.doctor.health.clusters import (
    a_broker,
    a_partition,
    cluster_after,
    directory_of,
    healthy,
    voters,
)
from tests.replica.metadata.image.made import DIRECTORY, TOPIC, config, topic

MIN_ISR = "min.insync.replicas"
MS = 1000


def steps_of(records: list[Any]) -> list[VisibleChange]:
    """Oldest first."""
    replay, steps = VersionedReplay(), []
    for offset, record in enumerate(records):
        before = tuple(
            (write.kind.table, write.key, write.old)
            for write in replay.apply(offset, record)
            if write.kind.table in WATCHED
        )
        steps.append(VisibleChange(offset, offset * MS, before))
    return steps


def looked_back(records: list[Any], kept: int = 0) -> Past:
    """kept: the offset at which the steps begin."""
    return past_of(cluster_after(records), reversed(steps_of(records)[kept:]))


def figures(records: list[Any]) -> dict[Failure, Exposure]:
    return {one.failure: one for one in exposures(cluster_after(records))}


def test_an_exposure_holds_from_the_record_on_that_took_replicas_out_of_sync() -> None:
    records = [*healthy(), config("2", MIN_ISR), a_partition(isr=(11,)), a_broker(13)]
    found = looked_back(records).exposed
    at = len(records) - 2
    assert found[Failure("broker", ("11",))] == Beginning(at, at * MS)
    assert Failure("voter", ("1",)) in found  # below min.insync.replicas already
    assert looked_back(records, kept=at + 1).exposed == {}


def test_a_partition_that_only_may_be_below_min_isr_moves_no_beginning() -> None:
    """min.insync.replicas of the new partition is in no log."""
    records = [*healthy(), voters(1), a_broker(1, fenced=True)]
    lost = Beginning(len(records) - 1, (len(records) - 1) * MS)
    assert looked_back(records).exposed[Failure("nothing")] == lost
    later = [*records, a_partition(1, (11, 1), isr=(11,), leader=11)]
    assert looked_back(later).exposed[Failure("nothing")] == lost


def test_a_failure_that_takes_nothing_away_has_no_beginning() -> None:
    assert Failure("broker", ("11",)) not in looked_back(healthy()).exposed


def test_two_voters_are_exposed_since_the_voter_set_has_two() -> None:
    records = [*healthy(), voters(1, 2), a_broker(13)]
    assert looked_back(records).exposed[Failure("voter", ("1",))].offset == len(records) - 2


def test_a_reassignment_began_where_replicas_were_first_added() -> None:
    moved = a_partition(0, (11, 12, 13), addingReplicas=(13,))
    records = [*healthy(), moved, a_partition(0, (11, 12, 13), isr=(11, 12), addingReplicas=(13,))]
    at = len(records) - 2
    (start,) = looked_back(records).starts.values()
    assert (start.offset, start.at) == (at, at * MS)
    assert looked_back(records, kept=at + 1).starts == {}


@st.composite
def logs(draw: st.DrawFn) -> list[Any]:
    """Logs in which brokers come, go, change their racks and lose log directories, partitions
    shrink and grow, topics are removed, and configs and voters change."""
    records: list[Any] = [topic(), voters(1, 2, 3)]
    partitions: set[int] = set()
    for _ in range(draw(st.integers(1, 25))):
        what = draw(st.sampled_from(["broker", "partition", "config", "topic", "voters"]))
        if what == "broker":
            fenced, rack = draw(st.booleans()), draw(st.sampled_from("ab"))
            one = draw(st.integers(1, 4))
            online = draw(st.sampled_from([(), (directory_of(one),), (DIRECTORY,)]))
            records.append(a_broker(one, fenced=fenced, rack=rack, logDirs=online))
        elif what == "partition":
            replicas = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True))
            isr = draw(st.lists(st.sampled_from(replicas), unique=True))
            leader = isr[0] if isr else NO_NODE
            number = draw(st.integers(0, 2))
            partitions.add(number)
            lies = [draw(st.sampled_from([directory_of(b), LOST_DIRECTORY])) for b in replicas]
            where = draw(st.sampled_from([(), tuple(lies)]))
            records.append(a_partition(number, replicas, isr, leader, directories=where))
        elif what == "config":
            value = draw(st.sampled_from(["1", "2", "3", None]))
            name = draw(st.sampled_from(["orders", "orders", ""]))
            kind = 2 if name else 4
            fields = {"resourceType": kind, "resourceName": name, "name": MIN_ISR, "value": value}
            records.append(new_record("CONFIG_RECORD", 0, fields))
        elif what == "topic":
            records += [new_record("REMOVE_TOPIC_RECORD", 0, {"topicId": TOPIC}), topic()]
            partitions.clear()
        else:
            records.append(voters(*range(1, draw(st.integers(2, 5)))))
    return records


def since(records: list[Any]) -> dict[Failure, Beginning]:
    """Since when each failure that does harm would do as much, by the state at every offset."""
    expected = {}
    for failure, exposure in figures(records).items():
        if not does_harm(exposure):
            continue
        end = len(records)
        while end and figures(records[: end - 1]).get(failure) == exposure:
            end -= 1
        if end:
            expected[failure] = Beginning(end - 1, (end - 1) * MS)
    return expected


@settings(deadline=None, max_examples=examples(40))
@given(logs())
def test_the_figures_hold_from_the_found_offset_on_and_were_others_before(
    records: list[Any],
) -> None:
    assert looked_back(records).exposed == since(records)


@pytest.mark.parametrize(
    ("records", "failure", "at"),
    [
        pytest.param(
            [*healthy(), config("3", MIN_ISR), a_partition(), a_broker(13)],
            Failure("broker", ("11",)),
            -3,
            id="a topic's min.insync.replicas, before its partition was written again",
        ),
        pytest.param(
            [
                topic(),
                voters(1, 2, 3),
                a_broker(1, fenced=True),
                a_broker(1, fenced=True, rack="b"),
            ],
            Failure("voter", ("2",)),
            -2,
            id="a voter whose broker was fenced, and registered again",
        ),
    ],
)
def test_what_did_the_harm_is_found_behind_records_that_changed_other_things(
    records: list[Any], failure: Failure, at: int
) -> None:
    found = looked_back(records).exposed
    assert found == since(records)
    assert found[failure].offset == len(records) + at


def test_two_ranges_wait_for_what_both_wait_for() -> None:
    one, two = Failure("voter", ("1",)), Failure("voter", ("2",))
    both = Waiting(frozenset({one, two}), frozenset({(TOPIC, 0), (TOPIC, 1)}))
    less = Waiting(frozenset({two}), frozenset({(TOPIC, 1), (TOPIC, 2)}))
    assert both & less == Waiting(frozenset({two}), frozenset({(TOPIC, 1)}))
    assert not both & Waiting(frozenset(), frozenset())


@settings(deadline=None, max_examples=examples(40))
@given(logs(), st.data())
def test_ranges_that_are_read_side_by_side_tell_what_the_whole_tells(
    records: list[Any], data: st.DataObject
) -> None:
    if data.draw(st.booleans()):
        records = [*records, a_partition(0, (1, 2), addingReplicas=(2,), directories=())]
    steps, now = steps_of(records), cluster_after(records)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(records)), max_size=4)) | {0, len(records)})
    found: PastRange | None = None
    for low, high in reversed([*pairwise(cuts)]):
        at_end = now if high == len(records) else cluster_after(records[:high])
        asked = data.draw(st.sampled_from([None, found and found.waiting]))
        one = past_in_range(now, at_end, reversed(steps[low:high]), asked)
        found = one if found is None else one.before(found)
    assert found is not None
    assert found.past == past_of(now, reversed(steps))


def test_steps_are_read_only_until_all_questions_are_answered() -> None:
    records = [*healthy(), a_partition(isr=(11,), leader=11)]
    cluster: Cluster = cluster_after(records)
    key = next(iter(cluster.partitions))
    old = cluster_after(healthy()).partitions[key]

    def steps() -> Any:
        brokers = (("brokers", broker_id, None) for broker_id in (11, 12, 13))
        yield VisibleChange(99, None, (("partitions", key, old), *brokers, ("voters", "", None)))
        raise AssertionError("nobody asks for more")

    assert set(past_of(cluster, steps()).exposed.values()) == {Beginning(99, None)}


def test_a_raised_min_isr_is_what_did_the_harm_to_a_partition_that_never_changed() -> None:
    """The walk backwards begins at the config: it must know the topic's partitions by then."""
    records = [*healthy(), config("3", MIN_ISR), a_broker(13)]
    at = len(records) - 2
    assert looked_back(records, kept=at).exposed[Failure("broker", ("11",))].offset == at
