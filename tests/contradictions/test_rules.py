"""Each rule finds the contradiction that is made for it, in answers that agree otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.doctor.check.catalogue import groups, health
from replica.doctor.health.exposure import Harm
from replica.doctor.preflight.answer import Preflight, unsafe
from replica.doctor.quorum.known_voter import KnownVoter, VoterDoubt
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.doctor.rehearsal.runs import ScenarioSafety
from replica.history.commitment import Losses
from replica.metadata.image.image import EMPTY
from replica.model.keys import ReplicaKey
from tests.contradictions.changes import (
    ALL,
    BACK,
    FAR,
    OTHER_VOTERS,
    PARTED,
    RECORDED,
    SIMULATED,
    STRANGER,
    WORSE,
    Change,
    between,
    both,
    in_doubt,
    of_health,
    of_member,
    of_outcomes,
    of_plan,
    of_quorum,
    of_second,
    of_table,
    of_truth,
    planned_with,
    with_all_superseded,
    with_an_empty_report,
    with_causes,
    with_elections,
    with_exposures,
    with_fenced_voters,
    with_invalid_snapshots,
    with_loss,
    with_lost_fates,
    with_outage,
    with_refused_writes,
    with_rows,
    with_stops,
    with_tail,
    with_truncations,
    with_unknown_fates,
    with_unknown_losses_in_plan,
    with_worse_verdicts_on_less,
)
from tests.contradictions.conftest import Told
from tests.contradictions.test_contradictions import JUDGES, RULES, TRUTH_RULES, broken
from tests.contradictions.truth import Entry

_SAFE, _UNSAFE = Preflight("stop", ()), Preflight("stop", (unsafe("quorum", "made"),))
_NEW = Entry(FAR, FAR, 9, 1)
MADE: dict[str, tuple[str, Change]] = {
    "nothing_is_safe_where_check_says_to_start_neither": (SIMULATED, between(groups.CONFLICT)),
    "no_change_is_planned_by_one_of_two_histories": (
        SIMULATED,
        both(between(groups.CONFLICT), with_stops(_SAFE)),
    ),
    "no_sentence_holds_a_value_of_python": (SIMULATED, of_plan(reasons=("of epoch None",))),
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
    "no_start_is_unknown_that_loses_in_each_run": (
        SIMULATED,
        lambda a: of_outcomes(unproven_lost=ALL)(
            replace(a, rehearsed=replace(a.rehearsed, answer=ScenarioSafety.UNKNOWN))
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
    "what_logs_lose_is_counted_by_one_judge": ("figure-8", with_unknown_losses_in_plan),
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
    "findings_about_files_are_the_same_in_the_lake": (
        RECORDED,
        of_member(findings=(WORSE,)),
    ),
    "a_safe_stop_does_no_harm_by_the_exposure": (
        RECORDED,
        both(with_stops(_SAFE), with_exposures(has_majority=False)),
    ),
    "a_stop_that_does_harm_by_the_exposure_is_the_only_unsafe_one": (
        RECORDED,
        lambda a: both(with_stops(_UNSAFE), with_exposures(harm=a.exposed[0].harm))(a),
    ),
    "plan_and_the_exposure_say_of_the_leader_what_the_verdict_says": (
        RECORDED,
        both(with_stops(_SAFE), of_health(health=(health.LEADER_GAVE_UP.at("", "made"),))),
    ),
    "without_a_majority_nobody_else_leads_what_the_failed_brokers_led": (
        RECORDED,
        with_exposures(has_majority=False, harm=Harm()),
    ),
    "no_stop_is_safe_that_leaves_no_majority_of_unfenced_voters": (RECORDED, with_fenced_voters),
    "no_stop_is_safe_that_relies_on_disks_in_doubt": (
        RECORDED,
        both(with_stops(_SAFE), planned_with(voters=(in_doubt(STRANGER),))),
    ),
    "no_node_is_sound_that_cannot_be_relied_on": (
        RECORDED,
        lambda a: planned_with(voters=(in_doubt(a.plan.winner.key),))(a),
    ),
    "no_voter_is_sound_that_fails_in_every_run": (
        RECORDED,
        lambda a: of_outcomes(failed=((a.plan.winner.key.node_id, "made"),))(a),
    ),
    "all_name_the_same_voters": (RECORDED, OTHER_VOTERS),
    "all_miss_the_same_voters": (RECORDED, planned_with(voters=(in_doubt(STRANGER),))),
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
    "each_answer_has_the_same_time_by_which_a_voter_is_behind": (
        RECORDED,
        of_quorum(voters=(KnownVoter(ReplicaKey(1), None, behind_ms=77),)),
    ),
    "the_verdict_is_no_better_than_any_answer": (SIMULATED, between(groups.CONFLICT)),
    "less_damage_makes_the_verdict_no_worse": ("flipped-bit", with_worse_verdicts_on_less),
    "leaders_of_epochs_are_equal": (RECORDED, with_elections),
    "the_report_is_not_better_than_check": (RECORDED, with_an_empty_report),
    "snapshots_have_one_verdict": (RECORDED, of_table("gold.snapshot_validity", verdict="invalid")),
    "each_cluster_in_a_lake_has_one_verdict": (RECORDED, with_rows("gold.votes", {})),
    "the_report_s_losses_are_those_of_the_comparison": (RECORDED, with_loss),
    "the_report_tells_of_refused_writes_what_the_directories_tell": (
        RECORDED,
        with_refused_writes,
    ),
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
    "files_of_a_quorum_that_works_are_not_called_broken": (
        SIMULATED,
        of_member(findings=(WORSE,)),
    ),
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
    "partitions_without_leader_are_those_of_the_truth": (
        SIMULATED,
        both(with_outage, of_truth(end_then=FAR)),
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
