"""Rules by which the commands' answers about one cluster agree: each is a function from all answers
to the contradictions among them, a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from jobs.cli.directories.check_text import CheckVerdict, verdict_of
from pipelines.report.verdict import Level
from replica.check.catalogue import groups
from replica.health.exposure import BROKER, NOW, PAIR, RACK, VOTER, Exposure, Failure
from replica.history.divergence import Relation, diverge
from replica.history.recovery import RankedReplica, RecoveryDecision
from replica.model.voters import majority
from replica.preflight.answer import ChangeSafety
from replica.severity import Severity
from replica.simulate.rehearsal.outcome import Fate
from replica.simulate.rehearsal.runs import Rehearsal, ScenarioSafety
from tests.contradictions.answers import Answers

Rule = Callable[[Answers], Iterator[str]]
_START_NEITHER = {groups.CONFLICT.id, groups.COMMITTED_DATA_AT_RISK.id}
_BAD = (Severity.ERROR, Severity.WARNING)


def nothing_is_safe_where_check_says_to_start_neither(answers: Answers) -> Iterator[str]:
    """A person who reads "safe" starts the nodes; where logs conflict, or committed records would
    be truncated, that destroys one of two histories."""
    for rule in sorted(_START_NEITHER & set(_between(answers))):
        for command, answer in _safeties(answers):
            if answer == "safe":
                yield f"check says {rule}, {command} says safe"


def rehearse_is_not_safe_where_recover_refuses(answers: Answers) -> Iterator[str]:
    """Both say what becomes of the same directories when they are started."""
    if answers.plan.answer is RecoveryDecision.REFUSED:
        for command, answer in _safeties(answers):
            if command != "recover" and answer == "safe":
                yield f"recover refuses ({answers.plan.reasons[0]}), {command} says safe"


def a_plan_that_is_safe_is_never_unsafe_in_its_runs(answers: Answers) -> Iterator[str]:
    """The runs play the plan's own steps: what they lose, the plan loses."""
    played = answers.rehearsed_plan
    is_safe = answers.plan.answer is RecoveryDecision.SAFE
    if is_safe and played is not None and played.answer is ScenarioSafety.UNSAFE:
        yield f"recover says safe, its runs {played.reasons[0]}"


def nobody_leads_in_the_runs_whom_the_plan_lets_not_win(answers: Answers) -> Iterator[str]:
    """Where the plan names who wins, another leader in its own runs shows that it doesn't know."""
    played, leader = answers.rehearsed_plan, answers.plan.leader
    if played is None or played.rehearsal is None or leader is None:
        return
    for node_id, runs in played.rehearsal.leaders:
        if node_id is not None and node_id != leader.key.node_id:
            yield f"recover lets node {leader.key.node_id} win, node {node_id} leads in {runs} runs"


def losses_are_equal_in_plan_and_runs(answers: Answers) -> Iterator[str]:
    """What a log loses to a leader depends on these two logs alone."""
    by_node = {one.log.key.node_id: one for one in answers.plan.ranking}
    for rehearsal in _rehearsals(answers):
        for found in rehearsal.found:
            if found.outcome.leader != answers.plan.winner.key.node_id:
                continue
            for fate in found.outcome.fates:
                standing = by_node.get(fate.node_id)
                if standing is not None and not fate.has_new_disk:
                    yield from _unlike_losses(standing, fate)


def _unlike_losses(standing: RankedReplica, fate: Fate) -> Iterator[str]:
    if (fate.lost, fate.losses) != (standing.at_risk, standing.lost):
        yield (
            f"node {fate.node_id} loses {standing.at_risk} {standing.lost} by the plan, "
            f"{fate.lost} {fate.losses} in a run"
        )


def losses_are_equal_in_plan_and_comparison(answers: Answers) -> Iterator[str]:
    """`diff` and the tables compare the pair of which the plan says what one of it loses."""
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


def divergence_points_are_those_of_diff(answers: Answers) -> Iterator[str]:
    """The table and the command compare the same two logs."""
    for row in _latest(answers, "gold.divergence_points"):
        keys = (row["node_a"], row["directory_a"]), (row["node_b"], row["directory_b"])
        logs = {(one.key.node_id, one.key.directory_id): one for one in answers.group.logs}
        if not all(key in logs for key in keys):
            yield f"the lake has replicas {keys}, the directories {sorted(logs)}"
            continue
        a, b = (logs[key] for key in keys)
        if not (a.batches and b.batches):
            continue
        found = diverge(a, b, answers.group.between(a.key, b.key))
        said = {
            "relation": found.relation.value,
            "divergence_offset": found.divergence_offset,
            "truncation_offset": found.truncation_offset,
            "records_lost": found.records_lost,
        }
        for name, value in said.items():
            if row[name] != value:
                yield f"{keys}: {name} is {value} by diff, {row[name]} in the table"


def a_divergence_is_seen_by_all(answers: Answers) -> Iterator[str]:
    """check, timeline and the report lead to it, or nobody looks."""
    pairs = [
        diverge(a, b, answers.group.between(a.key, b.key)).relation
        for a in answers.group.holding
        for b in answers.group.holding
        if a.key < b.key
    ]
    parted = any(one in (Relation.DIVERGED, Relation.CONFLICT) for one in pairs)
    told = {groups.LOG_DIVERGENCE.id, *_START_NEITHER} & set(_between(answers))
    if parted != bool(told):
        yield f"the logs {'part' if parted else 'agree'}, check finds {sorted(told) or 'nothing'}"
    if parted and answers.branch is not None and not answers.branch.tails:
        yield "the logs part, timeline knows of no divergence"
    level = None if answers.in_lake is None else answers.in_lake.report.verdict.level
    if parted and level in (Level.SOUND, Level.RECOVERED):
        yield f"the logs part, the report says {level.value}"


def nothing_is_healthy_with_partitions_without_leader(answers: Answers) -> Iterator[str]:
    """Nobody can write to such a partition: it is an outage, and the first thing to say."""
    now = _exposure(answers, NOW)
    if now is None or not now.harm.leaderless or answers.health is None:
        return
    count = now.harm.leaderless
    if not any(one.severity in _BAD for one in answers.health.findings):
        yield f"{count} partitions have no leader by the exposure, check says healthy"
    if answers.in_lake is not None and answers.in_lake.report.verdict.level is Level.SOUND:
        yield f"{count} partitions have no leader by the exposure, the report says sound"


def the_table_of_exposures_is_the_command_s(answers: Answers) -> Iterator[str]:
    """One function makes both, from the directories' state and from the lake's."""
    rows = _rows(answers, "gold.failure_exposure")
    if not rows or answers.health is None or answers.health.cluster is None:
        return
    if rows[0]["end_offset"] != answers.health.cluster.end_offset:
        end = answers.health.cluster.end_offset
        yield f"the lake judges the state at {rows[0]['end_offset']}, check that at {end}"
        return
    told = {(one.failure.kind, ",".join(one.failure.gone)): one for one in answers.exposed}
    for row in rows:
        one = told.pop((row["kind"], row["gone"]), None)
        figures = None if one is None else (*one.harm, one.voters_left, one.has_majority)
        names = ("leaderless", "needs_unclean", "below_min_isr", "voters_left", "has_majority")
        if figures != tuple(row[name] for name in names):
            yield f"{row['kind']} {row['gone']}: {figures} by the command, {row} in the table"
    for key in told:
        yield f"{key} is an exposure of the command, but not in the table"


def health_is_the_same_in_the_lake(answers: Answers) -> Iterator[str]:
    """The rules are the same, and so is the state."""
    if answers.in_lake is None or answers.health is None or answers.health.cluster is None:
        return
    rows = _rows(answers, "gold.failure_exposure")
    if rows and rows[0]["end_offset"] != answers.health.cluster.end_offset:
        return  # another rule says so
    told = {one.rule.id for one in answers.health.findings}
    held = {row["rule"] for row in _rows(answers, "gold.findings") if row["family"] == "health"}
    if told != held:
        yield f"check finds {sorted(told - held)}, the lake {sorted(held - told)} besides"


def findings_about_files_are_the_same_in_the_lake(answers: Answers) -> Iterator[str]:
    """A finding that one of the two lacks is missed by those who ask the other."""
    if answers.in_lake is None:
        return
    newest = {row["capture_id"] for row in _latest(answers, "gold.replica_status")}
    told = {
        (member.examined.owner.node_id, one.rule.id)
        for member in answers.judged.members
        for one in member.findings
    }
    held = {
        (row["node_id"], row["rule"])
        for row in _rows(answers, "gold.findings")
        if row["family"] == "files" and row["capture_id"] in newest
    }
    of_groups = set(_between(answers))
    held = {one for one in held if one[1] not in of_groups}
    if told != held:
        yield f"check finds {sorted(told - held)}, the lake {sorted(held - told)} besides"


def a_safe_stop_does_no_harm_by_the_exposure(answers: Answers) -> Iterator[str]:
    """Both say what is left once the same brokers are gone."""
    now = _exposure(answers, NOW)
    for ids, stop in answers.stops.items():
        kind = BROKER if len(ids) == 1 else PAIR
        failure = Failure(kind, tuple(map(str, ids)))
        yield from _harmless(f"stop of {list(ids)}", stop.answer, now, _exposure(answers, failure))
        if len(ids) == 1:
            voter = _exposure(answers, Failure(VOTER, failure.gone))
            yield from _harmless(f"stop of {list(ids)}", stop.answer, now, voter)
    for rack, stop in answers.racks.items():
        gone = _exposure(answers, Failure(RACK, (rack,)))
        yield from _harmless(f"stop of rack {rack}", stop.answer, now, gone)


def _harmless(
    what: str, answer: ChangeSafety, now: Exposure | None, then: Exposure | None
) -> Iterator[str]:
    if answer is not ChangeSafety.SAFE or now is None or then is None:
        return
    if then.has_majority is False:
        yield f"{what} is safe, the exposure leaves no majority"
    if then.harm.leaderless > now.harm.leaderless:
        yield f"{what} is safe, {then.harm.leaderless} partitions lose their leader"
    if then.harm.below_min_isr > now.harm.below_min_isr:
        yield f"{what} is safe, {then.harm.below_min_isr} partitions are below min.insync.replicas"


def a_stop_that_does_harm_by_the_exposure_is_the_only_unsafe_one(answers: Answers) -> Iterator[str]:
    """A false alarm keeps people from their work, and they learn to pass over it."""
    now = _exposure(answers, NOW)
    for ids, stop in answers.stops.items():
        kind = BROKER if len(ids) == 1 else PAIR
        then = _exposure(answers, Failure(kind, tuple(map(str, ids))))
        if then is None or now is None or stop.answer is not ChangeSafety.UNSAFE:
            continue
        same = then.has_majority is not False and then.harm == now.harm
        below = any("min.insync.replicas" in one.detail for one in stop.reasons)
        if same and not below:
            why = stop.reasons[0].detail
            yield f"stop of {list(ids)} is unsafe ({why}), no harm by the exposure"


def no_stop_is_safe_that_leaves_no_majority_of_unfenced_voters(answers: Answers) -> Iterator[str]:
    """A node that is voter and broker has one process: where the log shows the broker as fenced,
    the voter may be down too, and must not be counted on without a word."""
    cluster = None if answers.health is None else answers.health.cluster
    if cluster is None or not cluster.voters:
        return
    brokers = cluster.values("brokers")
    down = {one for one in cluster.voters if one in brokers and brokers[one]["fenced"]}
    needed = majority(len(cluster.voters))
    for ids, stop in answers.stops.items():
        left = cluster.voters - down - set(ids)
        is_silent = stop.answer is ChangeSafety.SAFE and not stop.needs
        if down and cluster.voters & set(ids) and len(left) < needed and is_silent:
            yield f"stop of {list(ids)} is safe, of the voters {sorted(down)} are fenced"


def no_node_is_sound_that_cannot_be_relied_on(answers: Answers) -> Iterator[str]:
    """recover leaves such a voter out of the majority, so check has to say what is wrong with
    it."""
    verdicts = {one.examined.owner.key: verdict_of(one) for one in answers.judged.members}
    for key, verdict in verdicts.items():
        if verdict is CheckVerdict.SOUND and key in answers.plan.missing:
            yield f"node {key.node_id} is sound by check, and no voter to rely on by recover"


def no_node_is_sound_that_fails_in_every_run(answers: Answers) -> Iterator[str]:
    """The replica in the runs opens the directory as Kafka does."""
    if answers.rehearsed is None:
        return
    runs = answers.rehearsed.rehearsal.found
    failing = set.intersection(*({one for one, _ in found.outcome.failed} for found in runs))
    for member in answers.judged.members:
        if member.examined.owner.node_id in failing and verdict_of(member) is CheckVerdict.SOUND:
            between = sorted(_between(answers))
            if not between:
                yield f"node {member.examined.owner.node_id} is sound by check, and can't go on"


def all_name_the_same_voters(answers: Answers) -> Iterator[str]:
    """A majority of other voters is another majority."""
    told: dict[str, frozenset[int]] = {}
    if answers.judged.quorums:
        told["check"] = _ids(answers.judged.quorums[0].voters)
    if answers.plan.voters is not None:
        told["recover"] = _ids(answers.plan.voters)
    if answers.health is not None and answers.health.cluster is not None:
        told["plan"] = answers.health.cluster.voters
    if answers.rehearsed is not None:
        told["rehearse"] = frozenset(answers.rehearsed.rehearsal.captured.voters.ids)
    if answers.in_lake is not None and answers.in_lake.report.voters:
        told["report"] = answers.in_lake.report.voters
    for (one, voters), (other, others) in pairwise(told.items()):
        if voters != others:
            yield f"the voters are {sorted(voters)} by {one}, {sorted(others)} by {other}"


def all_miss_the_same_voters(answers: Answers) -> Iterator[str]:
    """A voter that isn't here is away for all; recover also leaves out what can't be read."""
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


def leaders_of_epochs_are_equal(answers: Answers) -> Iterator[str]:
    """An epoch has one leader, whoever tells of it."""
    told = {one.won.epoch: one.won.leader for one in answers.elections}
    for row in _rows(answers, "gold.leader_epoch_history"):
        leader = told.get(row["epoch"])
        if None not in (leader, row["leader_id"]) and leader != row["leader_id"]:
            yield f"epoch {row['epoch']}: {leader} by timeline, {row['leader_id']} by the table"


def the_report_is_not_better_than_check(answers: Answers) -> Iterator[str]:
    """The report is read by those who can't read check."""
    if answers.in_lake is None:
        return
    level = answers.in_lake.report.verdict.level
    bad = sorted(
        {one.rule.id for member in answers.judged.members for one in member.findings
         if one.severity in _BAD}
        | {one.rule.id for one in answers.judged.findings if one.severity in _BAD}
    )  # fmt: skip
    if bad and level in (Level.SOUND, Level.RECOVERED):
        yield f"check finds {bad}, the report says {level.value}"
    if answers.plan.answer is RecoveryDecision.REFUSED and level is not Level.BROKEN:
        yield f"recover refuses ({answers.plan.reasons[0]}), the report says {level.value}"


def snapshots_have_one_verdict(answers: Answers) -> Iterator[str]:
    """A snapshot is restored from, or isn't."""
    if answers.in_lake is None:
        return
    newest = {row["capture_id"] for row in _latest(answers, "gold.replica_status")}
    held = {
        (row["node_id"], row["end_offset"], row["epoch"]): row["verdict"]
        for row in _rows(answers, "gold.snapshot_validity")
        if row["capture_id"] in newest
    }
    for member in answers.judged.members:
        for one in member.verdicts:
            if one.id is None:
                continue
            key = (member.examined.owner.node_id, one.id.offset, one.id.epoch)
            if key in held and held[key] != str(one.validity):
                yield f"snapshot {key} is {one.validity} by check, {held[key]} in the lake"


def the_report_s_losses_are_those_of_the_comparison(answers: Answers) -> Iterator[str]:
    """Records that are committed, and that a majority holds, are not lost: one copy lacks them."""
    if answers.in_lake is None or answers.plan.answer is not RecoveryDecision.SAFE:
        return
    for loss in answers.in_lake.report.evidence.losses:
        if loss.committed:
            yield f"recover says safe, the report {loss.committed} committed records lost"


RULES: tuple[Rule, ...] = (
    nothing_is_safe_where_check_says_to_start_neither,
    rehearse_is_not_safe_where_recover_refuses,
    a_plan_that_is_safe_is_never_unsafe_in_its_runs,
    nobody_leads_in_the_runs_whom_the_plan_lets_not_win,
    losses_are_equal_in_plan_and_runs,
    losses_are_equal_in_plan_and_comparison,
    divergence_points_are_those_of_diff,
    a_divergence_is_seen_by_all,
    nothing_is_healthy_with_partitions_without_leader,
    the_table_of_exposures_is_the_command_s,
    health_is_the_same_in_the_lake,
    findings_about_files_are_the_same_in_the_lake,
    a_safe_stop_does_no_harm_by_the_exposure,
    a_stop_that_does_harm_by_the_exposure_is_the_only_unsafe_one,
    no_stop_is_safe_that_leaves_no_majority_of_unfenced_voters,
    no_node_is_sound_that_cannot_be_relied_on,
    no_node_is_sound_that_fails_in_every_run,
    all_name_the_same_voters,
    all_miss_the_same_voters,
    leaders_of_epochs_are_equal,
    the_report_is_not_better_than_check,
    snapshots_have_one_verdict,
    the_report_s_losses_are_those_of_the_comparison,
)


def _between(answers: Answers) -> Iterator[str]:
    return (one.rule.id for one in answers.judged.findings)


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


def _exposure(answers: Answers, failure: Failure) -> Exposure | None:
    return next((one for one in answers.exposed if one.failure == failure), None)


def _rows(answers: Answers, table: str):  # type: ignore[no-untyped-def]
    return () if answers.in_lake is None else answers.in_lake.tables.get(table, ())


def _latest(answers: Answers, table: str):  # type: ignore[no-untyped-def]
    return [row for row in _rows(answers, table) if row["is_latest"]]


def _ids(voters) -> frozenset[int]:  # type: ignore[no-untyped-def]
    return frozenset(one.node_id for one in voters)
