"""Configs that were changed while a broker was down: it deletes records by them when it starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from replica.doctor.health.cluster import Shortened
from replica.doctor.health.copy_first import copies_first, copy_step
from replica.doctor.health.judging import judge_health
from replica.doctor.health.shortened import shortened_while_down
from replica.doctor.verdict.facts import verdict_on_state
from replica.doctor.verdict.verdict import Level
from tests.replica.doctor.health.clusters import a_broker, a_partition, cluster_after, healthy
from tests.replica.doctor.health.test_past import MS, steps_of
from tests.replica.metadata.image.made import config, topic

WEEK = "604800000"
FENCED = a_broker(12, fenced=True)


def shortened(*records: Any, before: tuple[Any, ...] = ()) -> tuple[Shortened, ...]:
    """What is found where these records follow the fencing of broker 12."""
    made = [*healthy(), *before, FENCED, *records]
    return shortened_while_down(cluster_after(made), lambda: reversed(steps_of(made)))


@pytest.mark.parametrize(
    ("before", "records", "told"),
    [
        ([], [config("1000", "retention.ms")], ("retention.ms", WEEK, "1000")),
        ([], [config("9", "retention.bytes")], ("retention.bytes", "-1", "9")),
        ([], [config("compact,delete", "cleanup.policy")],
         ("cleanup.policy", "delete", "compact,delete")),
        ([config("-1", "retention.ms")], [config(None, "retention.ms")],
         ("retention.ms", "-1", WEEK)),
        ([], [config("1", "log.retention.ms", "", 4)], ("retention.ms", WEEK, "1")),
        ([], [config("1", "log.retention.ms", "12", 4)], ("retention.ms", WEEK, "1")),
        ([config("8", "retention.ms")], [config("2", "retention.ms"), config("4", "retention.ms")],
         ("retention.ms", "8", "4")),
    ],
)  # fmt: skip
def test_what_a_broker_deletes_when_it_starts_is_found(
    before: list[Any], records: list[Any], told: tuple[str, str, str]
) -> None:
    (found,) = shortened(*records, before=(*before,))
    assert found == Shortened(12, "orders", *told, found.offset)
    assert found.offset == len(healthy()) + len(before) + len(records)


@pytest.mark.parametrize(
    ("before", "records"),
    [
        ([], [config(f"{WEEK}0", "retention.ms")]),
        ([], [config("-1", "retention.ms")]),
        ([config("1000", "retention.ms")], []),
        ([], [config("1000", "retention.ms"), config(None, "retention.ms")]),
        ([config("7", "retention.ms")], [config("1", "log.retention.ms", "", 4)]),
        ([], [config("1", "log.retention.ms", "11", 4)]),
        ([], [config("1", "max.message.bytes")]),
        ([], [config("***:1a2b", "retention.ms")]),
        ([config("compact", "cleanup.policy")], [config("1000", "retention.ms")]),
        ([], [config("1000", "retention.ms"), FENCED]),
    ],
)
def test_nothing_is_found_where_a_broker_deletes_no_more_than_before(
    before: list[Any], records: list[Any]
) -> None:
    """The last broker registered again after the change: it runs, and has applied it."""
    assert shortened(*records, before=(*before,)) == ()


@pytest.mark.parametrize(
    ("name", "value", "kept", "is_found"),
    [("retention.ms", "600000", 0, False), ("retention.ms", "600000", 10, True),
     ("retention.ms", "1000", 0, True), ("retention.bytes", "600000", 0, True)],
)  # fmt: skip
def test_a_topic_that_is_younger_than_its_new_retention_has_no_older_record(
    name: str, value: str, kept: int, *, is_found: bool
) -> None:
    """Each record of the log is a second apart. kept: where the known changes begin; behind the
    creation of the topic nobody knows its age."""
    made = [*healthy(), FENCED, config(value, name)]
    of = replace(cluster_after(made), now=len(made) * MS)
    steps = steps_of(made)[kept:]
    assert bool(shortened_while_down(of, lambda: reversed(steps))) is is_found


def test_a_topic_without_a_replica_on_the_broker_and_a_new_one_are_left_alone() -> None:
    new = "AAAAAAAAAAAAAAAAAAAAEQ"
    made = [
        topic("new", new),
        a_partition(0, (12,), topic_id=new),
        config("1", "retention.ms", "new"),
    ]
    assert shortened(*made) == ()
    elsewhere = a_partition(0, (11, 13))
    assert shortened(config("1", "retention.ms"), before=(elsewhere,)) == ()


def test_the_verdict_and_each_start_of_the_broker_name_it() -> None:
    cluster = cluster_after([*healthy(), a_partition(isr=(11, 13)), FENCED])
    of = replace(cluster, shortened=(Shortened(12, "orders", "retention.ms", WEEK, "1000", 9),))
    (finding,) = (
        one for one in judge_health(of) if one.rule.id == "retention-shortened-while-down"
    )
    told = "topic orders: retention.ms became 1000 (604800000 before) while broker 12 was down"
    assert finding.message == told
    verdict = verdict_on_state(of)
    assert verdict.level is Level.ATTENTION
    assert verdict.headline.endswith(f"Found: {told}.")
    assert copy_step(copies_first(of)) == (
        "First copy the log directories of broker 12, if you need the records of topic orders that "
        "the start deletes."
    )
