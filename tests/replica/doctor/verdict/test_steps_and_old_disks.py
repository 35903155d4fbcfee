"""What to do first, and what is said of disks that are older than what their nodes did."""

from __future__ import annotations

from dataclasses import replace

from replica.doctor.check.catalogue import groups, health
from replica.doctor.check.rule import Subject
from replica.doctor.verdict.evidence import ClusterEvidence, PlacedFinding
from replica.doctor.verdict.facts import verdict_on, verdict_on_state
from replica.doctor.verdict.verdict import Level
from replica.model.keys import NO_NODE
from tests.replica.doctor.health.clusters import a_partition, cluster_after, healthy
from tests.replica.doctor.verdict.test_facts import LEADERLESS, about, of_partitions
from tests.replica.metadata.image.made import broker_change


def test_an_old_disk_is_told_by_its_node_and_by_what_it_lacks_since_when() -> None:
    lacks = "its log goes up to offset 40, and so on; since 2026-11-29 19:35:08 UTC it lacks more"
    found = [
        PlacedFinding(f"node {node}", groups.STALE_VOTER.at("", f"voter {node}: {lacks}"))
        for node in (2, 3)
    ]
    verdict = verdict_on(ClusterEvidence(nodes=3, findings=tuple(found[1:])))
    assert verdict.level is Level.AT_RISK
    assert verdict.headline == (f"Node 3: its disk is older than what the node did: {lacks}.")
    both = verdict_on(ClusterEvidence(nodes=3, findings=tuple(found)))
    assert both.headline.startswith("Nodes 2 and 3: their disks are older than what the nodes did")
    assert f"voter 2: {lacks}; voter 3: {lacks}." in both.headline
    behind = PlacedFinding("node 2", groups.VOTER_BEHIND.at("", f"voter 2: {lacks}"))
    verdict = verdict_on(ClusterEvidence(nodes=3, findings=(behind,)))
    assert verdict.headline.startswith(f"Node 2: {lacks}. The node was stopped or cut off")


def test_the_step_of_a_leader_that_gave_up_names_the_voters_that_stopped_first() -> None:
    ends = "its log ends at offset 72, 3.0 s before the newest log"
    for gone, step in (
        ((Subject("voter 2", ends),), f"Start node 2: {ends}. Then start the other voters"),
        (
            (Subject("voter 2", ends), Subject("voter 4", ends)),
            f"Start nodes 2 and 4: voter 2: {ends} and voter 4: {ends}. Then start the other",
        ),
        ((), health.LEADER_GAVE_UP.next_step),
    ):
        found = about(health.LEADER_GAVE_UP, *gone)
        verdict = verdict_on(replace(LEADERLESS, health=(*(LEADERLESS.health or ()), found)))
        assert verdict.next_steps[0].startswith(step), "no broker comes back before"
        assert verdict.next_steps[1].startswith("Once the quorum has a leader: start broker 11.")


def test_what_an_unclean_election_took_weighs_more_than_a_single_replica() -> None:
    unclean = of_partitions(health.UNCLEAN_LEADER, "orders-0", "orders-1")
    single = of_partitions(health.SINGLE_ISR, "orders-0")
    for found in ((single, unclean), (unclean, single)):
        verdict = verdict_on(replace(LEADERLESS, health=(*(LEADERLESS.health or ()), *found)))
        assert verdict.besides.weighty[0].rules == (health.UNCLEAN_LEADER.id,)


def test_partitions_that_are_not_all_named_are_counted_with_their_topics() -> None:
    names = ("orders-0", "orders-1", "orders-2", "orders-3", "returns-0", f"{'r' * 80}-2")
    found = replace(of_partitions(health.SINGLE_ISR, *names), message="6 of 9 partitions")
    (fact,) = verdict_on(ClusterEvidence(health=(found,))).facts
    said = f"6 of 9 partitions (topics orders, returns and {'r' * 57}...)"
    assert fact.text.startswith(f"{said}: A partition with several")
    assert fact.next_step.startswith(f"{said}: Bring the other replicas back")
    few = replace(of_partitions(health.SINGLE_ISR, *names[:3]), message="3 of 9 partitions")
    (fact,) = verdict_on(ClusterEvidence(health=(few,))).facts
    assert fact.text.startswith("orders-0, orders-1 and orders-2: ")


def test_how_replicas_were_placed_stands_behind_what_has_just_happened() -> None:
    placed = about(health.REPLICA_COUNTS_DIFFER, Subject("topic orders", "2 and 3 replicas"))
    behind = of_partitions(health.SINGLE_ISR, "orders-1")
    verdict = verdict_on(ClusterEvidence(health=(placed, behind)))
    assert [fact.rules[0] for fact in verdict.facts] == [behind.rule.id, placed.rule.id]


def test_replicas_are_placed_anew_only_once_an_outage_is_over() -> None:
    """A move of replicas ends no outage, and takes what the others need to catch up."""
    placed = about(health.ONE_RACK, Subject("orders-1", "racks [a]"))
    alone = verdict_on(ClusterEvidence(health=(placed,))).next_steps
    assert alone[-1].startswith("orders-1: Move a replica")
    beside = verdict_on(replace(LEADERLESS, health=(*(LEADERLESS.health or ()), placed)))
    assert beside.next_steps[0].startswith("Start broker")
    assert beside.next_steps[-1] == f"Once the outage is over: {alone[-1]}"


def test_a_broker_that_asked_for_its_shutdown_is_told_apart_from_one_that_vanished() -> None:
    asked, vanished = {"fenced": 1, "inControlledShutdown": 1}, {"fenced": 1}
    gone = [
        broker_change(brokerId=one, **how)
        for one, how in ((11, vanished), (12, asked), (13, asked))
    ]
    state = [*healthy(), a_partition(0, (11, 12, 13), leader=NO_NODE, isr=(11,)), *gone]
    verdict = verdict_on_state(cluster_after(state, vanished=frozenset({11})))
    assert verdict.headline.endswith(
        "Broker 11 was fenced without a shutdown: it crashed or was cut off. Brokers 12 and 13 are "
        "down after a shutdown in order."
    )
    assert verdict.next_steps[0].startswith(
        "Start broker 11 first: it can lead the partition. Then start brokers 12 and 13. If broker "
        "11 runs, find out why it can't reach the controllers. Run no unclean election before"
    )


def test_a_broker_that_may_run_is_started_or_its_way_to_the_controllers_is_looked_at() -> None:
    gone = [broker_change(brokerId=one, fenced=1) for one in (11, 12)]
    led = a_partition(0, (11, 12, 13), leader=13, isr=(12, 13))
    both = frozenset({11, 12})
    verdict = verdict_on_state(cluster_after([*healthy(), led, *gone], vanished=both))
    assert verdict.headline == (
        "Brokers 11 and 12 were fenced without a shutdown: they crashed or were cut off. They hold "
        "replicas."
    )
    out = a_partition(0, (11, 12, 13), leader=NO_NODE, isr=(11,))
    verdict = verdict_on_state(cluster_after([*healthy(), out, *gone], vanished=both))
    assert verdict.next_steps[0].startswith(
        "Start broker 11 first: it can lead the partition. Then start broker 12. If brokers 11 and "
        "12 run, find out why they can't reach the controllers. Run no "
    )
