"""When partitions had no leader: steps back in time, held to the same history played forward."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from replica.doctor.health.cluster import Beginning, PartitionKey
from replica.doctor.health.leaderless import (
    BEFORE,
    Outage,
    leaderless_in_restart,
    leaderless_since,
    outages_of,
)
from replica.doctor.health.min_isrs import MIN_ISR
from replica.doctor.health.rewound import RewoundPartitions, VisibleChange
from replica.metadata.image.partition import Partition
from replica.metadata.image.state import TOPIC_RESOURCE
from replica.model.keys import NO_NODE
from tests.replica.doctor.health.clusters import (
    a_broker,
    a_partition,
    cluster_after,
    directory_of,
    healthy,
)
from tests.replica.metadata.image.made import config

LED, ALONE = (
    Partition((1,), (1,), (), (), leader, 0, 0, 0, (), (), ()) for leader in (1, NO_NODE)
)  # fmt: skip
KEYS = [("topic", number) for number in range(3)]
CHANGES = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from([LED, ALONE, None])), max_size=12
)


def outages(
    partitions: Mapping[PartitionKey, Partition], steps: Iterable[VisibleChange]
) -> Sequence[Outage]:
    return outages_of(RewoundPartitions(partitions, {}, {}, {}), steps).without_leader


def history(
    changes: list[tuple[tuple[str, int], Partition | None]],
) -> tuple[dict[tuple[str, int], Partition], list[VisibleChange], list[int]]:
    """The state after the changes, the steps back to the beginning, newest first, and how many
    partitions had no leader behind each change. Each change is a second after the one before."""
    state: dict[tuple[str, int], Partition] = {}
    steps, counts = [], []
    for place, (key, after) in enumerate(changes):
        steps.append(VisibleChange(place, 1000 * place, (("partitions", key, state.get(key)),)))
        if after is None:
            state.pop(key, None)
        else:
            state[key] = after
        counts.append(sum(one is ALONE for one in state.values()))
    return state, steps[::-1], counts


@given(changes=CHANGES, known=st.integers(0, 12))
def test_outages_are_those_of_the_history_played_forward(
    changes: list[tuple[tuple[str, int], Partition | None]], known: int
) -> None:
    """known: how many of the changes are known, the newest ones."""
    state, steps, counts = history(changes)
    numbers = [len(history(changes[: place + 1])[0]) for place in range(len(changes))]
    first = max(len(changes) - known, 0)
    expected, began = [], None
    for place, count in enumerate([*counts, 0]):
        if count and began is None:
            began = place
        if began is not None and not count:
            if place >= max(first, 1):
                expected.append(_outage(counts, numbers, began, place, first))
            began = None
    found = outages(state, steps[:known])
    assert list(found) == expected
    assert [(len(one.first), len(one.lasting)) for one in found] == [
        (one.at_first, one.still) for one in expected
    ]


def _outage(counts: list[int], numbers: list[int], began: int, end: int, first: int) -> Outage:
    """The outage of the changes from `began` to before `end`, of which those from `first` on are
    known; what was before these is known as a state without a time."""
    seen = counts[max(began, first - 1) : end]
    known = range(max(began, first), end)
    place = next((one for one in known if counts[one] == max(seen)), first - 1)
    ended = None if end == len(counts) else _at(end)
    at = 1000 * place if place >= first else None
    start = _at(began) if began >= first else BEFORE
    still = counts[-1] if ended is None else 0
    return Outage(start, ended, max(seen), numbers[place], at, seen[0], still)


def test_an_outage_begins_with_all_partitions_that_lost_their_leader_at_that_time() -> None:
    """A controller writes a record for each partition, all with one time."""
    lost: list[tuple[tuple[str, int], Partition | None]] = [(key, LED) for key in KEYS]
    lost += [(key, ALONE) for key in KEYS]
    state, steps, _ = history([*lost, (KEYS[0], LED)])
    times = (0, 0, 0, 5000, 5000, 9000, 12_000)
    timed = [one._replace(at=at) for one, at in zip(steps, reversed(times), strict=True)]
    (found,) = outages(state, timed)
    counts = found.at_first, found.most, found.most_at, found.still
    assert counts == (2, 3, 9000, 2)
    assert (found.first, found.lasting) == ({KEYS[0], KEYS[1]}, {KEYS[1], KEYS[2]})
    assert found.ended is None


@given(changes=CHANGES)
def test_a_partition_is_without_leader_since_its_last_change_from_a_leader_or_from_nothing(
    changes: list[tuple[tuple[str, int], Partition | None]],
) -> None:
    state, steps, _ = history(changes)
    keys = frozenset(key for key, one in state.items() if one is ALONE)
    began: dict[tuple[str, int], int] = {}
    for place, (key, after) in enumerate(changes):
        if after is ALONE:
            began.setdefault(key, place)
        else:
            began.pop(key, None)
    assert leaderless_since(keys, steps) == {key: _at(place) for key, place in began.items()}


def test_what_began_before_the_oldest_step_is_left_out() -> None:
    keys = frozenset(KEYS[:1])
    assert leaderless_since(keys, []) == {}
    assert outages({}, []) == ()


def _at(place: int) -> Beginning:
    return Beginning(place, 1000 * place)


def test_a_restart_takes_the_leaders_of_what_only_this_broker_has_in_sync() -> None:
    """Of broker 11, which lost a directory: one partition has no leader, one only it can lead, and
    one broker 12 can lead too. Nothing is said of broker 12, which lost none."""
    lost, kept = directory_of(99), directory_of(11)
    made = [
        *healthy(),
        a_broker(11),
        a_broker(12),
        a_partition(0, (11,), leader=NO_NODE, directories=(lost,)),
        a_partition(1, (11,), leader=11, directories=(kept,)),
        a_partition(2, (11, 12), leader=11, directories=(kept, directory_of(12))),
    ]
    assert leaderless_in_restart(cluster_after(made)) == {11: 1}
    sound = [*made[:-3], *made[-2:]]
    assert leaderless_in_restart(cluster_after(sound)) == {}


def test_writes_are_refused_while_a_led_partition_has_too_few_replicas_in_sync() -> None:
    """Not while it has no leader. What it needs is what was demanded at that time."""
    cluster = cluster_after([*healthy(), config("2", MIN_ISR)])
    ((key, whole),) = cluster.partitions.items()
    few = whole._replace(isr=(11,))
    gone = few._replace(leader=NO_NODE)
    of_topic = (TOPIC_RESOURCE, "orders", MIN_ISR)

    def found(*changes: tuple[int, str, Any, Any]) -> list[tuple[int | None, int | None]]:
        steps = [VisibleChange(at, at, ((table, key, was),)) for at, table, key, was in changes]
        refusing = outages_of(RewoundPartitions.of(cluster), steps).refusing
        assert {(one.most, one.still) for one in refusing} <= {(1, 0)}
        return [(one.began.at, None if one.ended is None else one.ended.at) for one in refusing]

    times = [(4000, gone), (3000, few), (2000, whole), (1000, few), (500, whole)]
    of_partition = [(at, "partitions", key, was) for at, was in times]
    assert found(*of_partition) == [(500, 1000), (2000, 3000)]
    lowered = found(of_partition[-2], (700, "configs", of_topic, "1"), of_partition[-1])
    assert lowered == [(700, 1000)], "one replica was enough before"
    two = whole._replace(isr=(11, 12))
    demanded = found(
        (9500, "partitions", key, two), (9000, "configs", of_topic, "3"),
        (8000, "partitions", key, whole),
    )  # fmt: skip
    assert demanded == [(8000, 9000)], "two are enough since"
    deleted = (9500, "topics", key[0], "orders"), (9500, "partitions", key, few)
    steps = [VisibleChange(9500, 9500, tuple((table, *rest) for _, table, *rest in deleted))]
    after = RewoundPartitions({}, {}, {of_topic: "2"}, {})
    (of_deleted,) = outages_of(after, steps).refusing
    assert (of_deleted.began, of_deleted.ended) == (BEFORE, Beginning(9500, 9500))
