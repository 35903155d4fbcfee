"""Rules by which the answers about a simulated cluster agree with what the simulator knows: each is
a function from all answers and the truth to what is wrong, a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from replica.doctor.check.catalogue import files, groups, log
from replica.doctor.check.rule import Finding
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.quorum.recovery import RecoveryDecision
from replica.doctor.rehearsal.runs import ScenarioSafety
from replica.doctor.timeline.causes import ElectionCause
from replica.doctor.timeline.elections import Election
from replica.history.commitment import EntryCommitment
from replica.history.ranges import Ranges
from replica.severity import Severity
from tests.contradictions.answers import Answers
from tests.contradictions.truth import End, Truth, entry_of

TruthRule = Callable[[Answers, Truth], Iterator[str]]


def is_shown(answers: Answers) -> bool:
    """Whether the files show all disks for what they are. A disk that is an older copy shows only
    if another file has a vote or an election of its node in a newer epoch than the disk knows."""
    node_id = answers.given.went_back
    if node_id is None or groups.REPLICA_WENT_BACK.id in answers.between:
        return True
    of_node = next(log for log in answers.group.logs if log.key.node_id == node_id)
    newest = max(
        (one.won.epoch for one in answers.elections if _took_part(one, node_id)), default=0
    )
    return newest > (of_node.known_epoch or 0)


def _took_part(election: Election, node_id: int) -> bool:
    return node_id in (election.won.leader, *election.won.granting)


def what_is_proven_was_committed(answers: Answers, truth: Truth) -> Iterator[str]:
    """Raft keeps what a majority holds: an entry that is proven is in the log when all has
    healed."""
    committed = set(truth.committed.values())
    for key, entry in _with_verdict(answers, EntryCommitment.PROVEN):
        if entry not in committed:
            yield f"{entry} of node {key.node_id} is proven, and was never committed"


def what_is_superseded_was_never_committed(answers: Answers, truth: Truth) -> Iterator[str]:
    """A person who reads it lets the records go."""
    committed = set(truth.committed.values())
    for key, entry in _with_verdict(answers, EntryCommitment.SUPERSEDED):
        if entry in committed:
            yield f"{entry} of node {key.node_id} is superseded, and was committed"


def a_safe_plan_goes_on_with_all_that_was_committed(
    answers: Answers, truth: Truth
) -> Iterator[str]:
    """That is what "safe" means."""
    if answers.plan.answer is RecoveryDecision.SAFE and is_shown(answers):
        lacking = truth.lacks(answers.plan.winner)
        if lacking:
            node_id = answers.plan.winner.key.node_id
            yield f"node {node_id} is safe, and lacks {len(lacking)}: {lacking[0]}"


def no_record_of_which_a_safe_plan_says_never_committed_was(
    answers: Answers, truth: Truth
) -> Iterator[str]:
    """`recover` says of all that others lose: none of them can have been committed."""
    if answers.plan.answer is not RecoveryDecision.SAFE or not is_shown(answers):
        return
    committed = set(truth.committed_then.values())
    for standing in answers.plan.ranking[1:]:
        for batch in standing.log.batches:
            if _touches(standing.at_risk, batch) and entry_of(batch) in committed:
                yield f"node {standing.log.key.node_id} loses committed {entry_of(batch)}"


def what_cannot_have_been_committed_was_not(answers: Answers, truth: Truth) -> Iterator[str]:
    """Above the end of what may be committed, a person may let records go."""
    quorum = None if answers.cluster is None else answers.cluster.quorum
    if quorum is None or not is_shown(answers):
        return
    committed = set(truth.committed_then.values())
    for log_of in answers.group.logs:
        for batch in log_of.batches:
            above = batch.base_offset >= quorum.possible_end
            if log_of.key == quorum.newest and above and entry_of(batch) in committed:
                yield f"{entry_of(batch)} was committed, possible was {quorum.possible_end}"


def no_disk_that_was_never_changed_is_called_stale(answers: Answers, truth: Truth) -> Iterator[str]:
    """A voter that no majority may count makes a quorum that works look lost."""
    quorum = None if answers.cluster is None else answers.cluster.quorum
    if quorum is not None and answers.given.is_whole:
        for voter in quorum.in_doubt(VoterDoubt.STALE):
            yield f"{voter}"


def no_run_that_is_safe_loses_what_was_committed(answers: Answers, truth: Truth) -> Iterator[str]:
    """Also a record of which the directories prove nothing."""
    committed = set(truth.committed_then.values())
    logs = {log.key.node_id: log for log in answers.group.logs}
    for command, rehearsal, answer in _rehearsals(answers):
        if answer is not ScenarioSafety.SAFE or not is_shown(answers):
            continue
        for found in rehearsal.found:
            for fate in found.outcome.fates:
                for batch in logs[fate.node_id].batches:
                    if _touches(fate.lost, batch) and entry_of(batch) in committed:
                        yield f"{command} is safe, and loses {entry_of(batch)}"


def nothing_committed_is_called_lost(answers: Answers, truth: Truth) -> Iterator[str]:
    """The simulator's quorums keep every committed record: who says otherwise invents a loss."""
    if not answers.given.is_whole:
        return
    for finding in answers.judged.findings:
        if finding.rule is groups.COMMITTED_DATA_AT_RISK:
            yield f"check: {finding.message}"
    if answers.plan.answer is RecoveryDecision.REFUSED:
        yield f"recover refuses: {answers.plan.reasons[0]}"
    for command, rehearsal, _ in _rehearsals(answers):
        for found in rehearsal.found:
            if found.outcome.committed_lost:
                yield f"{command} loses {found.outcome.committed_lost}, seed {found.seeds[0]}"


def no_table_says_that_committed_records_were_lost(answers: Answers, truth: Truth) -> Iterator[str]:
    """Nor does the report, which is made of the tables. A disk that went back has lost them."""
    if answers.in_lake is not None:
        back = answers.given.went_back
        for table in ("gold.truncations", "gold.divergence_points"):
            for row in answers.in_lake.tables.get(table, ()):
                is_back = back is not None and back in (row.get("node_id"), _loser(row))
                if row["committed_lost"] and not is_back:
                    yield f"{table}: {row['committed_lost']} committed records lost: {row}"
        for loss in answers.in_lake.report.evidence.losses:
            if loss.committed and {one.node_id for one in loss.replicas} != {back}:
                yield f"report: {loss.committed} committed records lost from {loss.first}"


def _loser(row: Mapping[str, Any]) -> int | None:
    """The node that would truncate its log, in a row of gold.divergence_points."""
    node_id: int | None = row.get("truncating_node")
    return node_id


_EXPECTED = frozenset(
    rule.id
    for rule in (
        groups.LOG_DIVERGENCE,  # a leader without a majority has written on
        files.VOTER_DIRECTORY_ID,  # a voter's disk was wiped
        files.INDEX_BROKEN,  # a power cut tears an index too, and it is rebuilt at the next start
        files.INDEX_MISMATCH,
    )
)

_TORN = (log.CRC_MISMATCH, log.FRAMING, log.ZERO_HOLE, log.OFFSET_GAP)


def _is_unflushed(finding: Finding, flushed: int | None) -> bool:
    """Whether a finding is about entries that a node which is down had not flushed."""
    return flushed is not None and finding.offset is not None and finding.offset >= flushed


def files_of_a_quorum_that_works_are_not_called_broken(
    answers: Answers, truth: Truth
) -> Iterator[str]:
    """Power cuts leave what Kafka copes with: that is no error and no warning. But a node that is
    down may lack pages in the midst of what it had not flushed, and only its next start cuts them
    off, with all behind them (Kafka: LogSegment.recover). Nobody can tell these holes from damage
    to what it had flushed and acknowledged, so they are errors for whoever reads the files."""
    if not answers.given.is_whole:
        return
    for member in answers.judged.members:
        node_id = member.examined.owner.node_id
        for one in member.findings:
            is_torn = one.rule in _TORN and _is_unflushed(one, truth.down.get(node_id))
            if one.severity is not Severity.INFO and one.rule.id not in _EXPECTED and not is_torn:
                yield f"node {node_id}: {one.severity} {one.rule.id} in {one.file}: {one.message}"
    for one in answers.judged.findings:
        if one.severity is not Severity.INFO and one.rule.id not in _EXPECTED:
            yield f"{one.severity} {one.rule.id}: {one.message}"


def who_led_an_epoch_led_it(answers: Answers, truth: Truth) -> Iterator[str]:
    """The simulator saw who appended the epoch's LeaderChange, and where."""
    for election in answers.elections:
        won = election.won
        reign = truth.reigns.get(won.epoch)
        if reign is None:
            yield f"timeline lets {won.leader} win epoch {won.epoch}, which nobody won"
        elif (reign.leader.node_id, reign.start) != (won.leader, won.offset):
            yield f"epoch {won.epoch}: {won} by timeline, {reign} in truth"
    if answers.in_lake is not None:
        for row in answers.in_lake.tables.get("gold.leader_epoch_history", ()):
            reign = truth.reigns.get(row["epoch"])
            if row["leader_id"] is None or reign is None:
                continue
            if row["leader_id"] != reign.leader.node_id:
                yield f"epoch {row['epoch']}: {row['leader_id']} by the table, {reign} in truth"


def no_cause_of_an_election_is_untrue(answers: Answers, truth: Truth) -> Iterator[str]:
    """Better to say that a cause isn't known. Only what a log can show may be said: that a process
    had ended, if it had; that a leader resigned, if it did."""
    for event in answers.events:
        if event.event != "election" or event.cause is None:
            continue
        before = [one for epoch, one in truth.reigns.items() if epoch < event.leader_epoch]
        if not before:
            continue
        former = max(before, key=lambda one: one.epoch)
        began = (
            truth.reigns[event.leader_epoch].began_ms if event.leader_epoch in truth.reigns else 0
        )
        ended = former.ended if former.ended_ms is not None and former.ended_ms <= began else None
        cause = ElectionCause(event.cause)
        told = (
            f"epoch {event.leader_epoch}: {event.cause} ({event.detail}), in truth {former} {ended}"
        )
        restarted = any(
            former.began_ms < at <= began + 60_000 and node == former.leader.node_id
            for at, node in truth.starts
        )
        if cause is ElectionCause.RESTARTED and not restarted:
            yield told
        if cause is ElectionCause.RESIGNED and ended is not End.RESIGNED:
            yield told
        held = (one.batch_at(former.start) for one in answers.group.logs)
        told_of = any(one is not None and one.epoch == former.epoch for one in held)
        if cause is ElectionCause.FIRST and told_of:
            yield told


def voters_are_those_in_force(answers: Answers, truth: Truth) -> Iterator[str]:
    """With every disk there, the newest voters record is there too, committed or not yet."""
    if not answers.given.is_whole or answers.plan.voters is None:
        return
    known = {frozenset(one.node_id for one in truth.voters)}
    for log_of in answers.group.logs:
        for named in log_of.voter_sets:
            if named.offset >= truth.end_then - 1:
                known.add(frozenset(one.node_id for one in named.voters))
    told = frozenset(one.node_id for one in answers.plan.voters)
    if told not in known:
        yield f"the voters are {sorted(told)} by recover, {sorted(map(sorted, known))} in truth"


def the_state_is_that_of_the_committed_log(answers: Answers, truth: Truth) -> Iterator[str]:
    """What check judges, plan answers by and restore writes is a state that the cluster had."""
    cluster = answers.cluster
    if cluster is None or cluster.end_offset not in truth.states:
        return
    if cluster.end_offset > truth.end_then or not answers.given.is_whole:
        return  # a tail that may not be the one that was committed in the end
    ours = _values(cluster.image)
    theirs = _values(truth.states[cluster.end_offset])
    if ours != theirs:
        unlike = [name for name in theirs if ours.get(name) != theirs[name]]
        yield f"the state at {cluster.end_offset} differs in {unlike}"


def the_agreed_branch_is_the_committed_log(answers: Answers, truth: Truth) -> Iterator[str]:
    """Below its proven end the branch holds nothing but what was committed."""
    if answers.branch is None:
        return
    committed = set(truth.committed.values())
    for batch in answers.branch.log.batches:
        if batch.last_offset < answers.branch.proven_end and entry_of(batch) not in committed:
            yield f"{entry_of(batch)} is on the branch below {answers.branch.proven_end}"


def nobody_is_said_to_have_voted_twice(answers: Answers, truth: Truth) -> Iterator[str]:
    """The simulator would have ended the run."""
    for row in answers.rows("gold.votes"):
        if row["is_double"]:
            yield f"node {row['voter_id']} voted twice in epoch {row['epoch']}"


def changes_that_never_took_effect_were_not_committed(
    answers: Answers, truth: Truth
) -> Iterator[str]:
    """Nor is a change proven that was not committed."""
    committed = {
        (offset, one.epoch)
        for one in truth.committed.values()
        for offset in range(one.base, one.last + 1)
    }
    for row in answers.rows("gold.metadata_changes"):
        place = (row["offset"], row["leader_epoch"])
        wrong = {"superseded": place in committed, "proven": place not in committed}
        if wrong.get(row["commitment"]):
            yield f"{row['change']} of {row['name']} at {place} is {row['commitment']}"


def branches_that_timeline_calls_superseded_were_not_committed(
    answers: Answers, truth: Truth
) -> Iterator[str]:
    """What left the branch was never valid."""
    committed = set(truth.committed.values())
    for tail in () if answers.branch is None else answers.branch.tails:
        if answers.branch.commitment(tail.start, tail) == "superseded":
            batch = tail.log.batch_at(tail.start)
            if batch is not None and entry_of(batch) in committed:
                yield f"{entry_of(batch)} left the branch, and was committed"


def no_snapshot_of_a_quorum_that_works_is_invalid(answers: Answers, truth: Truth) -> Iterator[str]:
    """Each was checked against the committed log when it was written."""
    for member in answers.judged.members:
        for one in member.verdicts:
            if str(one.validity) == "invalid":
                yield f"node {member.examined.owner.node_id}: {one.id}: {one.broken}"


def high_watermarks_are_not_above_what_was_committed(
    answers: Answers, truth: Truth
) -> Iterator[str]:
    """It is a lower bound, of records that are committed when all has healed."""
    end = max((one.last + 1 for one in truth.committed.values()), default=0)
    if answers.in_lake is not None:
        for row in answers.in_lake.tables.get("gold.replica_status", ()):
            if row["high_watermark"] is not None and row["high_watermark"] > end:
                yield f"node {row['node_id']} has {row['high_watermark']}, committed is {end}"


TRUTH_RULES: tuple[TruthRule, ...] = (
    what_is_proven_was_committed,
    what_is_superseded_was_never_committed,
    a_safe_plan_goes_on_with_all_that_was_committed,
    no_record_of_which_a_safe_plan_says_never_committed_was,
    what_cannot_have_been_committed_was_not,
    no_disk_that_was_never_changed_is_called_stale,
    no_run_that_is_safe_loses_what_was_committed,
    nothing_committed_is_called_lost,
    no_table_says_that_committed_records_were_lost,
    files_of_a_quorum_that_works_are_not_called_broken,
    who_led_an_epoch_led_it,
    no_cause_of_an_election_is_untrue,
    voters_are_those_in_force,
    the_state_is_that_of_the_committed_log,
    the_agreed_branch_is_the_committed_log,
    nobody_is_said_to_have_voted_twice,
    changes_that_never_took_effect_were_not_committed,
    branches_that_timeline_calls_superseded_were_not_committed,
    no_snapshot_of_a_quorum_that_works_is_invalid,
    high_watermarks_are_not_above_what_was_committed,
)


def _with_verdict(answers: Answers, verdict: EntryCommitment):  # type: ignore[no-untyped-def]
    for log_of in answers.group.logs:
        ranges = answers.commitment.ranges(log_of.key, verdict)
        for batch in log_of.batches:
            if _touches(ranges, batch):
                yield log_of.key, entry_of(batch)


def _touches(ranges: Ranges, batch) -> bool:  # type: ignore[no-untyped-def]
    return any(r.start <= batch.last_offset and batch.base_offset < r.end for r in ranges)


def _rehearsals(answers: Answers):  # type: ignore[no-untyped-def]
    if answers.rehearsed is not None:
        yield "rehearse", answers.rehearsed.rehearsal, answers.rehearsed.answer
    played = answers.rehearsed_plan
    if played is not None and played.rehearsal is not None:
        yield "recover --rehearse", played.rehearsal, played.answer


def _values(image) -> dict:  # type: ignore[no-untyped-def]
    return {name: dict(table.values) for name, table in image.tables.items()}
