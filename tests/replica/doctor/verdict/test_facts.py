"""Findings as facts: what users feel first, harmless things last, and each thing once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.doctor.check.catalogue import RULES, files, groups, health, log, snapshots
from replica.doctor.check.rule import Finding, Rule, Subject
from replica.doctor.health.signs_of_life import FENCED_LATER
from replica.doctor.verdict.evidence import (
    ClusterEvidence,
    PlacedFinding,
    Since,
    StoppedBefore,
    ToLose,
)
from replica.doctor.verdict.facts import draft_on, verdict_on
from replica.doctor.verdict.verdict import Gap, Level
from replica.history.commitment import Losses
from replica.severity import Severity

OUTAGE_AT = 1763704582000
HARMLESS = ToLose(("3", "11"), 944, 22, Losses(0, 0, 22))


def about(rule: Rule, *subjects: Subject) -> Finding:
    return Finding(rule, "", f"{len(subjects)} found", subjects=subjects)


def of_partitions(rule: Rule, *names: str) -> Finding:
    return about(rule, *(Subject(name, "replicas [11]") for name in names))


DOWN = about(health.FENCED_BROKER, Subject("broker 11", "fenced, 500 replicas", 7))
THREE = ("1", "2", "3")
EARLIER = f"The outage may have begun earlier: {FENCED_LATER}."
WITHOUT_WINNER = files.ELECTIONS_WITHOUT_WINNER
LEADERLESS = ClusterEvidence(
    nodes=3,
    health=(of_partitions(health.WITHOUT_LEADER, "a-0", "a-1", "b.c-0"), DOWN),
    partitions=690,
    leaderless=Since(OUTAGE_AT, OUTAGE_AT),
)


def test_an_outage_says_what_since_when_why_and_what_to_do() -> None:
    verdict = verdict_on(LEADERLESS)
    assert verdict.level is Level.OUTAGE
    assert verdict.headline == (
        "3 of 690 partitions (a-0, a-1 and b.c-0) have had no leader since 2025-11-21 05:56:22 "
        "UTC. Broker 11 is down."
    )
    assert verdict.next_steps == (
        "Start broker 11. Run no unclean election before: it may lose data.",
    )
    assert len(verdict.facts) == 1, "the broker that is down is told once"


@pytest.mark.parametrize(
    ("signs", "told"),
    [
        (
            (StoppedBefore(11, OUTAGE_AT - 6_000),),
            "The log's last sign of life of broker 11 is of 2025-11-21 05:56:16 UTC: the outage "
            "may have begun at any time after it.",
        ),
        (
            (StoppedBefore(11, OUTAGE_AT - 6_000), StoppedBefore(12, OUTAGE_AT - 7_000)),
            "The log's last signs of life of brokers 11 and 12 are of 2025-11-21 05:56:15 UTC and "
            "later: the outage may have begun at any time after them.",
        ),
        ((StoppedBefore(11, OUTAGE_AT - 20_000),), EARLIER),
        ((StoppedBefore(11, None), StoppedBefore(12, OUTAGE_AT)), EARLIER),
        (
            (StoppedBefore(11, OUTAGE_AT - 9_000, is_own_end=True),),
            "The last sign of life of broker 11 is the end of its own copy of the log, of "
            "2025-11-21 05:56:13 UTC: the outage may have begun at any time after it.",
        ),
        (
            (
                StoppedBefore(11, OUTAGE_AT - 9_000, is_own_end=True),
                StoppedBefore(12, OUTAGE_AT - 8_999, is_own_end=True),
            ),
            "The last signs of life of brokers 11 and 12 are the ends of their own copies of the "
            "log, of 2025-11-21 05:56:13 UTC: the outage may have begun at any time after them.",
        ),
        (
            (
                StoppedBefore(11, OUTAGE_AT - 9_000, is_own_end=True),
                StoppedBefore(12, OUTAGE_AT - 8_000),
            ),
            "The last signs of life of brokers 11 and 12 are records in the log and ends of their "
            "own copies of it, of 2025-11-21 05:56:13 UTC and later: the outage may have begun at "
            "any time after them.",
        ),
        ((StoppedBefore(11, OUTAGE_AT),), ""),
    ],
)
def test_an_outage_is_not_said_to_begin_only_when_a_broker_was_fenced(
    signs: tuple[StoppedBefore, ...], told: str
) -> None:
    """Kafka fences a broker some time after its last heartbeat, and no heartbeat is in the log."""
    since = Since(OUTAGE_AT, OUTAGE_AT, stopped=signs)
    verdict = verdict_on(replace(LEADERLESS, leaderless=since))
    assert verdict.headline.endswith(f"Broker 11 is down. {told}".rstrip())


def test_a_sign_of_life_from_long_before_the_fencing_is_not_said_to_be_the_last() -> None:
    """The fencing itself shows later life: by default no broker is fenced while it is silent for
    less than 9 s. Kafka elected this one, and added it to ISRs, long after it had registered."""
    created = OUTAGE_AT - 56_000
    since = Since(
        OUTAGE_AT, OUTAGE_AT, stopped=(StoppedBefore(11, created - 2_000),), created_ms=created
    )
    headline = verdict_on(replace(LEADERLESS, leaderless=since)).headline
    assert headline.endswith(f"Broker 11 is down. {EARLIER}")
    near = since._replace(created_ms=OUTAGE_AT - 8_000)
    told = verdict_on(replace(LEADERLESS, leaderless=near)).headline
    assert "and the first of these partitions was created at 2025-11-21 05:56:14 UTC" in told


def test_several_brokers_that_are_down_are_told_as_several() -> None:
    down = about(health.FENCED_BROKER, *(Subject(f"broker {n}", "fenced") for n in (3, 4)))
    verdict = verdict_on(ClusterEvidence(nodes=3, health=(down,), partitions=690))
    assert verdict.headline == "Brokers 3 and 4 are down. They hold replicas."


@pytest.mark.parametrize("cause", [groups.VOTER_SETS_DIFFER, groups.INITIAL_VOTERS_DIFFER])
def test_why_there_are_two_histories_stands_before_what_came_of_it(cause: Rule) -> None:
    came_of_it = (groups.CONFLICT, groups.COMMITTED_DATA_AT_RISK)
    placed = [PlacedFinding("node 1", rule.at("", "made")) for rule in (*came_of_it, cause)]
    verdict = verdict_on(ClusterEvidence(nodes=3, findings=tuple(placed)))
    assert [fact.rules for fact in verdict.facts] == [(rule.id,) for rule in (cause, *came_of_it)]
    differ = "two voter sets in one cluster, so there may be two quorums: made."
    is_defined = cause is groups.INITIAL_VOTERS_DIFFER
    assert (
        verdict.headline == f"Node 1: {f'{cause.meaning} Found: made.' if is_defined else differ}"
    )
    assert verdict.next_steps[0] == f"Node 1: {cause.next_step}"
    assert {fact.level for fact in verdict.facts} == {Level.AT_RISK}


@pytest.mark.parametrize("cause", [groups.VOTER_SETS_DIFFER, groups.INITIAL_VOTERS_DIFFER])
@pytest.mark.parametrize("other", [groups.DUPLICATE_IDENTITY, groups.STALE_VOTER])
def test_voter_sets_that_differ_explain_nothing_else(cause: Rule, other: Rule) -> None:
    placed = [PlacedFinding("node 1", rule.at("", "made")) for rule in (cause, other)]
    verdict = verdict_on(ClusterEvidence(nodes=3, findings=tuple(placed)))
    assert [fact.rules for fact in verdict.facts] == [(other.id,), (cause.id,)]
    assert [fact.level for fact in verdict.facts] == [Level.AT_RISK, Level.ATTENTION]


def test_a_harmless_divergence_stands_behind_an_outage_and_asks_for_nothing() -> None:
    verdict = verdict_on(replace(LEADERLESS, to_lose=(HARMLESS,)))
    assert verdict.level is Level.OUTAGE
    assert verdict.facts[1].text == (
        "Nodes 3 and 11 will discard 22 records (from offset 944 on) that were never committed. "
        "No action needed; keep a copy."
    )
    assert len(verdict.next_steps) == 1


def test_partitions_of_both_rules_are_one_outage() -> None:
    both = (*(LEADERLESS.health or ()), of_partitions(health.NO_ELIGIBLE_LEADER, "a-7"))
    headline = verdict_on(replace(LEADERLESS, health=both)).headline
    assert headline.startswith("4 of 690 partitions (topics a and b.c)")


def test_a_draft_with_later_findings_is_the_verdict_on_all_of_them() -> None:
    """A lake knows last what directories say of each other."""
    first = (
        PlacedFinding("node 1", log.TORN_TAIL.at("1/00.log", "a running node")),
        PlacedFinding("node 1", files.QUORUM_STATE_MISSING.at("", "the log is in epoch 3")),
    )
    later = (
        PlacedFinding("node 2", groups.DUPLICATE_IDENTITY.at("2/meta.properties", "node id 1")),
        PlacedFinding("node 3", groups.NEVER_STARTED.at("3/meta.properties", "node 3")),
    )
    evidence = replace(LEADERLESS, findings=first)
    assert draft_on(evidence).verdict() == verdict_on(evidence)
    assert draft_on(evidence).verdict(later) == verdict_on(
        replace(evidence, findings=(*first, *later))
    )


def test_no_step_says_to_start_a_node_and_to_start_none() -> None:
    for rule in RULES:
        starts_none = "no node" in rule.next_step or "none of these nodes" in rule.next_step
        assert not (starts_none and "start first" in rule.next_step), rule.id


@pytest.mark.parametrize(
    ("created", "told"),
    [
        (
            OUTAGE_AT - 4_000,
            ", and the first of these partitions was created at 2025-11-21 05:56:18 UTC: the "
            "outage may have begun at any time after its creation.",
        ),
        (OUTAGE_AT - 21_000, ": the outage may have begun at any time after it."),
    ],
)
def test_no_outage_is_said_to_begin_before_its_partitions_were_there(
    created: int, told: str
) -> None:
    stopped = (StoppedBefore(11, OUTAGE_AT - 8_000),)
    since = Since(OUTAGE_AT, OUTAGE_AT, stopped=stopped, created_ms=created)
    assert f"05:56:14 UTC{told}" in verdict_on(replace(LEADERLESS, leaderless=since)).headline
    without = verdict_on(replace(LEADERLESS, leaderless=since._replace(created_ms=OUTAGE_AT)))
    assert without.headline.endswith("Broker 11 is down."), "it was created without a leader"


def test_brokers_that_are_down_without_an_outage_need_attention() -> None:
    verdict = verdict_on(ClusterEvidence(health=(DOWN,), partitions=9))
    assert verdict.level is Level.ATTENTION
    assert verdict.headline == "Broker 11 is down. It holds replicas."
    assert verdict.next_steps[0].startswith("Broker 11: Start the broker")


def test_partitions_that_refuse_writes_are_an_outage() -> None:
    found = (of_partitions(health.BELOW_MIN_ISR, "a-0"),)
    verdict = verdict_on(ClusterEvidence(health=found, partitions=9))
    assert verdict.level is Level.OUTAGE
    assert verdict.headline.startswith("1 of 9 partitions (a-0) refuses writes with acks=all: too")


@pytest.mark.parametrize(
    ("since", "told"),
    [
        (Since(OUTAGE_AT, OUTAGE_AT + 999), "have had no leader since 2025-11-21 05:56:22 UTC"),
        (
            Since(OUTAGE_AT, OUTAGE_AT + 1000),
            "have no leader: 1 since 2025-11-21 05:56:22 UTC, all since 2025-11-21 05:56:23 UTC",
        ),
        (
            Since(OUTAGE_AT, OUTAGE_AT, is_exact=False),
            "have had no leader since 2025-11-21 05:56:22 UTC at the latest",
        ),
    ],
)
def test_since_when_is_no_more_exact_than_what_is_known(since: Since, told: str) -> None:
    """Nor does it say of all partitions what holds of the first."""
    headline = verdict_on(replace(LEADERLESS, leaderless=since)).headline
    assert headline == f"3 of 690 partitions (a-0, a-1 and b.c-0) {told}. Broker 11 is down."


@pytest.mark.parametrize(
    ("lost", "level", "told"),
    [
        (Losses(2, 0, 3), Level.AT_RISK, "of which 2 were committed"),
        (Losses(0, 2, 3), Level.ATTENTION, "don't show whether 2 of them were committed"),
        (None, Level.ATTENTION, "neither side would win an election"),
    ],
)
def test_records_to_lose_are_told_by_their_commitment(
    lost: Losses | None, level: Level, told: str
) -> None:
    loss = ToLose(("2",), 10, None if lost is None else 5, lost)
    finding = groups.LOG_DIVERGENCE.at("2/00.log", "parts from node 1")
    placed = (PlacedFinding("node 2", finding),)
    verdict = verdict_on(ClusterEvidence(findings=placed, to_lose=(loss,)))
    assert verdict.level is level
    assert told in verdict.headline
    assert len(verdict.facts) == 1, "the finding and the records are one thing"


def test_findings_of_one_rule_are_one_fact_that_names_the_nodes() -> None:
    placed = [
        PlacedFinding(f"node {node}", files.QUORUM_STATE_MISSING.at("", "the log is in epoch 3"))
        for node in (2, 3, 3)
    ]
    placed.append(PlacedFinding("node 1", log.TORN_TAIL.at("00.log", "a running node")))
    verdict = verdict_on(ClusterEvidence(findings=tuple(placed)))
    assert verdict.headline == f"Nodes 2 and 3: {files.QUORUM_STATE_MISSING.meaning}"
    assert verdict.notes == 1
    assert len(verdict.facts) == 1


def test_a_conflict_is_a_risk_whose_step_comes_before_that_of_an_outage() -> None:
    conflict = PlacedFinding("node 1", groups.CONFLICT.at("1/00.log", "other bytes", offset=26))
    verdict = verdict_on(replace(LEADERLESS, findings=(conflict,)))
    assert [one.level for one in verdict.facts] == [Level.OUTAGE, Level.AT_RISK]
    assert verdict.next_steps[0] == groups.CONFLICT.next_step
    assert verdict.facts[1].text == "Node 1: two histories under one cluster id: other bytes."
    # the state is that of one history, and a step that starts nodes would contradict the conflict's
    alone = verdict_on(LEADERLESS)
    assert verdict.headline.endswith(f", which may hold the wrong history: {alone.headline}")
    assert len(alone.next_steps) == 1
    assert not {*alone.next_steps} & {*verdict.next_steps}


def test_beside_a_conflict_no_copy_allows_a_start_and_no_time_bounds_the_outage() -> None:
    conflict = PlacedFinding("node 1", groups.CONFLICT.at("1/00.log", "other bytes", offset=26))
    loss = ToLose(("2",), 10, 5, Losses(0, 5, 0))
    stopped = Since(OUTAGE_AT, OUTAGE_AT, stopped=(StoppedBefore(11, OUTAGE_AT - 20_000),))
    found = replace(LEADERLESS, leaderless=stopped, to_lose=(loss,))
    assert EARLIER in verdict_on(found).headline
    assert any("before these nodes are started" in step for step in verdict_on(found).next_steps)
    told = verdict_on(replace(found, findings=(conflict,)))
    assert EARLIER not in told.headline
    assert not any("before these nodes are started" in step for step in told.next_steps)


@pytest.mark.parametrize(("nodes", "level"), [(2, Level.OUTAGE), (1, Level.ATTENTION)])
def test_elections_that_a_majority_saw_fail_are_an_outage(nodes: int, level: Level) -> None:
    failing = tuple(
        PlacedFinding(f"node {one}", WITHOUT_WINNER.at("", "epoch 9, the log's 3", epoch=9))
        for one in range(1, nodes + 1)
    )
    evidence = ClusterEvidence(nodes=3, findings=failing, health=(), voters=THREE)
    verdict = verdict_on(evidence)
    assert verdict.level is level
    assert len(verdict.facts) == 1
    assert ("by the files of nodes 1 and 2" in verdict.headline) == (nodes == 2)
    observers = replace(evidence, voters=("1", "4", "5"))
    assert verdict_on(observers).level is Level.ATTENTION, "what observers saw is no majority"


def test_what_could_not_be_judged_keeps_a_cluster_from_being_called_healthy() -> None:
    well = ClusterEvidence(nodes=3, health=(), partitions=690)
    assert verdict_on(well).headline == (
        "No fault found: the files of all 3 nodes given are in order, their logs agree and all "
        "690 partitions have a leader."
    )
    gap = Gap("voter 2 of 3", "its directory was not given")
    assert verdict_on(replace(well, gaps=(gap,))).level is Level.INCOMPLETE
    unverified = PlacedFinding("node 1", snapshots.SNAPSHOT_UNVERIFIED.at("", "no log"))
    verdict = verdict_on(replace(well, findings=(unverified,)))
    assert (verdict.level, verdict.notes) == (Level.INCOMPLETE, 1)
    assert verdict.not_judged[0].what == "the content of 1 snapshot"
    known = replace(well, health=(of_partitions(health.MIN_ISR_UNKNOWN, "a-0"),))
    assert verdict_on(known).level is Level.INCOMPLETE


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_that_warns_is_a_fact_and_every_note_is_none(rule: Rule) -> None:
    if rule.family == "health":
        evidence = ClusterEvidence(health=(of_partitions(rule, "a-0"),), partitions=1)
    else:
        evidence = ClusterEvidence(findings=(PlacedFinding("node 1", rule.at("f", "told")),))
    verdict = verdict_on(evidence)
    if rule.severity is Severity.INFO:
        assert verdict.level in (Level.HEALTHY, Level.INCOMPLETE)
        assert verdict.notes == 1
    else:
        assert verdict.level not in (Level.HEALTHY, Level.INCOMPLETE)
        assert rule.id in verdict.facts[0].rules


@pytest.mark.parametrize(
    "rule", [health.MIGRATION_WAITS, health.MIGRATION_RUNS, health.ZK_BROKER_LEFT]
)
def test_the_step_of_a_migration_is_not_about_the_brokers_that_are_known_alone(rule: Rule) -> None:
    """Of the brokers for which it waits, a registered one is the one that isn't missing."""
    found = Finding(
        rule, "", "registered: broker 11 of ZooKeeper",
        subjects=(Subject("ZooKeeper migration", ""), Subject("broker 11", "of ZooKeeper")),
    )  # fmt: skip
    verdict = verdict_on(ClusterEvidence(nodes=1, health=(found,)))
    assert verdict.headline == f"{rule.meaning} Found: registered: broker 11 of ZooKeeper."
    assert verdict.next_steps == (rule.next_step,)
