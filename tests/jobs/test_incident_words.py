"""The words of an outage on the page of what-happened."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.cli.clock import clock_of
from jobs.cli.directories.incident import Incident, IncidentEvent, incident_events
from replica.doctor.health.cluster import Beginning, PartitionKey
from replica.doctor.health.leaderless import Outage
from replica.doctor.health.refusals import Fencing, Missing, Refusal
from replica.doctor.timeline.event import Event
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.facts import verdict_on

TOPICS = {"b-id": "audit", "a-id": "orders"}


def keys(*partitions: tuple[str, int]) -> frozenset[PartitionKey]:
    return frozenset(partitions)


ONE, OTHER = ("a-id", 1), ("b-id", 0)
MANY = keys(*(("a-id", number) for number in range(4)))


@pytest.mark.parametrize(
    ("first", "lasting", "most", "told"),
    [
        (keys(ONE), keys(ONE), 1, "orders-1 had no leader and still has none"),
        (keys(ONE), keys(OTHER), 1, "orders-1 had no leader and audit-0 has none"),
        (
            keys(ONE, OTHER),
            keys(OTHER),
            2,
            "audit-0 and orders-1 had no leader and 1 of them still has none",
        ),
        (MANY, MANY, 4, "4 partitions had no leader and still have none"),
        (
            MANY,
            MANY,
            9,
            "4 partitions had no leader, 9 had none at 1970-01-01 00:00:03.000 UTC and the first "
            "4 still have none",
        ),
        (keys(("gone", 0)), keys(), 1, "1 partition had no leader"),
    ],
)
def test_partitions_without_leader_are_named_and_those_that_still_have_none_are_of_them_or_others(
    first: frozenset[PartitionKey], lasting: frozenset[PartitionKey], most: int, told: str
) -> None:
    outage = Outage(
        Beginning(1, 1000), None, most, 9, 3000, len(first), len(lasting), first, lasting
    )
    incident = Incident(verdict_on(ClusterEvidence()), outages=[outage], topics=TOPICS)
    (event,) = incident_events(incident, clock_of(None))
    assert event.text == f"outage: {told}"


def of_min_isr(incident: Incident) -> list[IncidentEvent]:
    """A late change of min.insync.replicas, its first value, and a change of another config."""
    name = "topic orders: min.insync.replicas"
    recent = [
        Event("c", 900, "config_set", *told, None, 1, 1, (1,), "proven")
        for told in ((name, "2 -> 3"), (name, "now 2"), ("topic orders: retention.ms", "1 -> 2"))
    ]
    events = incident_events(replace(incident, recent=recent), clock_of(None))
    return [one for one in events if one.text.startswith("config set: ")]


def test_without_refused_writes_min_insync_replicas_is_a_config_as_others() -> None:
    changes = of_min_isr(Incident(verdict_on(ClusterEvidence())))
    assert [one.is_harmless_change for one in changes] == [True, True, True]


@pytest.mark.parametrize(
    ("ended", "still", "told"),
    [
        (Beginning(5, 4000), 0, "until 1970-01-01 00:00:04.000 UTC"),
        (None, 2, "to 2 partitions still"),
    ],
)
def test_refused_writes_are_told_with_who_and_how_long(
    ended: Beginning | None, still: int, told: str
) -> None:
    """What still is so, the verdict tells: the line and its step are about what is over."""
    first = keys(("a-id", 0), ("a-id", 1))
    outage = Outage(Beginning(1, 1000), ended, 2, 9, 1000, 2, still, first)
    silent = Missing(13, Fencing(Beginning(1, 1000), False, Beginning(3, 2000)))
    refusal = Refusal(outage, ("orders-0", "orders-1"), (silent,))
    incident = Incident(verdict_on(ClusterEvidence()), refusing=[refusal])
    (event,) = incident_events(incident, clock_of(None))
    assert [one.is_harmless_change for one in of_min_isr(incident)] == [False, True, True]
    to = "writes with acks=all to orders-0 and orders-1"
    assert event.text == f"refused: {to}, {told}: too few replicas were in sync"
    beside = [*incident.beside(clock_of(None))]
    if ended is None:
        assert beside == []
        return
    (label, text), (below, step) = beside
    assert (label, below) == ("refused", "  next")
    assert text.startswith(f"{to} from 1970-01-01 00:00:01.000 UTC {told} (3.0 s): too few")
    assert step.startswith("Look at broker 13: it missed its heartbeats and was fenced (at 1970-01")
