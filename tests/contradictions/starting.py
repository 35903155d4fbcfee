"""Rules about a start of the nodes of directories: check, recover, rehearse, diff and timeline
agree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise

from jobs.cli.directories.check_rows import CheckVerdict, directory_verdict
from jobs.cli.directories.diff import compare_directories
from replica.doctor.check.catalogue import groups
from replica.doctor.check.newest import QuorumRole
from replica.doctor.quorum.reasons import RankedReplica
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.doctor.rehearsal.outcome import Fate
from replica.doctor.rehearsal.runs import Rehearsal, ScenarioSafety, unknown_voters
from replica.doctor.verdict.verdict import Level
from replica.history.divergence import Relation, diverge
from replica.history.log import OffsetRange
from replica.history.ranges import END_OF_OFFSETS
from replica.model.voters import VoterKeys
from tests.contradictions.answers import Answers, Rule

_START_NEITHER = {groups.CONFLICT.id, groups.COMMITTED_DATA_AT_RISK.id}


def nothing_is_safe_where_check_says_to_start_neither(answers: Answers) -> Iterator[str]:
    """A person who reads "safe" starts the nodes. Where logs conflict, or committed records would
    be truncated, a start destroys one of two histories."""
    for rule in sorted(_START_NEITHER & answers.between):
        for command, answer in _safeties(answers):
            if answer == "safe":
                yield f"check says {rule}, {command} says safe"


def rehearse_is_not_safe_where_recover_refuses(answers: Answers) -> Iterator[str]:
    """Both commands say what happens to the same directories when the nodes start."""
    if answers.plan.answer is RecoveryDecision.REFUSED:
        for command, answer in _safeties(answers):
            if command != "recover" and answer == "safe":
                yield f"recover refuses ({answers.plan.reasons[0]}), {command} says safe"


def a_plan_that_is_safe_is_never_unsafe_in_its_runs(answers: Answers) -> Iterator[str]:
    """The runs follow the plan's own steps: what the runs lose, the plan loses."""
    played = answers.rehearsed_plan
    is_safe = answers.plan.answer is RecoveryDecision.SAFE
    if is_safe and played is not None and played.answer is ScenarioSafety.UNSAFE:
        yield f"recover says safe, its runs {played.reasons[0]}"


def no_start_is_unknown_that_loses_in_each_run(answers: Answers) -> Iterator[str]:
    """A person who reads "unknown" may try the start. Where all runs lose records, and no disk is
    away that could keep them, nothing that isn't known makes it safe."""
    started = answers.rehearsed
    if started is None or started.answer is not ScenarioSafety.UNKNOWN:
        return
    outcomes = [found.outcome for found in started.rehearsal.outcomes]
    lose = all(one.committed_lost or one.unproven_lost for one in outcomes)
    if lose and not unknown_voters(started.rehearsal):
        yield "each run of rehearse loses records, its answer is unknown"


def the_runs_of_a_plan_are_not_safer_than_the_plan(answers: Answers) -> Iterator[str]:
    """No run of the other voters can show what lost voters may have held."""
    played = answers.rehearsed_plan
    is_safe = answers.plan.answer is RecoveryDecision.SAFE
    if not is_safe and played is not None and played.answer is ScenarioSafety.SAFE:
        yield f"recover says {answers.plan.answer.value}, its runs are safe"


def nobody_leads_in_the_runs_whom_the_plan_lets_not_win(answers: Answers) -> Iterator[str]:
    """The plan names the possible winners. Another leader in its own runs shows that the plan is
    wrong."""
    played, winners = answers.rehearsed_plan, {key.node_id for key in answers.plan.electable}
    if played is None or played.rehearsal is None or not winners:
        return
    for node_id, runs in played.rehearsal.leaders:
        if node_id is not None and node_id not in winners:
            yield f"recover lets nodes {winners} win, node {node_id} leads in {runs} runs"


def losses_are_equal_in_plan_and_runs(answers: Answers) -> Iterator[str]:
    """What a log loses to a leader depends only on these two logs. Whether the lost records were
    committed depends only on the captured files."""
    by_leader = {
        key.node_id: {one.log.key.node_id: one for one in standings}
        for key, standings in answers.plan.led_by.items()
    } or {answers.plan.winner.key.node_id: {o.log.key.node_id: o for o in answers.plan.ranking}}
    for rehearsal in _rehearsals(answers):
        for found in rehearsal.outcomes:
            by_node = by_leader.get(found.outcome.leader or -1, {})
            for fate in found.outcome.fates:
                standing = by_node.get(fate.node_id)
                if standing is not None and not fate.has_new_disk:
                    yield from _unlike_losses(standing, fate)


def nothing_is_unknown_in_the_runs_of_a_safe_plan(answers: Answers) -> Iterator[str]:
    """recover says that such records were not committed, whichever of the reliable voters wins."""
    if answers.plan.answer is not RecoveryDecision.SAFE:
        return
    winners = {key.node_id for key in answers.plan.electable}
    for rehearsal in _rehearsals(answers):
        for found in (one for one in rehearsal.outcomes if one.outcome.leader in winners):
            for fate in found.outcome.fates:
                if fate.losses.unproven:
                    yield f"node {fate.node_id} loses {fate.losses.unproven} unknown in a run"


def _unlike_losses(standing: RankedReplica, fate: Fate) -> Iterator[str]:
    if (fate.lost, fate.losses) != (standing.at_risk, standing.lost):
        yield (
            f"node {fate.node_id} loses {standing.at_risk} {standing.lost} by the plan, "
            f"{fate.lost} {fate.losses} in a run"
        )


def losses_are_equal_in_plan_and_comparison(answers: Answers) -> Iterator[str]:
    """`diff` and the tables compare the pair of logs for which the plan says what one log loses."""
    winner = answers.plan.winner
    for standing in answers.plan.ranking[1:]:
        pair = answers.group.between(winner.key, standing.log.key)
        found = diverge(winner, standing.log, pair)
        if found.truncating != standing.log.key:
            continue
        if found.truncation_offset != standing.truncates_to:
            node_id = standing.log.key.node_id
            yield (
                f"node {node_id} truncates to {standing.truncates_to} by the plan, to "
                f"{found.truncation_offset} by diff"
            )


def what_logs_lose_is_counted_by_one_judge(answers: Answers) -> Iterator[str]:
    """Whether a record was ever committed doesn't depend on the command, where logs don't conflict.
    check, recover and rehearse have all directories. diff has two, so it may not know what all
    prove, but it never says the opposite."""
    by_plan = answers.plan.commitment
    for _, parting in answers.judged.partings:
        lost = by_plan.counted(parting.loser, (OffsetRange(parting.offset, END_OF_OFFSETS),))
        if parting.lost not in (None, lost):
            yield f"node {parting.loser.node_id} loses {parting.lost} by check, {lost} by recover"
    keys = {standing.log.key.node_id: standing.log.key for standing in answers.plan.ranking}
    for rehearsal in _rehearsals(answers):
        for fate in (one for found in rehearsal.outcomes for one in found.outcome.fates):
            lost = by_plan.counted(keys[fate.node_id], fate.lost)
            if fate.losses != lost:
                yield f"node {fate.node_id} loses {fate.losses} in a run, {lost} by recover"
    # diff gets no earlier capture, and only an earlier capture shows that a disk forgot something
    if all(voter.went_back is None for voter in answers.plan.quorum.voters):
        yield from _unlike_diff(answers)


def _unlike_diff(answers: Answers) -> Iterator[str]:
    by_plan = answers.plan.commitment
    for logs in answers.judged.compared:
        for (one, _), (other, _) in combinations(logs.members, 2):
            difference = compare_directories(one, other)
            loser, (told, _) = difference.divergence.truncating, difference.settled_losses
            if told is None or loser is None:
                continue
            first = difference.divergence.divergence_offset or 0
            lost = by_plan.counted(loser, (OffsetRange(first, END_OF_OFFSETS),))
            if told.committed > lost.committed or told.superseded > lost.superseded:
                yield f"node {loser.node_id} loses {told} by diff, {lost} by recover"


def a_divergence_is_seen_by_all(answers: Answers) -> Iterator[str]:
    """check, timeline and the report must name it, or no user looks at it."""
    pairs = [
        diverge(a, b, answers.group.between(a.key, b.key)).relation
        for a in answers.group.holding
        for b in answers.group.holding
        if a.key < b.key
    ]
    parted = any(one in (Relation.DIVERGED, Relation.CONFLICT) for one in pairs)
    told = {groups.LOG_DIVERGENCE.id, *_START_NEITHER} & answers.between
    if parted != bool(told):
        yield f"the logs {'part' if parted else 'agree'}, check finds {sorted(told) or 'nothing'}"
    if parted and answers.branch is not None and not answers.branch.tails:
        yield "the logs part, timeline knows of no divergence"
    level = None if answers.in_lake is None else answers.in_lake.report.verdict.level
    if parted and level in (Level.HEALTHY, Level.RECOVERED):
        yield f"the logs part, the report says {level.value}"


def no_node_is_sound_that_cannot_be_relied_on(answers: Answers) -> Iterator[str]:
    """recover leaves such a voter out of the majority, so check must say what is wrong with it."""
    verdicts = {one.examined.owner.key: directory_verdict(one) for one in answers.judged.members}
    for key, verdict in verdicts.items():
        is_named = {groups.STALE_VOTER.id, groups.REPLICA_WENT_BACK.id} & answers.between
        if verdict is CheckVerdict.OK and key in answers.plan.missing and not is_named:
            yield f"node {key.node_id} is sound by check, and no voter to rely on by recover"


def no_voter_is_sound_that_fails_in_every_run(answers: Answers) -> Iterator[str]:
    """The replica in the runs opens the directory as Kafka does. A wiped disk that is no voter is
    sound, and its node waits for a newer epoch."""
    if answers.rehearsed is None or answers.between:
        return
    runs = answers.rehearsed.rehearsal.outcomes
    failing = set.intersection(*({one for one, _ in found.outcome.failed} for found in runs))
    for member in answers.judged.members:
        is_sound = directory_verdict(member) is CheckVerdict.OK
        if is_sound and member.role is QuorumRole.VOTER:
            node_id = member.examined.owner.node_id
            if node_id in failing:
                yield f"voter {node_id} is sound by check, and can't go on"


def all_name_the_same_voters(answers: Answers) -> Iterator[str]:
    """Other voters form another majority."""
    told: dict[str, frozenset[int]] = {}
    if answers.judged.quorums:
        told["check"] = _ids(answers.judged.quorums[0].voters)
    if answers.plan.voters is not None:
        told["recover"] = _ids(answers.plan.voters)
    if answers.cluster is not None:
        told["plan"] = answers.cluster.voters
    if answers.rehearsed is not None:
        told["rehearse"] = frozenset(answers.rehearsed.rehearsal.captured.voters.ids)
    for (one, voters), (other, others) in pairwise(told.items()):
        if voters != others:
            yield f"the voters are {sorted(voters)} by {one}, {sorted(others)} by {other}"


def all_miss_the_same_voters(answers: Answers) -> Iterator[str]:
    """A voter whose directory isn't given is missing for all commands. recover also leaves out
    directories that can't be read."""
    here = {one.log.key.node_id for one in answers.plan.ranking}
    told: dict[str, frozenset[int]] = {}
    if answers.judged.quorums:
        told["check"] = _ids(answers.judged.quorums[0].missing) - here
    if answers.plan.voters is not None:
        told["recover"] = _ids(answers.plan.missing) - here
    if answers.rehearsed is not None:
        told["rehearse"] = frozenset(answers.rehearsed.rehearsal.captured.not_captured) - here
    for (one, voters), (other, others) in pairwise(told.items()):
        if voters != others:
            yield f"{sorted(voters)} are missing by {one}, {sorted(others)} by {other}"


STARTING: tuple[Rule, ...] = (
    nothing_is_safe_where_check_says_to_start_neither,
    rehearse_is_not_safe_where_recover_refuses,
    a_plan_that_is_safe_is_never_unsafe_in_its_runs,
    no_start_is_unknown_that_loses_in_each_run,
    the_runs_of_a_plan_are_not_safer_than_the_plan,
    nobody_leads_in_the_runs_whom_the_plan_lets_not_win,
    losses_are_equal_in_plan_and_runs,
    nothing_is_unknown_in_the_runs_of_a_safe_plan,
    losses_are_equal_in_plan_and_comparison,
    what_logs_lose_is_counted_by_one_judge,
    a_divergence_is_seen_by_all,
    no_node_is_sound_that_cannot_be_relied_on,
    no_voter_is_sound_that_fails_in_every_run,
    all_name_the_same_voters,
    all_miss_the_same_voters,
)


def _safeties(answers: Answers) -> Iterator[tuple[str, str]]:
    yield "recover", answers.plan.answer.value
    if answers.rehearsed_plan is not None:
        yield "recover --rehearse", answers.rehearsed_plan.answer.value
    if answers.rehearsed is not None:
        yield "rehearse", answers.rehearsed.answer.value


def _rehearsals(answers: Answers) -> Iterator[Rehearsal]:
    if answers.rehearsed is not None:
        yield answers.rehearsed.rehearsal
    if answers.rehearsed_plan is not None and answers.rehearsed_plan.rehearsal is not None:
        yield answers.rehearsed_plan.rehearsal


def _ids(voters: VoterKeys) -> frozenset[int]:
    return frozenset(one.node_id for one in voters)
