"""The second line of `plan`: the answer, the gravest reason with its count, and the first step."""

from __future__ import annotations

from pathlib import Path

from jobs.cli.asking.plan_line import plan_line
from replica.doctor.preflight.answer import ChangeSafety
from replica.doctor.preflight.certainty import grounded
from replica.doctor.preflight.stopping import stop_brokers
from replica.doctor.preflight.voters import remove_voter
from tests.jobs.conftest import Kraftlake
from tests.replica.doctor.preflight.clusters import broker, cluster, partition
from tests.replica.doctor.preflight.test_quorum_and_levels import dynamic

ALONE = [partition(number, (1, 2), isr=(1,)) for number in range(4)]


def test_the_partitions_that_would_have_no_leader_are_counted_and_the_step_follows() -> None:
    found = stop_brokers(cluster(broker(2, fenced=True), *ALONE, min_isr=1), [1])
    assert plan_line(found) == (
        "UNSAFE: stop node 1: 4 of 4 partitions would lose their leader. First start node 2, and "
        "wait until the replicas of 4 partitions (orders-0, orders-1, orders-2 and 1 more) are in "
        "sync: --while 10 waits."
    )


def test_one_partition_is_named() -> None:
    found = stop_brokers(cluster(ALONE[0], min_isr=1), [1])
    assert plan_line(found) == (
        "UNSAFE: stop node 1: orders-0 would have no leader: no in-sync replica is left of [1]; [2]"
        " would be an unclean election. First wait until the replicas of 1 partition (orders-0) are"
        " in sync: --while 10 waits."
    )


def test_a_safe_change_says_so_with_its_first_need_or_note() -> None:
    of = cluster(partition(0, (1, 3)), min_isr=1)
    assert plan_line(stop_brokers(of, [2])) == (
        "SAFE: stop node 2: the state shows no reason against it."
    )
    needing = remove_voter(dynamic((1, 2, 3)), 3)
    assert needing.is_conditional
    assert plan_line(needing) == (
        "SAFE, if its needs hold: remove voter 3: 2 of the voters [1, 2] have to run and be caught "
        "up: no log shows that."
    )
    down = stop_brokers(cluster(broker(2, fenced=True), partition(0, (1, 3)), min_isr=1), [2])
    assert plan_line(down) == (
        "SAFE: stop node 2: broker 2 is down already (fenced), and leads no partition, so its stop "
        "changes nothing."
    )


def test_what_is_not_known_is_told_before_what_is_safe() -> None:
    of = cluster(partition(0, (1, 2)), min_isr=1, is_whole=False, end_offset=7)
    found = grounded(stop_brokers(of, [3]), of)
    assert found.answer is ChangeSafety.UNKNOWN
    assert plan_line(found) == (
        "UNKNOWN: stop node 3: state is known up to offset 6 only: `kraftlake check` says more."
    )


def test_each_change_has_its_line_below_the_verdict(data: Path, kraftlake: Kraftlake) -> None:
    changes = ("--stop-broker", "12", "--to-dynamic")
    ended = kraftlake("plan", *changes, data / "kafka-4.1.1-dynamic/split")
    verdict, first, second, *_ = ended.lines
    assert verdict.startswith("OUTAGE ")
    assert first.startswith(
        "plan        UNSAFE: stop node 12: 172 of 1105 partitions would lose their leader"
    )
    assert second.startswith("plan        NOTHING TO DO: raise kraft.version to 1")
