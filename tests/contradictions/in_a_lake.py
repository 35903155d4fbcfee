"""Rules by which a lake's tables and report agree with the commands on directories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from replica.doctor.check.catalogue import snapshots
from replica.doctor.check.snapshot_validity import Validity
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.doctor.verdict.evidence_of_directories import evidence_of
from replica.doctor.verdict.refused_writes import refused_text
from replica.doctor.verdict.verdict import OF_OTHER_CLUSTERS, Level
from replica.history.divergence import diverge
from replica.severity import Severity
from replica.words import ms_text
from tests.contradictions.answers import Answers, Rule

_BAD = (Severity.ERROR, Severity.WARNING)
_OF_LOSSES = frozenset({"log-divergence", "conflict", "committed-data-at-risk"})
"""The rules about logs that differ. The report describes them by clauses of its own."""


_BY_DIRECTORIES = {snapshots.SNAPSHOT_CONTENT.id: snapshots.SNAPSHOT_UNVERIFIED.id}
"""Rules that find more in a lake than in directories, with the rules that find
it in directories."""


def divergence_points_are_those_of_diff(answers: Answers) -> Iterator[str]:
    """The table and the command compare the same two logs. Beside all other logs, it may be that
    neither of the two may follow the other; check says so, too."""
    alone = {
        frozenset((parting.loser.node_id, other))
        for _, parting in answers.judged.partings
        if parting.truncates_to is None
        for other in parting.others
    }
    for row in answers.latest("gold.divergence_points"):
        keys = (row["node_a"], row["directory_a"]), (row["node_b"], row["directory_b"])
        logs = {(one.key.node_id, one.key.directory_id): one for one in answers.group.logs}
        if not all(key in logs for key in keys):
            yield f"the lake has replicas {keys}, the directories {sorted(logs)}"
            continue
        a, b = (logs[key] for key in keys)
        if not (a.batches and b.batches):
            continue
        found = diverge(a, b, answers.group.between(a.key, b.key))
        if frozenset((a.key.node_id, b.key.node_id)) in alone:
            found = replace(found, truncation_offset=None, records_lost=None)
        said = {
            "relation": found.relation.value,
            "divergence_offset": found.divergence_offset,
            "truncation_offset": found.truncation_offset,
            "records_lost": found.records_lost,
        }
        for name, value in said.items():
            if row[name] != value:
                yield f"{keys}: {name} is {value} by diff, {row[name]} in the table"


def the_table_of_exposures_is_the_command_s(answers: Answers) -> Iterator[str]:
    """One function makes both, from the directories' state and from the lake's state."""
    rows = answers.rows("gold.failure_exposure")
    if not rows or not answers.is_one_history or answers.cluster is None:
        return
    if rows[0]["end_offset"] != answers.cluster.end_offset:
        if _is_kept_by_the_lake(answers, rows[0]["end_offset"]):
            return
        end = answers.cluster.end_offset
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
    """The rules are the same, and the state is the same."""
    if not answers.is_one_history or answers.in_lake is None or answers.checked is None:
        return
    rows = answers.rows("gold.failure_exposure")
    if rows and answers.cluster and rows[0]["end_offset"] != answers.cluster.end_offset:
        return  # another rule says so
    told = {one.rule.id for one in (answers.checked.health or ())}
    held = {row["rule"] for row in answers.rows("gold.findings") if row["family"] == "health"}
    if told != held:
        yield f"check finds {sorted(told - held)}, the lake {sorted(held - told)} besides"


def findings_about_files_are_the_same_in_the_lake(answers: Answers) -> Iterator[str]:
    """A user of one of the two would miss a finding that only the other has. Only a lake replays to
    an offset inside a batch."""
    if answers.in_lake is None or not answers.is_one_history:
        return
    newest = {row["capture_id"] for row in answers.latest("gold.replica_status")}
    told = {
        (member.examined.owner.node_id, one.rule.id)
        for member in answers.judged.members
        for one in member.findings
    }
    held = {
        (row["node_id"], row["rule"])
        for row in answers.rows("gold.findings")
        if row["family"] == "files" and row["capture_id"] in newest
    }
    of_groups = answers.between
    held = {one for one in held if one[1] not in of_groups}
    held = {(node, _BY_DIRECTORIES.get(rule, rule)) for node, rule in held}
    told = {(node, _BY_DIRECTORIES.get(rule, rule)) for node, rule in told}
    told -= {(key[0], snapshots.SNAPSHOT_UNVERIFIED.id) for key in _verified_by_earlier(answers)}
    if told != held:
        yield f"check finds {sorted(told - held)}, the lake {sorted(held - told)} besides"


def each_cluster_in_a_lake_has_one_verdict(answers: Answers) -> Iterator[str]:
    """A user of the table, such as Airflow's gate, learns nothing about a cluster without a row."""
    count = len(answers.rows("gold.verdicts"))
    if answers.in_lake is not None and count != 1:
        yield f"gold.verdicts has {count} rows"


def the_lake_s_verdict_is_that_of_check(answers: Answers) -> Iterator[str]:
    """Airflow's gate and the report read the table, and a person at night reads check."""
    rows = answers.rows("gold.verdicts")
    if not rows or not answers.is_one_history or answers.checked is None:
        return
    expected = answers.verdict_on(evidence_of(answers.checked))
    (row,) = rows
    rules = {rule for fact in row["facts"] for rule in fact["rules"]}
    if rules & {*OF_OTHER_CLUSTERS, *_BY_DIRECTORIES} or _verified_by_earlier(answers):
        return  # check was not given the other clusters of the round, or the earlier captures
    if _is_kept_by_the_lake(answers, row["end_offset"]):
        return
    told = {
        "level": (row["level"], expected.level.value),
        "headline": (row["headline"], expected.headline),
        "rules": ([tuple(one["rules"]) for one in row["facts"]],
                  [one.rules for one in expected.facts]),
        "end_offset": (row["end_offset"], expected.state and expected.state.end_offset),
    }  # fmt: skip
    for name, (in_table, by_check) in told.items():
        if in_table != by_check:
            yield f"{name} is {in_table} in the table, {by_check} by check"


def the_report_is_headed_by_check_s_verdict(answers: Answers) -> Iterator[str]:
    """The report's first sentence is the worst fact. About logs that diverge, its clauses give
    details with times."""
    if answers.in_lake is None or not answers.rows("gold.verdicts"):
        return
    (row,) = answers.rows("gold.verdicts")
    report = answers.in_lake.report.verdict
    if report.level.rank > Level(row["level"]).rank and row["facts"]:
        yield f"the report's level is {report.level.value}, the verdict's {row['level']}"
    first = next(iter(row["facts"]), None)
    if first is None or _OF_LOSSES.intersection(first["rules"]):
        return
    if not report.sentence.startswith(row["headline"]):
        yield f"the report begins with {report.sentence[:80]!r}, the verdict is {row['headline']!r}"


def the_report_names_the_voters_in_force(answers: Answers) -> Iterator[str]:
    """The report names the voters whose log was not captured. A lake keeps the newest change of the
    voters even if only an earlier capture has it."""
    if answers.in_lake is None or not answers.is_one_history or answers.plan.voters is None:
        return
    voters = {one.node_id for one in answers.plan.voters}
    told = answers.in_lake.report.voters
    end = max(log.end_offset for log in answers.group.logs)
    kept = [
        {one.node_id for one in named.voters}
        for logs in answers.earlier
        for log in logs.values()
        for named in log.voter_sets
        if named.offset >= end
    ]
    if told and told != voters and told not in kept:
        yield f"the voters are {sorted(voters)} by recover, {sorted(told)} by the report"


def leaders_of_epochs_are_equal(answers: Answers) -> Iterator[str]:
    """An epoch has one leader, whatever names it. Where two histories contradict each other an
    epoch may have two leaders, and the table has one of them."""
    for row in answers.rows("gold.leader_epoch_history"):
        leader = row["leader_id"]
        told = {one.won.leader for one in answers.elections if one.won.epoch == row["epoch"]}
        if leader is not None and told and leader not in told:
            yield f"epoch {row['epoch']}: {told} by timeline, {leader} by the table"


def the_report_is_not_better_than_check(answers: Answers) -> Iterator[str]:
    """Readers of the report don't read check."""
    if answers.in_lake is None:
        return
    level = answers.in_lake.report.verdict.level
    bad = sorted(
        {one.rule.id for member in answers.judged.members for one in member.findings
         if one.severity in _BAD}
        | {one.rule.id for one in answers.judged.findings if one.severity in _BAD}
    )  # fmt: skip
    if bad and level in (Level.HEALTHY, Level.RECOVERED):
        yield f"check finds {bad}, the report says {level.value}"
    if answers.plan.answer is RecoveryDecision.REFUSED and level.rank > Level.ATTENTION.rank:
        yield f"recover refuses ({answers.plan.reasons[0]}), the report says {level.value}"


def snapshots_have_one_verdict(answers: Answers) -> Iterator[str]:
    """A snapshot is either fit for a restore or not."""
    if answers.in_lake is None or not answers.is_one_history:
        return
    held = _verdicts_in_lake(answers)
    for key, validity in _verdicts(answers):
        if key in held.keys() - _verified_by_earlier(answers) and held[key] != validity:
            yield f"snapshot {key} is {validity} by check, {held[key]} in the lake"


def the_report_s_losses_are_those_of_the_comparison(answers: Answers) -> Iterator[str]:
    """Records that are committed, and that a majority holds, are not lost: only one copy lacks
    them."""
    if answers.in_lake is None or answers.plan.answer is not RecoveryDecision.SAFE:
        return
    for loss in answers.in_lake.report.evidence.losses:
        if loss.committed and not loss.is_kept:
            yield f"recover says safe, the report {loss.committed} committed records lost"


def the_report_tells_of_refused_writes_what_the_directories_tell(
    answers: Answers,
) -> Iterator[str]:
    """what-happened reads them from the logs, the report from the lake's history."""
    if answers.in_lake is None or answers.checked is None or not answers.is_one_history:
        return
    told = refused_text(answers.checked.refusals, ms_text)
    said = answers.in_lake.report.summary.refused
    if said != told:
        yield f"by the directories {told!r}, by the report {said!r}"


IN_A_LAKE: tuple[Rule, ...] = (
    divergence_points_are_those_of_diff,
    the_table_of_exposures_is_the_command_s,
    health_is_the_same_in_the_lake,
    findings_about_files_are_the_same_in_the_lake,
    each_cluster_in_a_lake_has_one_verdict,
    the_lake_s_verdict_is_that_of_check,
    the_report_is_headed_by_check_s_verdict,
    the_report_names_the_voters_in_force,
    leaders_of_epochs_are_equal,
    the_report_is_not_better_than_check,
    snapshots_have_one_verdict,
    the_report_s_losses_are_those_of_the_comparison,
    the_report_tells_of_refused_writes_what_the_directories_tell,
)


_Snapshot = tuple[int, int, int]
"""A node's id, and the end offset and epoch of a snapshot in its newest capture."""


def _verdicts(answers: Answers) -> Iterator[tuple[_Snapshot, str]]:
    """The verdicts of check on snapshots."""
    for member in answers.judged.members:
        for one in member.verdicts:
            if one.id is not None:
                key = (member.examined.owner.node_id, one.id.offset, one.id.epoch)
                yield key, str(one.validity)


def _verdicts_in_lake(answers: Answers) -> dict[_Snapshot, str]:
    newest = {row["capture_id"] for row in answers.latest("gold.replica_status")}
    return {
        (row["node_id"], row["end_offset"], row["epoch"]): row["verdict"]
        for row in answers.rows("gold.snapshot_validity")
        if row["capture_id"] in newest
    }


def _is_kept_by_the_lake(answers: Answers, end: int | None) -> bool:
    """Whether only logs of earlier captures hold the state that ends at this offset (exclusive),
    and no disk any more."""
    now = max((log.end_offset for log in answers.group.logs), default=0)
    ends = [log.end_offset for logs in answers.earlier for log in logs.values()]
    return end is not None and now < end <= max(ends, default=0)


def _verified_by_earlier(answers: Answers) -> set[_Snapshot]:
    """The snapshots whose end no log of the newest capture reaches, but a log that the lake has of
    an earlier capture."""
    if not answers.earlier:
        return set()
    held = _verdicts_in_lake(answers)
    return {
        key
        for key, validity in _verdicts(answers)
        if (validity, held.get(key)) == (Validity.UNVERIFIABLE, Validity.VALID)
        and any(log.end_offset >= key[1] for logs in answers.earlier for log in logs.values())
    }
