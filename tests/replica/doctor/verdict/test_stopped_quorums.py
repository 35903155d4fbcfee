"""The verdicts on simulated quorums that accept no change, or may accept none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from replica.doctor.check.catalogue import files
from replica.doctor.check.examined import examine
from replica.doctor.check.group import judge_group
from replica.doctor.quorum.conditions import NoLeader
from replica.doctor.verdict.evidence import ClusterEvidence, PlacedFinding
from replica.doctor.verdict.evidence_of_directories import clusters_of, evidence_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.outage import with_verdict
from replica.doctor.verdict.verdict import KnownState, Level, MissingVoters, Verdict
from replica.format.discovery import discover
from replica.model.keys import ReplicaKey
from replica.simulate.metadata_records import topic_config
from replica.simulate.node import Layout
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from replica.simulate.scenarios.quorum import ScriptedQuorum
from replica.simulate.scenarios.writing import write_capture
from tests.replica.doctor.preflight.clusters import cluster


def verdict_of(folder: Path) -> Verdict:
    group = [examine(found) for found in discover([str(folder)])]
    (cluster,) = clusters_of(judge_group(group, newest=True), {})
    return verdict_on(evidence_of(cluster))


def verdict_on_quorum(quorum: ScriptedQuorum, folder: Path) -> Verdict:
    write_capture(quorum.capture(), str(folder))
    return verdict_of(folder)


@pytest.fixture
def quorum() -> ScriptedQuorum:
    """Five voters, led by 1."""
    made = ScriptedQuorum("stopped quorum", Layout(voters=5, observers=1))
    made.begin("orders")
    return made


def change(quorum: ScriptedQuorum, number: int) -> None:
    quorum.append(1, topic_config("orders", "retention.ms", str(number)))


@pytest.mark.parametrize("gone", [(3, 4, 5), (2, 3, 4, 5)])
def test_a_majority_that_stopped_may_be_an_outage(
    quorum: ScriptedQuorum, tmp_path: Path, gone: tuple[int, ...]
) -> None:
    quorum.settle()
    quorum.crash(*gone)
    change(quorum, 1)
    quorum.run_ms(600)
    change(quorum, 2)
    verdict = verdict_on_quorum(quorum, tmp_path / "capture")
    assert verdict.level is Level.AT_RISK, "they may have been copied before the others"
    assert verdict.headline.startswith(
        "The quorum has probably no leader, and accepts no change: voters "
    )
    assert f"and {gone[-1]} stopped before " in verdict.headline
    assert f"of 5 voters ({', '.join(str(n) for n in range(1, 6) if n not in gone)})" in (
        verdict.headline
    )
    assert ", of topic orders) are on " in verdict.headline
    assert verdict.headline.endswith(" A start of the voters may discard these records.")
    assert verdict.next_steps[0].startswith(
        "Keep a copy of each directory, and start the voters that stopped."
    )


def test_a_change_that_is_under_way_is_no_outage(quorum: ScriptedQuorum, tmp_path: Path) -> None:
    quorum.settle()
    change(quorum, 1)
    verdict = verdict_on_quorum(quorum, tmp_path / "capture")
    assert verdict.level is Level.ATTENTION
    assert verdict.facts[0].rules == ("state-not-committed",)
    assert "(1 record, of topic orders) are on 1 of 5 voters (1)" in verdict.headline


def test_a_lost_minority_is_none_either(quorum: ScriptedQuorum, tmp_path: Path) -> None:
    quorum.settle()
    quorum.crash(4, 5)
    change(quorum, 1)
    quorum.run_ms(600)
    change(quorum, 2)
    quorum.run_ms(600)
    found = verdict_on_quorum(quorum, tmp_path / "capture")
    assert found.level is Level.HEALTHY


def test_endless_elections_are_an_outage(tmp_path: Path) -> None:
    scenario = SCENARIOS_BY_NAME["endless-elections"]
    write_capture(scenario.capture(), str(tmp_path / "capture"))
    verdict = verdict_of(tmp_path / "capture")
    assert verdict.level is Level.OUTAGE
    assert verdict.headline == (
        "The cluster accepts no change: 24 leaders within 45 s, epochs 2 to 25, and none of them "
        "changed the metadata."
    )
    assert verdict.facts[0].rules == ("endless-elections",)


def test_elections_that_make_progress_are_none(tmp_path: Path) -> None:
    scenario = SCENARIOS_BY_NAME["clean-failover"]
    write_capture(scenario.capture(), str(tmp_path / "capture"))
    rules = {rule for fact in verdict_of(tmp_path / "capture").facts for rule in fact.rules}
    assert rules.isdisjoint({"endless-elections", "majority-stopped"})


def test_one_voter_whose_elections_fail_says_that_the_quorum_may_have_no_leader() -> None:
    """Only the voters that were not given know whether they have a leader."""
    failing = PlacedFinding(
        "node 1", files.ELECTIONS_WITHOUT_WINNER.at("", "epoch 9, the log's 3", epoch=9)
    )
    absent = frozenset({ReplicaKey(2), ReplicaKey(3)})
    evidence = ClusterEvidence(
        nodes=1,
        findings=(failing,),
        health=(),
        voters=("1", "2", "3"),
        state=KnownState(77, 1763704582000),
        missing=MissingVoters(absent, 3, frozenset({1})),
    )
    verdict = verdict_on(evidence)
    assert verdict.level is Level.ATTENTION
    assert verdict.headline == (
        "The quorum has perhaps had no leader since 2025-11-21 05:56:22 UTC: nobody won an "
        "election, by the files of node 1 (epoch 9, the log's 3). Without a leader no partition "
        "gets another leader, and no topic, config or registration changes. If the other voters "
        "have one, node 1 can't reach them."
    )
    of = cluster()
    first = (
        "find out whether nodes 2 and 3 run, and what keeps node 1 from reaching them: addresses, "
        "certificates, cluster ids"
    )
    perhaps = NoLeader("has perhaps no leader, by the verdict", is_sure=False, first=first)
    assert with_verdict(of, verdict).no_leader == perhaps
    assert verdict.next_steps[0].startswith("Find out whether nodes 2 and 3 run, and what keeps")
    one_given = MissingVoters(frozenset({ReplicaKey(2)}), 3, frozenset({1, 3}))
    others = verdict_on(replace(evidence, missing=one_given)).headline
    assert not others.startswith("The quorum"), "voter 3 was given, and its files show no election"
    brokers = (failing, failing._replace(where="node 11"), failing._replace(where="node 12"))
    seen = verdict_on(replace(evidence, findings=brokers))
    assert seen.level is Level.OUTAGE
    assert seen.headline.startswith("The quorum has probably had no leader since")
    assert "(epoch 9, the log's 3), and nodes 11 and 12 saw no leader either." in seen.headline
    judged = with_verdict(of, seen)
    assert judged.no_leader == perhaps._replace(why="has no leader, by the verdict", is_sure=True)
    assert [of.is_led, with_verdict(of, verdict).is_led, judged.is_led] == [True, True, False]
