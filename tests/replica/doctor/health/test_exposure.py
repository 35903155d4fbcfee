"""Exposure: the harm of failures, compared with that of counting each partition for each
failure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.doctor.health.cluster import LOST_DIRECTORY, Cluster, Lag
from replica.doctor.health.exposure import (
    Exposure,
    Failure,
    Harm,
    exposures,
    has_too_many_pairs,
    min_isr_unknown,
)
from replica.doctor.health.live_replicas import eligible_to_lead
from replica.doctor.health.past import past_of
from replica.doctor.preflight.answer import ChangeSafety
from replica.doctor.preflight.certainty import grounded
from replica.doctor.preflight.stopping import stop_brokers
from replica.doctor.quorum.conditions import NoLeader
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.quorum.log_ends import COPYING_MS
from replica.model.keys import NO_NODE
from tests.replica.doctor.health.clusters import (
    a_broker,
    a_partition,
    cluster_after,
    directory_of,
    healthy,
    voters,
)
from tests.replica.doctor.health.test_past import steps_of
from tests.replica.doctor.preflight.clusters import known
from tests.replica.metadata.image.made import DIRECTORY, config, topic

BROKERS = (1, 2, 3, 4, 5, 6)
MIN_ISR = "min.insync.replicas"


def by_gone(cluster: Cluster) -> dict[tuple[str, tuple[str, ...]], Exposure]:
    return {one.failure: one for one in exposures(cluster)}


def test_one_broker_of_a_healthy_cluster_takes_nothing_away() -> None:
    found = by_gone(cluster_after([*healthy(), config("2", MIN_ISR)]))
    assert found["nothing", ()].harm == Harm()
    assert found["broker", ("11",)].harm == Harm()
    assert found["pair", ("11", "12")].harm == Harm(below_min_isr=1)


def test_a_single_in_sync_replica_needs_an_unclean_election_once_it_fails() -> None:
    found = by_gone(cluster_after([*healthy(), a_partition(isr=(11,)), config("2", MIN_ISR)]))
    assert found["nothing", ()].harm == Harm(below_min_isr=1)
    assert found["broker", ("11",)].harm == Harm(leaderless=1, needs_unclean=1)
    assert found["broker", ("12",)].harm == Harm(below_min_isr=1)


def test_an_eligible_replica_takes_over() -> None:
    records = [*healthy(), a_partition(isr=(11,), eligibleLeaderReplicas=(12,))]
    found = by_gone(cluster_after([*records, config("2", MIN_ISR)]))
    assert found["broker", ("11",)].harm == Harm(below_min_isr=1)
    assert found["pair", ("11", "12")].harm == Harm(leaderless=1, needs_unclean=1)


@pytest.mark.parametrize(
    "waiting",
    [
        {"isr": (12,)},
        {"isr": (), "eligibleLeaderReplicas": (12,)},
        {"isr": (), "lastKnownElr": (12,)},
    ],
)
def test_a_partition_that_waits_for_its_broker_needs_no_unclean_election(
    waiting: dict[str, Any],
) -> None:
    """It has a leader, without loss, once broker 12 is back."""
    records = [*healthy(), a_partition(leader=NO_NODE, **waiting), a_broker(12, fenced=True)]
    found = by_gone(cluster_after(records))
    assert found["nothing", ()].harm == Harm(leaderless=1)
    assert found["broker", ("11",)].harm == Harm(leaderless=1)


def test_a_partition_whose_last_candidate_fails_needs_an_unclean_election() -> None:
    records = [*healthy(), a_partition(leader=NO_NODE, isr=())]
    assert by_gone(cluster_after(records))["nothing", ()].harm == Harm(1, needs_unclean=1)


def test_without_a_leader_of_the_quorum_no_other_replica_takes_over() -> None:
    """check, plan and the exposure agree: nobody is left who could choose another leader."""
    of = cluster_after([*healthy(), a_partition(1, (12, 11), leader=12)])
    for unled in (
        replace(of, quorum=known(1, 2, 3, is_leaderless=True)),
        replace(of, by_verdict=NoLeader("has no leader, by the verdict", is_sure=True)),
    ):
        found = by_gone(unled)
        assert found["nothing", ()].harm == Harm()
        assert found["broker", ("11",)].harm == found["broker", ("12",)].harm == Harm(leaderless=1)
        assert found["broker", ("13",)].harm == Harm()
        stop = grounded(stop_brokers(unled, [11]), unled)
        assert [(one.answer, one.subject) for one in stop.reasons] == [
            (ChangeSafety.UNSAFE, "quorum"), (ChangeSafety.UNSAFE, "orders-0"),
        ]  # fmt: skip


def test_a_replica_in_a_lost_directory_is_not_left() -> None:
    """Its broker is live, and leads other partitions; plan --stop-broker says the same."""
    lost = (directory_of(11), LOST_DIRECTORY, directory_of(13))
    found = by_gone(cluster_after([*healthy(), a_partition(directories=lost, isr=(11, 12))]))
    assert found["nothing", ()].harm == Harm()
    assert found["broker", ("11",)].harm == Harm(leaderless=1), "it waits for the directory"
    alone = a_partition(directories=lost, isr=(12,), leader=NO_NODE)
    assert by_gone(cluster_after([*healthy(), alone]))["nothing", ()].harm.leaderless == 1


def test_it_is_exposed_since_the_directory_was_lost() -> None:
    records = [*healthy(), a_partition(isr=(11, 12)), a_broker(12, logDirs=(DIRECTORY,))]
    past = past_of(cluster_after(records), reversed(steps_of(records)))
    assert past.exposed[Failure("broker", ("11",))].offset == len(records) - 1


def combined(fenced: int, *of: int) -> Cluster:
    """Three nodes that are broker and controller, one of them fenced as a broker."""
    nodes = [a_broker(one, fenced=one == fenced) for one in (1, 2, 3)]
    return cluster_after([voters(*(of or (1, 2, 3))), *nodes])


def test_a_voter_whose_broker_is_fenced_is_not_left() -> None:
    found = by_gone(combined(3))
    now, without_1 = found["nothing", ()], found["broker", ("1",)]
    assert (now.voters_left, now.has_majority) == (2, True)
    assert (without_1.voters_left, without_1.has_majority) == (1, False)
    assert (found["voter", ("2",)].voters_left, found["voter", ("2",)].has_majority) == (1, False)
    assert ("voter", ("3",)) not in found, "it can't fail once more"


def test_a_controller_of_its_own_is_left_whatever_brokers_do() -> None:
    found = by_gone(combined(3, 1, 2, 103))
    assert found["nothing", ()].voters_left == 3
    assert found["pair", ("1", "2")].voters_left == 1


def test_a_voter_whose_disk_may_not_be_counted_is_not_left() -> None:
    of = combined(0)
    stale = replace(of, quorum=known(1, 2, 3, doubts={2: VoterDoubt.STALE}))
    assert by_gone(of)["broker", ("1",)].has_majority
    assert by_gone(stale)["broker", ("1",)] == Exposure(
        Failure("broker", ("1",)), Harm(), voters_left=1, has_majority=False
    )


def test_without_a_majority_nobody_else_leads_what_a_failed_broker_led() -> None:
    """All replicas are in sync: a failure that leaves a majority takes no leader."""
    nodes = [voters(1, 2, 3), *(a_broker(one) for one in (1, 2, 3)), topic()]
    nodes += [a_partition(0, (1, 2, 3), leader=1), a_partition(1, (2, 3, 1), leader=2)]
    whole = cluster_after(nodes)
    one_down = cluster_after([*nodes, a_broker(3, fenced=True)])
    assert by_gone(whole)["broker", ("1",)].harm.leaderless == 0
    found = by_gone(one_down)
    assert [found[one].harm.leaderless for one in (("broker", ("1",)), ("voter", ("2",)))] == [1, 1]
    assert found["pair", ("1", "2")].harm.leaderless == 2


def test_voters_that_stopped_together_are_not_left() -> None:
    """check says of them that they stopped; where the newest log goes on for a moment only, its
    last records may have been under way."""
    of = combined(0)
    quorum = known(1, 2, 3, held={1: 9, 2: 5, 3: 5}, possible_end=5)
    stopped = replace(of, quorum=quorum, uncommitted_from=5, uncommitted_at=1_000, now=1_500)
    under_way = replace(stopped, now=1_100)
    (now,) = (one for one in exposures(stopped) if one.failure.kind == "nothing")
    assert (now.voters_left, now.has_majority) == (1, False)
    assert by_gone(under_way)["nothing", ()].voters_left == 3
    assert ("voter", ("2",)) not in by_gone(stopped), "it can't stop once more"


def test_a_voter_that_is_behind_is_not_left_as_no_majority_of_a_plan_counts_it() -> None:
    late = replace(combined(0), lags={2: Lag(5, COPYING_MS)})
    assert by_gone(late)["nothing", ()].voters_left == 2
    assert not by_gone(late)["broker", ("1",)].has_majority
    assert ("voter", ("2",)) not in by_gone(late)
    assert stop_brokers(late, [1]).answer is ChangeSafety.UNKNOWN


def test_racks_fail_as_a_whole_where_there_are_several() -> None:
    racked = [a_broker(one, rack=rack) for one, rack in ((11, "a"), (12, "a"), (13, "b"))]
    records = [*healthy(), *racked, a_partition(1, (11, 12))]
    found = by_gone(cluster_after(records))
    assert found["rack", ("a",)].harm == Harm(leaderless=1)
    assert found["rack", ("b",)].harm == Harm()
    assert not any(kind == "rack" for kind, _ in by_gone(cluster_after(healthy())))


@pytest.mark.parametrize(("ids", "left", "majority"), [((1, 2), 1, False), ((1, 2, 3), 2, True)])
def test_each_voter_s_exposure_says_whether_the_others_are_a_majority(
    ids: tuple[int, ...], left: int, *, majority: bool
) -> None:
    found = by_gone(cluster_after([*healthy(), voters(*ids)]))
    assert (found["voter", ("1",)].voters_left, found["voter", ("1",)].has_majority) == (
        left, majority
    )  # fmt: skip
    assert found["broker", ("11",)].voters_left == len(ids)


def test_a_voter_that_is_a_broker_too_fails_with_it() -> None:
    records = [*healthy(), a_broker(1), a_partition(1, (1,))]
    found = by_gone(cluster_after(records))
    assert found["broker", ("1",)] == Exposure(Failure("broker", ("1",)), Harm(1), 2, True)
    assert found["voter", ("1",)].harm == Harm(1)
    assert found["pair", ("1", "11")].voters_left == 2


def test_without_voters_nothing_is_said_of_a_majority() -> None:
    found = by_gone(cluster_after(healthy(), voters=frozenset()))
    assert {one.has_majority for one in found.values()} == {None}
    assert not any(kind == "voter" for kind, _ in found)


def test_brokers_that_are_fenced_or_gone_have_failed_already() -> None:
    records = [*healthy(), a_broker(12, fenced=True), a_partition(1, (12, 14), leader=NO_NODE)]
    found = by_gone(cluster_after(records))
    assert found["nothing", ()].harm == Harm(leaderless=1)
    assert {gone for kind, gone in found if kind == "broker"} == {("11",), ("13",)}


def test_partitions_with_an_unknown_min_insync_replicas_are_counted() -> None:
    assert min_isr_unknown(cluster_after([*healthy(), a_partition(1, (11,))])) == 1
    assert min_isr_unknown(cluster_after([*healthy(), config("1", MIN_ISR)])) == 0


def figures(one: Exposure) -> tuple[Harm, int]:
    return one.harm, one.may_be_below


def looked_at(cluster: Cluster, gone: frozenset[int]) -> tuple[Harm, int]:
    """The Harm, and how many partitions may be below an unknown min.insync.replicas, counted
    partition by partition."""
    live = cluster.live_brokers - gone
    leaderless = needs_unclean = below = may_be_below = 0
    for key, partition in cluster.partitions.items():
        least = cluster.min_isr(key, partition)
        able = cluster.live_brokers.intersection((*partition.isr, *partition.elr))
        if partition.leader == NO_NODE and able:  # it waits for the next broker that is unfenced
            leaderless += 1
        elif live.isdisjoint((*partition.isr, *partition.elr)):
            leaderless += 1
            waits = set(eligible_to_lead(partition)) - gone
            needs_unclean += not waits and not live.isdisjoint(partition.replicas)
        elif least is None:
            may_be_below += len(live.intersection(partition.isr)) < len(partition.replicas)
        elif len(live.intersection(partition.isr)) < least:
            below += 1
    return Harm(leaderless, needs_unclean, below), may_be_below


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    records = [
        a_broker(one, fenced=draw(st.integers(0, 4)) == 0, rack=draw(st.sampled_from("abc")))
        for one in BROKERS
    ]
    records.append(topic())
    for number in range(draw(st.integers(1, 6))):
        replicas = draw(st.lists(st.sampled_from((*BROKERS, 7)), min_size=1, max_size=4,
                                 unique=True))  # fmt: skip
        isr = draw(st.lists(st.sampled_from(replicas), unique=True))
        elr = [one for one in replicas if one not in isr and draw(st.booleans())]
        leader = isr[0] if isr else NO_NODE
        records.append(a_partition(number, replicas, isr, leader, eligibleLeaderReplicas=tuple(elr),
                                   directories=()))  # fmt: skip
    if draw(st.booleans()):
        records.append(config(str(draw(st.integers(1, 3))), MIN_ISR))
    return cluster_after(records)


@settings(deadline=None)
@given(clusters())
def test_every_failure_s_harm_equals_that_of_counting_each_partition(cluster: Cluster) -> None:
    found = by_gone(cluster)
    live = sorted(cluster.live_brokers)
    assert figures(found["nothing", ()]) == looked_at(cluster, frozenset())
    for one in live:
        assert figures(found["broker", (str(one),)]) == looked_at(cluster, frozenset((one,)))
    for pair in combinations(live, 2):
        assert figures(found["pair", tuple(map(str, pair))]) == looked_at(cluster, frozenset(pair))
    brokers = cluster.values("brokers")
    for kind, gone in found:
        if kind == "rack":
            failing = frozenset(one for one in live if brokers[one]["rack"] == gone[0])
            assert figures(found[kind, gone]) == looked_at(cluster, failing)


def test_pairs_are_left_out_where_a_small_log_would_make_millions_of_them() -> None:
    many = range(1, 3001)
    crowded = cluster_after([*healthy(), *(a_broker(one) for one in many)])
    assert has_too_many_pairs(crowded)
    kinds = Counter(one.failure.kind for one in exposures(crowded))
    assert kinds["pair"] == 0
    assert kinds["broker"] == len(crowded.live_brokers)


def test_one_partition_with_thousands_of_replicas_is_not_slow() -> None:
    replicas = tuple(range(1, 3001))
    wide = cluster_after([*healthy(), a_partition(1, replicas, isr=replicas)])
    assert has_too_many_pairs(wide)
    assert not any(one.failure.kind == "pair" for one in exposures(wide))
    assert not has_too_many_pairs(cluster_after(healthy()))
