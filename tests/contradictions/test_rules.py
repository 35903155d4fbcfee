"""Each rule finds the contradiction that is made for it, in answers that agree otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.report.losses import LostRecordCount, When
from replica.doctor.check.catalogue import groups, health
from replica.doctor.check.snapshot_validity import Validity
from replica.doctor.health.exposure import NOW, Harm
from replica.doctor.preflight.answer import Preflight, unsafe
from replica.doctor.quorum.known_quorum import KnownVoter, VoterDoubt
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.doctor.rehearsal.runs import ScenarioSafety
from replica.doctor.timeline.branch import BranchTail
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.evidence_of_directories import evidence_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Level, Verdict
from replica.history.commitment import EntryCommitment, Losses, VerdictRange
from replica.history.log import OffsetRange
from replica.metadata.image.image import EMPTY, Image
from replica.metadata.image.state import EntityTable
from replica.model.keys import ReplicaKey
from tests.contradictions.answers import Answers, InLake
from tests.contradictions.conftest import Told
from tests.contradictions.test_contradictions import JUDGES, RULES, TRUTH_RULES, broken
from tests.contradictions.truth import Entry

RECORDED, SIMULATED, PARTED = "kafka-4.1.1-dynamic/final", "seed-5", "ghost-writes"
BACK = "seed-2-back"
"""A recorded cluster in a lake, a seed, a scenario whose logs part, a seed whose disk went back."""
FAR = 10**6
ALL = (OffsetRange(0, FAR),)
STRANGER = ReplicaKey(99, "A" * 22)
_MADE = groups.TWO_LEADERS.at("", "made")
Change = Callable[[Answers], Answers]


def between(*rules: Any) -> Change:
    """Findings of these rules between the directories."""
    found = tuple(rule.at("", "made") for rule in rules)
    return lambda a: replace(a, judged=replace(a.judged, findings=found))


def planned_with(**changes: Any) -> Change:
    """What recover's plan says of its quorum."""
    return lambda a: of_plan(quorum=replace(a.plan.quorum, **changes))(a)


OTHER_VOTERS = planned_with(voter_sets=(frozenset({STRANGER}),))


def _in_doubt(key: ReplicaKey) -> KnownVoter:
    return KnownVoter(key, VoterDoubt.UNREADABLE)


def of_plan(**changes: Any) -> Change:
    return lambda a: replace(a, plan=replace(a.plan, **changes))


def of_second(**changes: Any) -> Change:
    def change(a: Answers) -> Answers:
        first, second, *others = a.plan.ranking
        ranking = (first, replace(second, **changes), *others)
        return replace(a, plan=replace(a.plan, ranking=ranking))

    return change


def of_health(**changes: Any) -> Change:
    return lambda a: replace(a, checked=replace(a.checked, **changes))


def of_quorum(**changes: Any) -> Change:
    def change(a: Answers) -> Answers:
        cluster = a.checked.cluster
        quorum = replace(cluster.quorum, **changes)
        return replace(a, checked=replace(a.checked, cluster=replace(cluster, quorum=quorum)))

    return change


def of_truth(**changes: Any) -> Change:
    return lambda a: replace(a, given=replace(a.given, truth=replace(a.given.truth, **changes)))


def of_table(name: str, **changes: Any) -> Change:
    """All rows of a table with other values."""

    def change(a: Answers) -> Answers:
        rows = [{**row, **changes} for row in a.in_lake.tables[name]]
        return replace(a, in_lake=replace(a.in_lake, tables={**a.in_lake.tables, name: rows}))

    return change


def of_member(**changes: Any) -> Change:
    def change(a: Answers) -> Answers:
        first, *others = a.judged.members
        members = (replace(first, **changes), *others)
        return replace(a, judged=replace(a.judged, members=members))

    return change


def of_outcomes(**changes: Any) -> Change:
    """All runs of `rehearse` with other outcomes."""

    def change(a: Answers) -> Answers:
        runs = a.rehearsed.rehearsal
        found = tuple(replace(one, outcome=replace(one.outcome, **changes)) for one in runs.found)
        return replace(a, rehearsed=replace(a.rehearsed, rehearsal=replace(runs, found=found)))

    return change


def with_lost_fates(a: Answers) -> Answers:
    fates = a.rehearsed.rehearsal.found[0].outcome.fates
    return of_outcomes(fates=tuple(replace(one, lost=ALL) for one in fates))(a)


def with_unknown_fates(a: Answers) -> Answers:
    fates = a.rehearsed.rehearsal.found[0].outcome.fates
    return of_outcomes(fates=tuple(replace(one, losses=Losses(0, 1, 0)) for one in fates))(a)


def with_exposures(**changes: Any) -> Change:
    """Every failure does more."""
    return lambda a: replace(
        a,
        exposed=tuple(one if one.failure == NOW else one._replace(**changes) for one in a.exposed),
    )


def with_outage(a: Answers) -> Answers:
    now, *others = a.exposed
    exposed = (now._replace(harm=Harm(leaderless=1)), *others)
    return replace(a, exposed=exposed, checked=replace(a.checked, health=()))


def with_stops(answer: Preflight) -> Change:
    return lambda a: replace(a, stops=dict.fromkeys(a.stops, answer))


def with_fenced_voters(a: Answers) -> Answers:
    """All voters are brokers too, and one of them is fenced."""
    cluster = a.checked.cluster
    values = {one: {"fenced": one == min(cluster.voters)} for one in cluster.voters}
    brokers = EntityTable(values, dict.fromkeys(values, 0))
    image = Image({**cluster.image.tables, "brokers": brokers})
    stops = {(one,): Preflight("stop", ()) for one in cluster.voters}
    return replace(
        a, checked=replace(a.checked, cluster=replace(cluster, image=image)), stops=stops
    )


def with_loss(a: Answers) -> Answers:
    view = a.in_lake.report
    loss = LostRecordCount((), When.GONE, 0, 1, committed=1, unproven=0, superseded=0)
    evidence = replace(view.evidence, losses=(loss,))
    return replace(a, in_lake=replace(a.in_lake, report=replace(view, evidence=evidence)))


def with_worse_verdicts_on_less(a: Answers) -> Answers:
    """A verdict that calls an outage what has fewer findings than there are."""
    all_findings = evidence_of(a.checked).findings

    def decide(evidence: ClusterEvidence) -> Verdict:
        is_less = len(evidence.findings) < len(all_findings)
        return replace(verdict_on(evidence), level=Level.OUTAGE if is_less else Level.ATTENTION)

    return replace(a, verdict_on=decide)


def with_all_superseded(a: Answers) -> Answers:
    verdict = (VerdictRange(0, FAR, EntryCommitment.SUPERSEDED),)
    verdicts = dict.fromkeys(a.commitment.verdicts, verdict)
    return replace(a, commitment=replace(a.commitment, verdicts=verdicts))


def with_invalid_snapshots(a: Answers) -> Answers:
    members = tuple(
        replace(
            one,
            verdicts=tuple(replace(each, validity=Validity.INVALID) for each in one.verdicts),
        )
        for one in a.judged.members
    )
    return replace(a, judged=replace(a.judged, members=members))


def with_elections(a: Answers) -> Answers:
    won = replace(a.elections[0].won, leader=99)
    return replace(a, elections=(replace(a.elections[0], won=won), *a.elections[1:]))


def with_causes(cause: str) -> Change:
    return lambda a: replace(a, events=tuple(one._replace(cause=cause) for one in a.events))


def with_rows(table: str, row: dict[str, Any]) -> Change:
    """A lake that has nothing but this row."""
    return lambda a: replace(a, in_lake=InLake({table: [row]}, None))


def with_tail(a: Answers) -> Answers:
    """The committed log as a tail beside itself."""
    (examined, *_) = a.branch.members
    log = a.branch.log
    tail = BranchTail(examined, log.first_offset, log.end_offset, (examined,), log)
    return replace(a, branch=replace(a.branch, tails=(tail,)))


def with_truncations(a: Answers) -> Answers:
    rows = {"gold.truncations": [{"committed_lost": 1}]}
    report = SimpleNamespace(evidence=SimpleNamespace(losses=()))
    return replace(a, in_lake=InLake(rows, report))


def both(one: Change, other: Change) -> Change:
    return lambda a: other(one(a))


_SAFE, _UNSAFE = Preflight("stop", ()), Preflight("stop", (unsafe("quorum", "made"),))
_NEW = Entry(FAR, FAR, 9, 1)
MADE: dict[str, tuple[str, Change]] = {
    "nothing_is_safe_where_check_says_to_start_neither": (SIMULATED, between(groups.CONFLICT)),
    "rehearse_is_not_safe_where_recover_refuses": (
        SIMULATED,
        of_plan(answer=RecoveryDecision.REFUSED, reasons=("made",)),
    ),
    "a_plan_that_is_safe_is_never_unsafe_in_its_runs": (
        SIMULATED,
        lambda a: replace(
            a,
            rehearsed_plan=replace(
                a.rehearsed_plan, answer=ScenarioSafety.UNSAFE, reasons=("made",)
            ),
        ),
    ),
    "the_runs_of_a_plan_are_not_safer_than_the_plan": (
        SIMULATED,
        of_plan(answer=RecoveryDecision.UNPROVEN),
    ),
    "nobody_leads_in_the_runs_whom_the_plan_lets_not_win": (
        SIMULATED,
        of_plan(electable=(STRANGER,)),
    ),
    "losses_are_equal_in_plan_and_runs": (SIMULATED, with_lost_fates),
    "nothing_is_unknown_in_the_runs_of_a_safe_plan": (SIMULATED, with_unknown_fates),
    "losses_are_equal_in_plan_and_comparison": (
        PARTED,
        lambda a: of_plan(ranking=tuple(replace(one, truncates_to=0) for one in a.plan.ranking))(a),
    ),
    "divergence_points_are_those_of_diff": (
        RECORDED,
        of_table("gold.divergence_points", relation="diverged"),
    ),
    "a_divergence_is_seen_by_all": (PARTED, between()),
    "nothing_is_healthy_with_partitions_without_leader": (RECORDED, with_outage),
    "the_table_of_exposures_is_the_command_s": (RECORDED, with_exposures(voters_left=77)),
    "health_is_the_same_in_the_lake": (
        RECORDED,
        of_health(health=(health.NO_ELIGIBLE_LEADER.at("", "made"),)),
    ),
    "findings_about_files_are_the_same_in_the_lake": (RECORDED, of_member(findings=(_MADE,))),
    "a_safe_stop_does_no_harm_by_the_exposure": (
        RECORDED,
        both(with_stops(_SAFE), with_exposures(has_majority=False)),
    ),
    "a_stop_that_does_harm_by_the_exposure_is_the_only_unsafe_one": (
        RECORDED,
        lambda a: both(with_stops(_UNSAFE), with_exposures(harm=a.exposed[0].harm))(a),
    ),
    "no_stop_is_safe_that_leaves_no_majority_of_unfenced_voters": (RECORDED, with_fenced_voters),
    "no_node_is_sound_that_cannot_be_relied_on": (
        RECORDED,
        lambda a: planned_with(voters=(_in_doubt(a.plan.winner.key),))(a),
    ),
    "no_voter_is_sound_that_fails_in_every_run": (
        RECORDED,
        lambda a: of_outcomes(failed=((a.plan.winner.key.node_id, "made"),))(a),
    ),
    "all_name_the_same_voters": (RECORDED, OTHER_VOTERS),
    "all_miss_the_same_voters": (RECORDED, planned_with(voters=(_in_doubt(STRANGER),))),
    "the_lake_s_verdict_is_that_of_check": (RECORDED, of_table("gold.verdicts", headline="made")),
    "the_report_is_headed_by_check_s_verdict": (
        RECORDED,
        of_table("gold.verdicts", headline="made", facts=[{"rules": []}]),
    ),
    "the_report_names_the_voters_in_force": (RECORDED, OTHER_VOTERS),
    "the_state_in_the_lake_is_that_of_the_directories": (
        RECORDED,
        of_table("gold.metadata_history", value="{}"),
    ),
    "restore_takes_the_log_that_recover_goes_on_with": (
        RECORDED,
        lambda a: replace(a, restored=a.restored._replace(end_offset=FAR)),
    ),
    "recover_knows_of_what_no_majority_can_have_held": (
        RECORDED,
        lambda a: replace(a, plan=replace(a.plan, on_no_voter_counts=Losses(0, 1, 0))),
    ),
    "restore_takes_the_state_that_check_judges": (
        RECORDED,
        lambda a: replace(a, restored=a.restored._replace(image=EMPTY)),
    ),
    "the_verdict_is_no_better_than_any_answer": (SIMULATED, between(groups.CONFLICT)),
    "less_damage_makes_the_verdict_no_worse": ("flipped-bit", with_worse_verdicts_on_less),
    "leaders_of_epochs_are_equal": (RECORDED, with_elections),
    "the_report_is_not_better_than_check": (RECORDED, between(groups.TWO_LEADERS)),
    "snapshots_have_one_verdict": (RECORDED, of_table("gold.snapshot_validity", verdict="invalid")),
    "each_cluster_in_a_lake_has_one_verdict": (RECORDED, with_rows("gold.votes", {})),
    "the_report_s_losses_are_those_of_the_comparison": (RECORDED, with_loss),
    "a_disk_that_went_back_is_named": (BACK, between()),
    "only_a_disk_that_went_back_is_named": (
        BACK,
        lambda a: replace(a, given=replace(a.given, went_back=None)),
    ),
    "truncations_are_what_vanished": (RECORDED, of_table("gold.truncations", from_offset=0)),
    "truncations_of_timeline_are_what_vanished": (
        RECORDED,
        lambda a: replace(a, earlier=tuple({} for _ in a.earlier)),
    ),
    "nobody_is_said_to_have_voted_twice": (
        SIMULATED,
        with_rows("gold.votes", {"voter_id": 1, "epoch": 1, "is_double": True}),
    ),
    "changes_that_never_took_effect_were_not_committed": (
        SIMULATED,
        with_rows(
            "gold.metadata_changes",
            {
                "change": "made",
                "name": "made",
                "offset": FAR,
                "leader_epoch": 1,
                "commitment": "proven",
            },
        ),
    ),
    "branches_that_timeline_calls_superseded_were_not_committed": (SIMULATED, with_tail),
    "what_is_proven_was_committed": (SIMULATED, of_truth(committed={})),
    "what_is_superseded_was_never_committed": (SIMULATED, with_all_superseded),
    "a_safe_plan_goes_on_with_all_that_was_committed": (
        SIMULATED,
        of_truth(committed_then={FAR: _NEW}),
    ),
    "no_record_of_which_a_safe_plan_says_never_committed_was": (SIMULATED, of_second(at_risk=ALL)),
    "what_cannot_have_been_committed_was_not": (SIMULATED, of_quorum(possible_end=0)),
    "no_disk_that_was_never_changed_is_called_stale": (
        SIMULATED,
        of_quorum(voters=(KnownVoter(STRANGER, VoterDoubt.STALE),)),
    ),
    "no_run_that_is_safe_loses_what_was_committed": (SIMULATED, with_lost_fates),
    "nothing_committed_is_called_lost": (SIMULATED, between(groups.COMMITTED_DATA_AT_RISK)),
    "no_table_says_that_committed_records_were_lost": (SIMULATED, with_truncations),
    "files_of_a_quorum_that_works_are_not_called_broken": (SIMULATED, of_member(findings=(_MADE,))),
    "who_led_an_epoch_led_it": (SIMULATED, with_elections),
    "no_cause_of_an_election_is_untrue": (
        SIMULATED,
        both(with_causes("leader-restarted"), of_truth(starts=())),
    ),
    "voters_are_those_in_force": (SIMULATED, planned_with(voter_sets=(frozenset({STRANGER}),))),
    "the_state_is_that_of_the_committed_log": (
        SIMULATED,
        lambda a: of_truth(states=dict.fromkeys(a.given.truth.states, EMPTY), end_then=FAR)(a),
    ),
    "the_agreed_branch_is_the_committed_log": (SIMULATED, of_truth(committed={})),
    "no_snapshot_of_a_quorum_that_works_is_invalid": (SIMULATED, with_invalid_snapshots),
    "high_watermarks_are_not_above_what_was_committed": (
        SIMULATED,
        with_rows("gold.replica_status", {"node_id": 1, "high_watermark": FAR}),
    ),
}


def test_every_rule_has_a_contradiction_made_for_it() -> None:
    assert MADE.keys() == JUDGES.keys()
    assert len(JUDGES) == len(RULES) + len(TRUTH_RULES)


def test_every_rule_says_why_it_holds() -> None:
    assert all(rule.__doc__ for rule in (*RULES, *TRUTH_RULES))


@pytest.mark.parametrize("rule", MADE)
def test_a_rule_finds_the_contradiction_made_for_it(told: Told, rule: str) -> None:
    name, change = MADE[rule]
    before = broken([rule], [told(name)])
    after = broken([rule], [change(told(name))])
    assert len(after) > len(before), rule
