"""Health of partitions: leaders, in-sync replicas, placement, reassignments; and of configs."""

from __future__ import annotations

import pytest

from replica.doctor.health.cluster import Beginning
from replica.doctor.health.reassignments import reassignment_starts
from replica.metadata.record import MetadataRecord
from replica.model.keys import NO_NODE
from tests.replica.doctor.health.clusters import (
    a_broker,
    a_partition,
    above_notes,
    directory_of,
    healthy,
    judged,
    names,
)
from tests.replica.metadata.image.made import OTHER_TOPIC, TOPIC, change, config, topic

HOUR_MS = 3_600_000
MIN_ISR = "min.insync.replicas"


def of_clicks(*assignments: tuple[int, ...]) -> list[MetadataRecord]:
    """Another topic, with a partition of each assignment."""
    held = enumerate(assignments)
    return [
        topic("clicks", OTHER_TOPIC),
        *(a_partition(number, one, topic_id=OTHER_TOPIC) for number, one in held),
    ]


def test_a_partition_that_waits_for_an_in_sync_or_eligible_replica_has_no_leader() -> None:
    records = [
        *healthy(),
        a_broker(13, fenced=True),
        a_partition(1, isr=(13,), leader=NO_NODE),
        a_partition(2, isr=(), leader=NO_NODE, eligibleLeaderReplicas=(12, 13)),
    ]
    found = judged(records)
    assert [(s.name, s.what) for s in found["partition-without-leader"].subjects] == [
        ("orders-1", "replicas [11, 12, 13], in sync [13]; none of these is up"),
        ("orders-2", "replicas [11, 12, 13], in sync [], eligible [12, 13]; broker 12 is up"),
    ]
    assert found["partition-without-leader"].message == "2 of 3 partitions"
    assert names(found["eligible-leader-replicas"]) == ["orders-2"]
    assert "no-eligible-leader" not in found


def test_a_partition_that_only_an_unclean_election_helps_is_told_apart() -> None:
    found = judged([*healthy(), a_partition(1, isr=(), leader=NO_NODE, lastKnownElr=(12,))])
    assert above_notes(found) == ["no-eligible-leader"]
    (subject,) = found["no-eligible-leader"].subjects
    told = "replicas [11, 12, 13], last known eligible [12]; broker 12 is up"
    assert subject.what == told


LOST = "AAAAAAAAAAAAAAAAAAAAAg"
UNASSIGNED = "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize(
    ("directory", "told"),
    [
        (directory_of(99), ", without the log directory of its replica"),
        (LOST, ", without the log directory of its replica"),
        (UNASSIGNED, ""),
        (directory_of(13), ""),
    ],
    ids=["offline", "lost", "not named yet", "online"],
)
def test_a_live_broker_whose_directory_is_lost_is_not_waited_for_as_a_broker(
    directory: str, told: str
) -> None:
    where = (directory_of(11), directory_of(12), directory)
    lost = {"leader": NO_NODE, "directories": where}
    eligible = a_partition(2, isr=(), lastKnownElr=(13,), **lost)
    found = judged([*healthy(), a_partition(1, isr=(13,), **lost), eligible])
    (waits,) = found["partition-without-leader"].subjects
    assert waits.what == f"replicas [11, 12, 13], in sync [13]; broker 13 is up{told}"
    assert "log directory online" in found["partition-without-leader"].rule.kafka
    (last,) = found["no-eligible-leader"].subjects
    assert last.what.endswith(f"last known eligible [13]; broker 13 is up{told}")
    assert "registers again" in found["no-eligible-leader"].rule.kafka


def test_a_reassignment_into_a_lost_directory_is_stuck_though_its_broker_is_live() -> None:
    where = (directory_of(11), directory_of(12), LOST)
    moving = a_partition(addingReplicas=(13,), directories=where)
    found = judged([*healthy(), moving], starts={(TOPIC, 0): Beginning(8, 0)}, now=HOUR_MS)
    (subject,) = found["reassignment-stuck"].subjects
    assert subject.what == "adds [13], log directory of [13] not online, for 1 h"


def test_the_offset_of_a_subject_is_that_of_the_record_that_last_changed_it() -> None:
    records = [*healthy(), change(isr=(11, 12))]
    found = judged(records)
    assert found["under-replicated-partition"].subjects[0].offset == len(records) - 1


@pytest.mark.parametrize(
    ("configs", "defaults", "least"),
    [
        ([config("2", MIN_ISR)], {}, 2),
        ([config("2", MIN_ISR, "11", 4)], {}, 2),
        ([config("2", MIN_ISR, "", 4)], {}, 2),
        ([], {MIN_ISR: "2"}, 2),
        ([config("5", MIN_ISR)], {}, 3),
        ([config("2", MIN_ISR), config("1", MIN_ISR, "", 4)], {MIN_ISR: "1"}, 2),
        ([config("1", MIN_ISR, "11", 4), config("2", MIN_ISR, "", 4)], {}, None),
        ([config("1", MIN_ISR)], {MIN_ISR: "2"}, None),
        ([config("2", MIN_ISR, "12", 4), config("1", MIN_ISR, "", 4)], {}, None),
    ],
)
def test_min_insync_replicas_is_the_topics_the_leaders_all_brokers_or_the_files(
    configs: list[object], defaults: dict[str, str], least: int | None
) -> None:
    records = [*healthy(), a_partition(isr=(11,)), *configs]
    found = judged(records, broker_defaults=defaults)
    assert "min-isr-unknown" not in found
    if least is None:
        assert "partition-below-min-isr" not in found
    else:
        (subject,) = found["partition-below-min-isr"].subjects
        assert subject.what == f"in sync [11], at least {least} needed"


@pytest.mark.parametrize("value", [None, "***:1a2b", "many", "0"])
def test_an_unknown_min_insync_replicas_is_a_finding(value: str | None) -> None:
    configs = [] if value is None else [config(value, MIN_ISR)]
    found = judged([*healthy(), a_partition(isr=(11, 12)), *configs])
    assert sorted(found) == ["min-isr-unknown", "under-replicated-partition"]
    assert above_notes(found) == []


def test_one_in_sync_replica_of_several_is_a_warning_and_of_one_is_none() -> None:
    records = [*healthy(), a_partition(1, isr=(12,), leader=12), *of_clicks((11,)),
               config("1", MIN_ISR)]  # fmt: skip
    found = judged(records)
    assert above_notes(found) == ["partition-with-one-in-sync-replica"]
    assert names(found["partition-with-one-in-sync-replica"]) == ["orders-1"]


def test_leaders_away_from_the_preferred_replica_are_a_note() -> None:
    found = judged([*healthy(), a_partition(1, leader=12)])
    assert list(found) == ["leader-not-preferred"]
    assert found["leader-not-preferred"].subjects[0].what == "led by 12, preferred is 11"


def test_all_replicas_in_one_rack_are_told_where_there_are_several() -> None:
    racked = [a_broker(one, rack=rack) for one, rack in ((11, "a"), (12, "a"), (13, "b"))]
    found = judged([*healthy(), *racked, *of_clicks((11, 12))])
    assert above_notes(found) == ["partition-in-one-rack"]
    (subject,) = found["partition-in-one-rack"].subjects
    assert (subject.name, subject.what) == ("clicks-0", "replicas [11, 12], all in rack a")


def test_racks_are_not_judged_where_there_is_one_or_a_broker_has_none() -> None:
    shared_rack = [a_broker(one, rack="a") for one in (11, 12, 13)]
    assert judged([*healthy(), *shared_rack]) == {}
    half = [a_broker(11, rack="a"), a_broker(13, rack="b"), a_broker(14)]
    assert judged([*healthy(), *half, *of_clicks((11, 12), (12, 14))]) == {}


def test_configs_of_missing_topics_and_brokers_are_a_note() -> None:
    records = [
        *healthy(),
        *(config("1", "retention.ms", name) for name in ("orders", "clicks")),
        *(config("1", "log.cleaner.threads", name, 4) for name in ("", "11", "14")),
        config("1", "consumer.session.timeout.ms", "a-group", 32),
    ]
    found = judged(records)
    assert list(found) == ["config-without-resource"]
    assert names(found["config-without-resource"]) == ["topic clicks", "broker 14"]


def test_a_reassignment_is_told_with_its_first_record_and_how_long_it_takes() -> None:
    records = [*healthy(), change(replicas=(11, 12, 13), addingReplicas=(13,),
                                  removingReplicas=(12,))]  # fmt: skip
    start = {(TOPIC, 0): Beginning(8, 5 * HOUR_MS)}
    found = judged(records, starts=start, now=7 * HOUR_MS + 60_000)
    assert list(found) == ["reassignment-running"]
    (subject,) = found["reassignment-running"].subjects
    assert (subject.offset, subject.what) == (8, "adds [13], removes [12], for 2 h 1 min")


def test_a_reassignment_that_began_before_the_log_says_so() -> None:
    found = judged([*healthy(), change(removingReplicas=(12,))])
    (subject,) = found["reassignment-running"].subjects
    assert subject.what == "removes [12], began before this log"


@pytest.mark.parametrize(
    ("absent", "hours", "told"),
    [
        ([a_broker(13, fenced=True)], 1, "adds [13], [13] not live, for 1 h"),
        ([], 25, "adds [13], for 1 d 1 h"),
    ],
)
def test_a_reassignment_that_cannot_end_or_takes_days_is_a_warning(
    absent: list[object], hours: int, told: str
) -> None:
    records = [*healthy(), change(addingReplicas=(13,)), *absent]
    start = {(TOPIC, 0): Beginning(8, 0)}
    found = judged(records, starts=start, now=hours * HOUR_MS)
    (subject,) = found["reassignment-stuck"].subjects
    assert subject.what == told
    assert "reassignment-stuck" in above_notes(found)
    assert "reassignment-running" not in found


def test_a_reassignment_of_one_day_is_running() -> None:
    records = [*healthy(), change(addingReplicas=(13,))]
    found = judged(records, starts={(TOPIC, 0): Beginning(8, 0)}, now=24 * HOUR_MS)
    assert "reassignment-running" in found
    assert "reassignment-stuck" not in found


def test_a_reassignment_begins_anew_after_it_has_ended() -> None:
    key, other = (TOPIC, 0), (OTHER_TOPIC, 0)
    changes = [
        (5, 50, change(addingReplicas=(13,)).fields),
        (6, 60, change(isr=(11,)).fields),
        (7, 70, change(addingReplicas=(), removingReplicas=()).fields),
        (8, 80, change(removingReplicas=(12,)).fields),
        (9, 90, change(addingReplicas=(14,)).fields),
        (10, 95, change(topicId=OTHER_TOPIC, addingReplicas=(14,)).fields),
    ]
    assert reassignment_starts([key], changes[:2]) == {key: Beginning(5, 50)}
    assert reassignment_starts([key], changes[:3]) == {}
    assert reassignment_starts([key], changes) == {key: Beginning(8, 80)}
    assert set(reassignment_starts([key, other], changes)) == {key, other}


def test_findings_about_many_partitions_are_one_with_all_of_them_by_name() -> None:
    more = [topic("clicks", OTHER_TOPIC)]
    more += [a_partition(n, leader=12, topic_id=OTHER_TOPIC) for n in range(100)]
    found = judged([*healthy(), *more])
    finding = found["leader-not-preferred"]
    assert finding.message == "100 of 101 partitions"
    assert len(finding.subjects) == 100


def test_an_unclean_election_is_told_until_the_partition_has_recovered() -> None:
    lost = a_partition(1, isr=(12,), leader=12, leaderRecoveryState=1)
    found = judged([*healthy(), lost, config("1", MIN_ISR)])
    assert "unclean-leader" in above_notes(found)
    (subject,) = found["unclean-leader"].subjects
    assert (subject.name, subject.what) == ("orders-1", "led by 12 of [11, 12, 13]")
    # all replicas in sync again, and still no word of its recovery
    again = a_partition(1, leaderRecoveryState=1)
    assert above_notes(judged([*healthy(), again])) == ["unclean-leader"]
    assert above_notes(judged([*healthy(), lost, a_partition(1), config("1", MIN_ISR)])) == []
    # an only replica keeps the mark
    alone = a_partition(0, (12,), leaderRecoveryState=1, topic_id=OTHER_TOPIC)
    found = judged([*healthy(), topic("clicks", OTHER_TOPIC), alone])
    assert list(found) == ["unclean-only-replica"]


def test_a_partition_whose_every_replica_is_needed_has_none_to_spare() -> None:
    """Of one replica nothing is said: it has no guarantee. A min.insync.replicas above the number
    counts as that number."""
    records = [
        *healthy(),
        *of_clicks((11, 12)),
        config("2", MIN_ISR, "clicks"),
        config("2", MIN_ISR),
    ]
    found = judged(records)
    assert above_notes(found) == [], "plan says it before a restart"
    told = found["partition-without-spare-replica"]
    assert (told.message, [(one.name, one.what) for one in told.subjects]) == (
        "1 of 2 partitions",
        [("clicks-0", "replicas [11, 12], min.insync.replicas is 2")],
    )
    more = [config("3", MIN_ISR), config("4", MIN_ISR, "clicks")]
    assert names(judged([*records, *more])["partition-without-spare-replica"]) == [
        "clicks-0", "orders-0",
    ]  # fmt: skip
    assert judged([*healthy(), *of_clicks((11,)), config("1", MIN_ISR, "clicks")]) == {}


def test_a_reassignment_is_judged_by_the_replicas_that_it_leaves() -> None:
    moving = {"removingReplicas": (13,), "addingReplicas": (12,)}
    fewer = a_partition(0, (11, 12, 13), **moving)
    least = config("2", MIN_ISR)
    found = judged([*healthy(), least, a_partition(1), fewer])
    assert {"partition-without-spare-replica", "replica-counts-differ"} <= found.keys()
    moved = {"removingReplicas": (13,), "addingReplicas": (14,)}
    same = a_partition(0, (11, 12, 13, 14), isr=(11, 12, 13), **moved)
    assert above_notes(judged([*healthy(), a_broker(14), least, a_partition(1), same])) == []


def test_a_topic_whose_partitions_have_different_numbers_of_replicas_is_told() -> None:
    others = of_clicks((11, 12))
    assert judged([*healthy(), *others]) == {}, "two topics may differ"
    found = judged([*healthy(), *others, a_partition(1), a_partition(2, (11, 12))])
    assert above_notes(found) == ["replica-counts-differ"]
    told = found["replica-counts-differ"]
    assert (told.message, [(one.name, one.what) for one in told.subjects]) == (
        "1 of 2 topics",
        [
            (
                "topic orders",
                "1 partition with 2 replicas, 2 partitions with 3 replicas; fewer than the others: "
                "orders-2",
            )
        ],
    )
