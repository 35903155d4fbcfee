"""Rules by which the statements of timeline, plan and the state about a simulated cluster agree
with what the simulator knows (see tests.contradictions.against_truth)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from replica.doctor.health.exposure import NOW
from replica.doctor.preflight.answer import ChangeSafety
from replica.doctor.timeline.causes import ElectionCause
from replica.doctor.timeline.event import Event
from replica.metadata.image.partition import Partition
from replica.model.keys import NO_NODE
from tests.contradictions.against_truth import TruthRule
from tests.contradictions.answers import Answers
from tests.contradictions.statements import Statement, held, right, unknown
from tests.contradictions.truth import End, Reign, Truth, entry_of


def who_led_an_epoch_led_it(answers: Answers, truth: Truth) -> Iterator[Statement]:
    """The simulator saw which node appended the epoch's LeaderChange, and where."""
    for election in answers.elections:
        won = election.won
        reign = truth.reigns.get(won.epoch)
        led = None if reign is None else (reign.leader.node_id, reign.start)
        what = f"epoch {won.epoch}: {won} by timeline, {reign} in truth"
        yield held("timeline", is_true=led == (won.leader, won.offset), what=what)
    told = {election.won.epoch for election in answers.elections}
    yield unknown("timeline", len(truth.reigns.keys() - told))
    for row in answers.rows("gold.leader_epoch_history"):
        reign = truth.reigns.get(row["epoch"])
        if row["leader_id"] is None or reign is None:
            yield unknown("gold.leader_epoch_history")
            continue
        what = f"epoch {row['epoch']}: {row['leader_id']} by the table, {reign} in truth"
        is_true = row["leader_id"] == reign.leader.node_id
        yield held("gold.leader_epoch_history", is_true=is_true, what=what)


def no_cause_of_an_election_is_untrue(answers: Answers, truth: Truth) -> Iterator[Statement]:
    """An unknown cause is better than an untrue one. A command may only say what a log can show:
    that a process had ended, if it had; that a leader resigned, if it did."""
    for event in answers.events:
        if event.event != "election":
            continue
        if event.cause is None or event.cause == ElectionCause.UNKNOWN.value:
            yield unknown("timeline")
            continue
        before = [one for epoch, one in truth.reigns.items() if epoch < event.leader_epoch]
        if before:
            former = max(before, key=lambda one: one.epoch)
            yield _cause(event, former, answers, truth)


def _cause(event: Event, former: Reign, answers: Answers, truth: Truth) -> Statement:
    """The statement about one election. former: the leader before it. The truth doesn't show
    whether a leader was silent, cut off or removed, so these causes aren't counted."""
    reign = truth.reigns.get(event.leader_epoch)
    began = 0 if reign is None else reign.began_ms
    has_ended = former.ended_ms is not None and former.ended_ms <= began
    ended = former.ended if has_ended else None
    what = f"epoch {event.leader_epoch}: {event.cause} ({event.detail}), in truth {former} {ended}"
    cause = ElectionCause(event.cause)
    if cause is ElectionCause.RESTARTED:
        restarted = any(
            former.began_ms < at <= began + 60_000 and node == former.leader.node_id
            for at, node in truth.starts
        )
        return held("timeline", is_true=restarted, what=what)
    if cause is ElectionCause.RESIGNED:
        return held("timeline", is_true=ended is End.RESIGNED, what=what)
    if cause is ElectionCause.FIRST:
        batches = (one.batch_at(former.start) for one in answers.group.logs)
        told_of = any(one is not None and one.epoch == former.epoch for one in batches)
        return held("timeline", is_true=not told_of, what=what)
    if cause is ElectionCause.WENT_BACK:
        return held("timeline", is_true=_voter_lost_records(event, answers), what=what)
    return right("timeline", 0)


def _voter_lost_records(event: Event, answers: Answers) -> bool:
    """Whether a voter that granted its vote had shown records that it lacks now. A node that runs
    while its directory is copied shows records that it hasn't synced, and may lose them."""
    now = {log.key: log for log in answers.group.logs}
    granting = {
        node_id
        for one in answers.elections
        if one.won.epoch == event.leader_epoch
        for node_id in one.won.granting
    }
    return any(
        batch.base_offset >= now[key].log_start and batch not in now[key].batches
        for logs in answers.earlier
        for key, log in logs.items()
        if key in now and key.node_id in granting
        for batch in log.batches
    )


def the_state_is_that_of_the_committed_log(answers: Answers, truth: Truth) -> Iterator[Statement]:
    """The state that check judges, that plan uses and that restore writes is a state that the
    cluster had."""
    by, cluster = "check, plan, restore", answers.cluster
    if cluster is None or cluster.end_offset not in truth.states:
        yield unknown(by)
        return
    if cluster.end_offset > truth.end_then or not answers.given.is_whole:
        return  # a tail that may not be the tail that was committed in the end
    ours = _values(cluster.image)
    theirs = _values(truth.states[cluster.end_offset])
    unlike = [name for name in theirs if ours.get(name) != theirs[name]]
    what = f"the state at {cluster.end_offset} differs in {unlike}"
    yield held(by, is_true=ours == theirs, what=what)


def partitions_without_leader_are_those_of_the_truth(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """Nobody can write to partitions without a leader. check and the exposure count them, and plan
    says whether a stop leaves more of them."""
    cluster, now = answers.cluster, answers.exposure(NOW)
    if cluster is None or now is None or cluster.end_offset not in truth.states:
        return
    if cluster.end_offset > truth.end_then or not answers.given.is_whole:
        return
    tables = _values(truth.states[cluster.end_offset])
    down = {key for key, fields in tables["brokers"].items() if fields["fenced"]}
    partitions = tables["partitions"].values()
    leaderless = _leaderless(partitions, down, ())
    what = f"{now.harm.leaderless} partitions without leader, in truth {leaderless}"
    yield held("state --exposure", is_true=now.harm.leaderless == leaderless, what=what)
    for ids, stop in answers.stops.items():
        if stop.answer is ChangeSafety.UNKNOWN:
            yield unknown("plan")
        elif stop.answer is ChangeSafety.SAFE:
            left = _leaderless(partitions, down, ids)
            what = f"stop of {list(ids)} is safe, and leaves {left} without leader"
            yield held("plan", is_true=left <= leaderless, what=what)


def _leaderless(
    partitions: Collection[Partition], down: Collection[int], stopped: Collection[int]
) -> int:
    """The number of partitions without a leader once these brokers are stopped. The controller
    chooses a replica of the ISR that is up."""
    gone = {*down, *stopped}
    return sum(
        one.leader == NO_NODE
        or (one.leader in stopped and not any(broker not in gone for broker in one.isr))
        for one in partitions
    )


def the_agreed_branch_is_the_committed_log(answers: Answers, truth: Truth) -> Iterator[Statement]:
    """The branch holds only committed records below its proven end."""
    if answers.branch is None:
        return
    committed = set(truth.committed.values())
    for batch in answers.branch.log.batches:
        if batch.last_offset < answers.branch.proven_end:
            what = f"{entry_of(batch)} is on the branch below {answers.branch.proven_end}"
            yield held("timeline", is_true=entry_of(batch) in committed, what=what)
        else:
            yield unknown("timeline")


def branches_that_timeline_calls_superseded_were_not_committed(
    answers: Answers, truth: Truth
) -> Iterator[Statement]:
    """A record that left the branch was never valid."""
    committed = set(truth.committed.values())
    for tail in () if answers.branch is None else answers.branch.tails:
        if answers.branch.commitment(tail.start, tail) != "superseded":
            yield unknown("timeline")
            continue
        batch = tail.log.batch_at(tail.start)
        if batch is not None:
            what = f"{entry_of(batch)} left the branch, and was committed"
            yield held("timeline", is_true=entry_of(batch) not in committed, what=what)


HISTORY_AGAINST_TRUTH: tuple[TruthRule, ...] = (
    who_led_an_epoch_led_it,
    no_cause_of_an_election_is_untrue,
    the_state_is_that_of_the_committed_log,
    partitions_without_leader_are_those_of_the_truth,
    the_agreed_branch_is_the_committed_log,
    branches_that_timeline_calls_superseded_were_not_committed,
)


def _values(image: Any) -> Mapping[str, dict[Any, Any]]:
    return {name: dict(table.values) for name, table in image.tables.items()}
