"""Rules by which the statements of check, recover and rehearse about a simulated cluster agree with
what the simulator knows. A rule is a function of all answers and the truth. It gives statements,
each of which is right, unknown or wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from replica.doctor.check.catalogue import files, groups, log
from replica.doctor.check.rule import Finding
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.doctor.rehearsal.runs import Rehearsal, ScenarioSafety
from replica.history.commitment import EntryCommitment
from replica.history.log import LogBatch
from replica.history.ranges import Ranges
from replica.model.keys import ReplicaKey
from replica.severity import Severity
from tests.contradictions.answers import Answers
from tests.contradictions.statements import Statement, held, right, seen, unknown, wrong
from tests.contradictions.truth import Entry, Truth, entry_of

TruthRule = Callable[[Answers, Truth], Iterator[Statement]]
_LOGS = "check, recover"
"""The commands that say whether a log's records were committed."""


def what_is_proven_was_committed(answers: Answers, truth: Truth) -> Iterator[Statement]:
    """Raft keeps what a majority holds, so a proven entry is in the log when all
    faults have ended."""
    committed = set(truth.committed.values())
    for key, entry in _with_verdict(answers, EntryCommitment.PROVEN):
        what = f"{entry} of node {key.node_id} is proven, and was never committed"
        yield held(_LOGS, is_true=entry in committed, what=what)
    yield unknown(_LOGS, sum(1 for _ in _with_verdict(answers, EntryCommitment.UNPROVEN)))


def what_is_superseded_was_never_committed(answers: Answers, truth: Truth) -> Iterator[Statement]:
    """A person who reads "superseded" lets the records go."""
    committed = set(truth.committed.values())
    for key, entry in _with_verdict(answers, EntryCommitment.SUPERSEDED):
        what = f"{entry} of node {key.node_id} is superseded, and was committed"
        yield held(_LOGS, is_true=entry not in committed, what=what)


def a_safe_plan_goes_on_with_all_that_was_committed(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """This is the meaning of "safe"."""
    if answers.plan.answer is not RecoveryDecision.SAFE:
        yield unknown("recover")
        return
    lacking = truth.lacks(answers.plan.winner)
    node_id = answers.plan.winner.key.node_id
    what = f"node {node_id} is safe, and lacks {len(lacking)}: {lacking[:1]}"
    yield seen(answers, held("recover", is_true=not lacking, what=what))


def no_record_of_which_a_safe_plan_says_never_committed_was(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """`recover` says this about all records that others lose: none of them can
    have been committed."""
    if answers.plan.answer is not RecoveryDecision.SAFE:
        return
    committed = set(truth.committed_then.values())
    for standing in answers.plan.ranking[1:]:
        for batch in standing.log.batches:
            if _touches(standing.at_risk, batch):
                entry = entry_of(batch)
                what = f"node {standing.log.key.node_id} loses committed {entry}"
                yield seen(answers, held("recover", is_true=entry not in committed, what=what))


def what_cannot_have_been_committed_was_not(answers: Answers, truth: Truth) -> Iterator[Statement]:
    """Above the end of what may be committed, a person may let records go."""
    quorum = None if answers.cluster is None else answers.cluster.quorum
    if quorum is None:
        return
    committed = set(truth.committed_then.values())
    newest = next((log for log in answers.group.logs if log.key == quorum.newest), None)
    for batch in () if newest is None else newest.batches:
        if batch.base_offset >= quorum.possible_end:
            what = f"{entry_of(batch)} was committed, possible was {quorum.possible_end}"
            is_true = entry_of(batch) not in committed
            yield seen(answers, held("plan, restore", is_true=is_true, what=what))
        elif batch.last_offset >= quorum.proven_end:
            yield unknown("plan, restore")


def no_disk_that_was_never_changed_is_called_stale(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """A voter that no majority may count makes a working quorum look lost."""
    quorum = None if answers.cluster is None else answers.cluster.quorum
    if quorum is not None and answers.given.is_whole:
        for voter in quorum.voters:
            yield held("check", is_true=voter.doubt is not VoterDoubt.STALE, what=f"{voter}")


def no_run_that_is_safe_loses_what_was_committed(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """The rule also holds for records about which the directories prove nothing."""
    committed = set(truth.committed_then.values())
    logs = {log.key.node_id: log for log in answers.group.logs}
    for command, rehearsal, answer in _rehearsals(answers):
        if answer is not ScenarioSafety.SAFE:
            yield unknown(command)
            continue
        lost = [
            entry_of(batch)
            for found in rehearsal.outcomes
            for fate in found.outcome.fates
            for batch in logs[fate.node_id].batches
            if _touches(fate.lost, batch) and entry_of(batch) in committed
        ]
        what = f"{command} is safe, and loses {lost[:1]}"
        yield seen(answers, held(command, is_true=not lost, what=what))


def nothing_committed_is_called_lost(answers: Answers, truth: Truth) -> Iterator[Statement]:
    """The simulator's quorums keep every committed record, so a claim of a loss is invented."""
    if not answers.given.is_whole:
        return
    found = [one for one in answers.judged.findings if one.rule is groups.COMMITTED_DATA_AT_RISK]
    yield held("check", is_true=not found, what="; ".join(one.message for one in found))
    is_refused = answers.plan.answer is RecoveryDecision.REFUSED
    what = f"recover refuses: {answers.plan.reasons[:1]}"
    yield held("recover", is_true=not is_refused, what=what)
    for command, rehearsal, _ in _rehearsals(answers):
        for one in rehearsal.outcomes:
            what = f"{command} loses {one.outcome.committed_lost}, seed {one.seeds[0]}"
            yield held(command, is_true=not one.outcome.committed_lost, what=what)


_EXPECTED = frozenset(
    rule.id
    for rule in (
        groups.LOG_DIVERGENCE,  # a leader without a majority has continued to write
        groups.VOTER_BEHIND,  # a voter is down or cut off, as the rule says
        files.VOTER_DIRECTORY_ID,  # a voter's disk was wiped
        files.INDEX_BROKEN,  # a power cut tears an index, too, and the next start rebuilds it
        files.INDEX_MISMATCH,
    )
)

_TORN = (log.CRC_MISMATCH, log.FRAMING, log.ZERO_HOLE, log.OFFSET_GAP)


def _is_unflushed(finding: Finding, flushed: int | None) -> bool:
    """Whether a finding is about entries that a node which is down had not flushed."""
    return flushed is not None and finding.offset is not None and finding.offset >= flushed


def files_of_a_quorum_that_works_are_not_called_broken(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """Power cuts leave what Kafka handles: these are no errors and no warnings. But a node that is
    down may lack pages within the part that it had not flushed. Only its next start cuts them off,
    with everything after them (Kafka: LogSegment.recover). Such holes look like damage to flushed
    and acknowledged records, so they are errors for a reader of the files."""
    if not answers.given.is_whole:
        return
    for member in answers.judged.members:
        node_id, is_well = member.examined.owner.node_id, True
        for one in member.findings:
            is_torn = one.rule in _TORN and _is_unflushed(one, truth.down.get(node_id))
            if one.severity is not Severity.INFO and one.rule.id not in _EXPECTED and not is_torn:
                what = f"node {node_id}: {one.severity} {one.rule.id} in {one.file}: {one.message}"
                yield wrong("check", what)
                is_well = False
        if is_well:
            yield right("check")
    for one in answers.judged.findings:
        if one.severity is not Severity.INFO and one.rule.id not in _EXPECTED:
            yield wrong("check", f"{one.severity} {one.rule.id}: {one.message}")


def voters_are_those_in_force(answers: Answers, truth: Truth) -> Iterator[Statement]:
    """With all disks, the newest voters record is there, committed or not yet."""
    if answers.plan.voters is None:
        yield unknown("recover")
    if not answers.given.is_whole or answers.plan.voters is None:
        return
    known = {frozenset(one.node_id for one in truth.voters)}
    for log_of in answers.group.logs:
        for named in log_of.voter_sets:
            if named.offset >= truth.end_then - 1:
                known.add(frozenset(one.node_id for one in named.voters))
    told = frozenset(one.node_id for one in answers.plan.voters)
    what = f"the voters are {sorted(told)} by recover, {sorted(map(sorted, known))} in truth"
    yield held("recover", is_true=told in known, what=what)


def no_snapshot_of_a_quorum_that_works_is_invalid(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """Each snapshot was compared with the committed log when it was written."""
    for member in answers.judged.members:
        for one in member.verdicts:
            if str(one.validity) == "invalid":
                what = f"node {member.examined.owner.node_id}: {one.id}: {one.broken}"
                yield wrong("check", what)
            else:
                yield right("check") if str(one.validity) == "valid" else unknown("check")


AGAINST_TRUTH: tuple[TruthRule, ...] = (
    what_is_proven_was_committed,
    what_is_superseded_was_never_committed,
    a_safe_plan_goes_on_with_all_that_was_committed,
    no_record_of_which_a_safe_plan_says_never_committed_was,
    what_cannot_have_been_committed_was_not,
    no_disk_that_was_never_changed_is_called_stale,
    no_run_that_is_safe_loses_what_was_committed,
    nothing_committed_is_called_lost,
    files_of_a_quorum_that_works_are_not_called_broken,
    voters_are_those_in_force,
    no_snapshot_of_a_quorum_that_works_is_invalid,
)


def _with_verdict(answers: Answers, verdict: EntryCommitment) -> Iterator[tuple[ReplicaKey, Entry]]:
    for log_of in answers.group.logs:
        ranges = answers.commitment.ranges(log_of.key, verdict)
        for batch in log_of.batches:
            if _touches(ranges, batch):
                yield log_of.key, entry_of(batch)


def _touches(ranges: Ranges, batch: LogBatch) -> bool:
    return any(r.start <= batch.last_offset and batch.base_offset < r.end for r in ranges)


def _rehearsals(answers: Answers) -> Iterator[tuple[str, Rehearsal, ScenarioSafety]]:
    if answers.rehearsed is not None:
        yield "rehearse", answers.rehearsed.rehearsal, answers.rehearsed.answer
    played = answers.rehearsed_plan
    if played is not None and played.rehearsal is not None:
        yield "recover --rehearse", played.rehearsal, played.answer
