"""Stopping brokers and racks: what is safe, and what says that it isn't."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.doctor.preflight.answer import ChangeSafety, Preflight
from replica.doctor.preflight.certainty import grounded
from replica.doctor.preflight.decommissioning import decommission
from replica.doctor.preflight.stopping import stop_brokers, stop_rack
from replica.doctor.quorum.known_voter import MAY_HAVE_LOST, VoterDoubt
from tests.replica.doctor.preflight.clusters import broker, cluster, known, partition


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


def test_a_broker_or_rack_that_is_not_there_is_told_beside_those_that_are() -> None:
    of = cluster(broker(1, rack="a"), broker(2, rack="b"), broker(3, rack="b"))
    for found, subject, there in (
        (stop_brokers(of, [7]), "broker 7", "registered are: 1, 2, 3"),
        (decommission(of, [7]), "broker 7", "registered are: 1, 2, 3"),
        (stop_rack(of, "c"), "rack c", "the brokers' racks are: a, b"),
        (stop_rack(cluster(broker(1)), "c"), "rack c", "the brokers' racks are: none"),
    ):
        assert told(found)[0] == ("unsafe", subject)
        assert found.reasons[0].detail.endswith(there)


def test_voters_among_the_brokers_need_a_majority_without_them() -> None:
    of = cluster(voters=(1, 2, 3))
    assert stop_brokers(of, [1]).answer is ChangeSafety.SAFE
    found = stop_brokers(of, [1, 2])
    assert found.answer is ChangeSafety.UNSAFE
    assert "1 of 3 voters are left, 2 are needed" in found.reasons[0].detail


def test_a_combined_node_whose_broker_is_fenced_is_no_voter_that_is_left() -> None:
    of = cluster(broker(3, fenced=True), voters=(1, 2, 3))
    found = stop_brokers(of, [1])
    assert found.answer is ChangeSafety.UNSAFE
    (reason,) = found.reasons
    assert reason.detail == (
        "1 of 3 voters are left, 2 are needed; voter 3 is down: its broker is fenced, or shutting "
        "down"
    )
    assert found.needs == (), "no majority is left of which something could be asked"


def test_a_stop_that_takes_the_majority_takes_the_leaders_of_the_partitions_that_it_leads() -> None:
    """All replicas are in sync, and nobody elects another leader."""
    of_two = partition(0, (1, 2, 3)), partition(1, (2, 1, 3), leader=2)
    found = stop_brokers(cluster(*of_two, broker(3, fenced=True), voters=(1, 2, 3)), [1])
    assert [one.subject for one in found.reasons if "chooses no other one" in one.detail] == [
        "orders-0"
    ]
    alone = stop_brokers(cluster(*of_two, voters=(101, 102, 103)), [1])
    assert not any("no leader" in one.detail for one in alone.reasons)


def test_a_combined_node_that_is_shutting_down_counts_as_down() -> None:
    change = ("BROKER_REGISTRATION_CHANGE_RECORD", 1, {
        "brokerId": 2, "brokerEpoch": 2, "fenced": 0, "inControlledShutdown": 1,
    })  # fmt: skip
    of = cluster(change, voters=(1, 2, 3))
    assert stop_brokers(of, [3]).answer is ChangeSafety.UNSAFE
    assert stop_brokers(of, [2]).answer is ChangeSafety.SAFE, "it is going already"


def test_a_majority_of_five_bears_a_fenced_one_and_its_condition_is_told() -> None:
    brokers = (broker(4), broker(5, fenced=True))
    found = stop_brokers(cluster(*brokers, voters=(1, 2, 3, 4, 5)), [1])
    assert found.answer is ChangeSafety.SAFE
    assert found.needs == (
        "3 of the voters [2, 3, 4] have to run and be caught up: no log shows that",
    )
    both = stop_brokers(cluster(*brokers, voters=(1, 2, 3, 4, 5)), [1, 2])
    assert both.answer is ChangeSafety.UNSAFE


def test_controllers_of_their_own_are_not_in_the_log_so_that_they_run_is_a_condition() -> None:
    assert stop_brokers(cluster(voters=(101, 102, 103)), [1]).needs == ()
    combined = stop_brokers(cluster(voters=(1, 102, 103)), [1])
    assert combined.answer is ChangeSafety.SAFE
    assert combined.needs == (
        "2 of the voters [102, 103] have to run and be caught up: no log shows that",
    )


def test_a_voter_whose_disk_may_not_be_counted_leaves_the_majority_unknown() -> None:
    stale = known(1, 2, 3, doubts={3: VoterDoubt.STALE})
    found = stop_brokers(cluster(voters=(1, 2, 3), quorum=stale), [1])
    assert found.answer is ChangeSafety.UNKNOWN
    assert found.reasons[0].detail.endswith(
        "; voter 3 can't be counted: its directory can't be relied on"
    )
    away = known(1, 2, 3, doubts={2: VoterDoubt.NOT_GIVEN, 3: VoterDoubt.NOT_GIVEN})
    assert stop_brokers(cluster(voters=(1, 2, 3), quorum=away), [1]).answer is ChangeSafety.SAFE


@pytest.mark.parametrize("doubt", MAY_HAVE_LOST)
def test_a_voter_that_may_have_forgotten_its_vote_is_not_stopped_as_if_it_came_back(
    doubt: VoterDoubt,
) -> None:
    of = cluster(voters=(1, 2, 3), quorum=known(1, 2, 3, doubts={1: doubt}))
    found = grounded(stop_brokers(of, [1]), of)
    assert found.answer is ChangeSafety.UNKNOWN
    (reason,) = (one for one in found.reasons if one.subject == "voter 1")
    assert reason.detail.endswith(
        ": leave it stopped then, until `kraftlake recover --plan` has told how it comes back"
    )
    assert stop_brokers(of, [2]).answer is ChangeSafety.UNKNOWN, "it is counted for no majority"


def test_the_stop_of_a_fenced_broker_for_which_partitions_wait_is_unsafe() -> None:
    waiting = partition(0, (2, 3), isr=(2,), leader=-1)
    of = cluster(broker(2, fenced=True), waiting, partition(1, (1, 3)))
    found = stop_brokers(of, [2])
    assert told(found) == [("unsafe", "broker 2"), ("unsafe", "orders-0")]
    assert found.reasons[0].detail == (
        "is down already (fenced), and leads no partition; 1 partition without a leader can get "
        "one from it"
    )
    assert "it waits for [2] to come back" in found.reasons[1].detail
    assert stop_brokers(of, [3]).answer is ChangeSafety.SAFE, "3 is no replica that may lead"


@pytest.mark.parametrize(
    ("state", "how"),
    [
        ({"fenced": 1}, "is down already (fenced), and leads no partition, so"),
        ({"inControlledShutdown": 1}, "is shutting down already, and leads no partition, so"),
        (
            {"fenced": 1, "inControlledShutdown": 1},
            "is down already (fenced after it asked for its shutdown), and leads no partition, so",
        ),
    ],
)
def test_the_stop_of_a_broker_that_is_down_changes_nothing(state: dict[str, int], how: str) -> None:
    change = ("BROKER_REGISTRATION_CHANGE_RECORD", 2, {"brokerId": 2, "brokerEpoch": 2, **state})
    of = cluster(change, partition(0, (1, 2), isr=(1,)), min_isr=1)
    (reason,) = stop_brokers(of, [2]).reasons
    assert reason.detail == f"{how} its stop changes nothing"
    also_a_voter = cluster(change, partition(0, (1, 2), isr=(1,)), min_isr=1, voters=(1, 2, 3))
    assert all("nothing" not in one.detail for one in stop_brokers(also_a_voter, [2]).reasons)


def test_all_brokers_for_which_a_partition_waits_are_named() -> None:
    waiting = partition(0, (2, 3), isr=(), eligibleLeaderReplicas=(2, 3), leader=-1)
    of = cluster(broker(2, fenced=True), broker(3, fenced=True), waiting)
    detail = stop_brokers(of, [2]).reasons[-1].detail
    assert detail.endswith("; it waits for any of [2, 3] to come back")


def test_a_replica_in_a_lost_directory_of_a_live_broker_is_not_left() -> None:
    online, lost = "onlineDirectoryOf2AAAA", "lostDirectoryOf2AAAAAA"
    change = ("BROKER_REGISTRATION_CHANGE_RECORD", 2, {
        "brokerId": 2, "brokerEpoch": 2, "logDirs": (online,),
    })  # fmt: skip
    directories = {"directories": ("directoryOf1AAAAAAAAAA", lost)}
    of = cluster(change, partition(0, (1, 2), **directories))
    assert told(stop_brokers(of, [1])) == [("unsafe", "orders-0")]
    kept = cluster(change, partition(0, (1, 2), directories=("directoryOf1AAAAAAAAAA", online)))
    assert stop_brokers(kept, [1]).answer is ChangeSafety.SAFE


def test_a_broker_that_is_up_is_not_waited_for_but_its_log_directory() -> None:
    online, lost = "onlineDirectoryOf2AAAA", "lostDirectoryOf2AAAAAA"
    change = ("BROKER_REGISTRATION_CHANGE_RECORD", 2, {
        "brokerId": 2, "brokerEpoch": 2, "logDirs": (online,),
    })  # fmt: skip
    of = cluster(change, partition(0, (2,), isr=(2,), directories=(lost,)))
    (reason,) = stop_brokers(of, [2]).reasons
    assert reason.detail.endswith("; it waits for a log directory of [2] that is offline")


def test_counts_and_the_majority_come_before_the_partitions() -> None:
    of = cluster(
        *(partition(number, (1, 2), isr=(1,)) for number in range(3)),
        partition(3, (1, 2)),
        partition(4, (2, 3), isr=(3,)),
        min_isr=2,
        voters=(1, 2, 3),
    )
    found = stop_brokers(of, [1])
    assert told(found) == [
        ("unsafe", "partitions"),
        ("safe", "voters [1]"),
        *(("unsafe", f"orders-{number}") for number in range(4)),
    ]
    assert found.reasons[0].detail == (
        "3 of 5 partitions would lose their leader; 1 of 5 would have fewer in sync than "
        "min.insync.replicas, counting those with a replica on node 1"
    )


def test_partitions_of_which_too_little_is_known_are_not_counted_as_unsafe() -> None:
    unknown = (partition(number, (1, 2)) for number in range(2))
    found = stop_brokers(cluster(*unknown, partition(2, (1,)), min_isr=None), [1])
    counts = [
        (one.answer.value, one.detail) for one in found.reasons if one.subject == "partitions"
    ]
    assert counts == [
        ("unsafe", "1 of 3 partitions would lose their leader"),
        ("unknown", "2 of 3 partitions may fall below min.insync.replicas, which is not known"),
    ]


def test_nodes_that_are_no_brokers_are_stopped_as_nodes() -> None:
    of = cluster(voters=(101, 102, 103))
    assert stop_brokers(of, [101]).action == "stop node 101"
    assert stop_brokers(of, [103, 1]).action == "stop nodes 1 and 103"


def test_the_last_known_leader_is_waited_for_where_nobody_is_eligible() -> None:
    last = partition(0, (1, 2), isr=(), lastKnownElr=(2,))
    assert stop_brokers(cluster(last), [2]).answer is ChangeSafety.UNSAFE
    assert stop_brokers(cluster(last), [1]).answer is ChangeSafety.SAFE


def test_the_stop_of_a_fenced_broker_that_nobody_waits_for_is_a_note() -> None:
    of = cluster(broker(2, fenced=True), partition(0, (1, 2), isr=(1,)))
    found = stop_brokers(of, [2])
    assert (found.answer, told(found)) == (
        ChangeSafety.SAFE,
        [("safe", "broker 2"), ("safe", "orders-0")][:1],
    )


def test_a_rack_is_all_of_its_brokers() -> None:
    racks = (broker(1, rack="a"), broker(2, rack="a"), broker(3, rack="b"))
    of = cluster(*racks, partition(0, (1, 2)), partition(1, (2, 3)))
    assert told(stop_rack(of, "a")) == [("unsafe", "orders-0")]
    assert stop_rack(of, "b").answer is ChangeSafety.SAFE
    assert told(stop_rack(of, "c")) == [("unsafe", "rack c")]


def test_what_ends_an_outage_stands_alone_as_the_first_step() -> None:
    """Spare replicas end no outage: the broker for which partitions wait is started before."""
    start = "start node 2, wait until it is in sync, and ask again"
    spare = "give another replica to 1 partition that needs each replica it has"
    of_one, down = partition(0, (1,)), broker(2, fenced=True)
    for waits in (
        partition(1, (2,), isr=(2,), leader=-1),
        partition(1, (2, 3), isr=(), leader=-1, eligibleLeaderReplicas=(2,)),
        partition(1, (2, 3), isr=(3,)),
    ):
        of = cluster(down, of_one, waits, min_isr=2)
        first, second = stop_brokers(of, [1]).first
        assert first == start
        assert second.startswith(spare)
    both = (down, broker(3, fenced=True), partition(1, (1, 2, 3), isr=(1,)))
    assert stop_brokers(cluster(*both, min_isr=2), [1]).first == (
        "start nodes 2 and 3, wait until they are in sync, and ask again",
    )
    bears = cluster(down, of_one, partition(1, (2, 3), isr=(3,)), min_isr=1)
    assert stop_brokers(bears, [1]).first[0].startswith(spare), "nothing waits for broker 2"


def test_partitions_that_wait_for_a_log_directory_get_its_repair_and_no_reassignment() -> None:
    """A new replica has no leader from which it could fetch."""
    online, lost = "onlineDirectoryOf2AAAA", "lostDirectoryOf2AAAAAA"
    change = ("BROKER_REGISTRATION_CHANGE_RECORD", 2, {
        "brokerId": 2, "brokerEpoch": 2, "logDirs": (online,),
    })  # fmt: skip
    waits = partition(0, (2,), isr=(2,), leader=-1, directories=(lost,))
    repair = (
        "keep the files of the log directory of broker 2 that is offline, repair it, restart the "
        "broker with it, and ask again: 1 partition (orders-0) waits for it, and no reassignment "
        "helps"
    )
    assert stop_brokers(cluster(change, waits), [2]).first == (repair,)
    spare, also_of_2 = partition(1, (2,), directories=(online,)), partition(2, (1, 2))
    first, second = stop_brokers(cluster(change, waits, spare, also_of_2), [2]).first
    assert first == repair
    assert second.startswith("give another replica to 1 partition that needs each replica it has")


def test_what_keeps_the_only_copy_stands_before_the_start_of_its_broker() -> None:
    waits = partition(0, (2,), isr=(2,), leader=-1, directories=("newDirectoryOf2AAAAAAA",))
    gone = broker(2, fenced=True)
    of = cluster(gone, waits, min_isr=1)
    again = replace(of, led_from_new_directories=frozenset(of.partitions))
    keep, start = stop_brokers(again, [2]).first
    assert keep == (
        "keep the former disk of broker 2, which may have the only copy of 1 partition (orders-0), "
        "and stop the producers of topic orders: `kraftlake check` says why"
    )
    assert start.startswith("start node 2, wait")


def test_brokers_start_in_the_order_in_which_they_bring_leaders_back() -> None:
    """The last member of the in-sync replicas starts first: the other one can only follow it."""
    gone = (broker(2, fenced=True), broker(3, fenced=True))
    waits = (partition(1, (2, 3), isr=(3,), leader=-1), partition(2, (2, 3), isr=(3,), leader=-1))
    first, *_ = stop_brokers(cluster(*gone, *waits, min_isr=1), [2, 3]).first
    assert first == (
        "start node 3 first (it can lead 2 partitions without a leader), then node 2, wait until "
        "they are in sync, and ask again"
    )


def test_the_stop_of_a_broker_that_is_not_in_sync_lowers_no_number_of_replicas_in_sync() -> None:
    """It is down already, and should perhaps stay so: its stop changes nothing."""
    of = cluster(broker(2, fenced=True), partition(0, (1, 2), isr=(1,)), min_isr=None)
    assert stop_brokers(of, [2]).answer is ChangeSafety.SAFE
    assert stop_brokers(of, [1, 2]).answer is ChangeSafety.UNSAFE
    of = cluster(broker(2, fenced=True), partition(0, (1, 2, 3), isr=(1, 3)), min_isr=None)
    assert stop_brokers(of, [3]).answer is ChangeSafety.UNKNOWN
