"""A recovery plan in words, for `kraftlake recover --plan`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from jobs.cli.directories.offsets_text import (
    NEED,
    losses_text,
    ranges_text,
    snapshot_text,
    static_voters_need,
)
from jobs.cli.directories.recover_brokers import BrokerSteps
from jobs.cli.directories.recover_steps import (
    NO_BROKERS,
    NO_STEPS,
    NOTHING_TO_RECOVER,
    steps_of,
)
from jobs.cli.output import coloured
from replica.doctor.check.examined import Examined
from replica.doctor.check.partition import partition_of
from replica.doctor.health.hosted import HostedReplicas
from replica.doctor.quorum.conditions import late_voters, own_disk_needs
from replica.doctor.quorum.known_voter import ABSENT, NOT_AT_HAND, KnownVoter, VoterDoubt
from replica.doctor.quorum.reasons import RankedReplica
from replica.doctor.quorum.recovery import RecoveryDecision, RecoveryPlan
from replica.doctor.verdict.start_of_voters import StartOfVoters
from replica.history.divergence import Relation
from replica.history.ranges import below, difference
from replica.model.epochs import election_order
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.terminal_text import one_line
from replica.words import counted, named, sentence

_COLOURS = {
    RecoveryDecision.SAFE: "green",
    RecoveryDecision.UNPROVEN: "yellow",
    RecoveryDecision.REFUSED: "red",
}
ANSWERS = {
    RecoveryDecision.SAFE: "no committed record of the metadata log is lost",
    RecoveryDecision.UNPROVEN: "committed records may be lost",
    RecoveryDecision.REFUSED: "start no node: committed records would be lost, or logs conflict",
}
"""The text of each answer about the plan. The cluster itself may be down whatever the answer is."""
NO_RECORD = "no log given here holds a record"
_RELATIONS = {
    Relation.IDENTICAL: "the same log",
    Relation.PREFIX: "the same log, but shorter",
    Relation.DISJOINT: "no common offset",
    Relation.CONFLICT: "in conflict with it",
}
NO_DIRECTORIES: Mapping[int, str] = MappingProxyType({})
_NO_OLD_DISK = "no disk given here was emptied or restored from an older copy"
_OTHERS_GIVEN = (VoterDoubt.OF_ANOTHER_CLUSTER, VoterDoubt.NO_LOG)
_NO_CANDIDATE = "but stands for no election: only voters do"


def describe(
    plan: RecoveryPlan,
    by_key: Mapping[ReplicaKey, Examined],
    of_other_clusters: Mapping[int, str] = NO_DIRECTORIES,
    hosted: HostedReplicas = NO_BROKERS,
    brokers: BrokerSteps = NO_STEPS,
) -> Iterator[str]:
    """The lines: the answer and its reasons, the ranking, and the steps for a person.
    of_other_clusters: the directories of other clusters that were given, by node id. hosted,
    brokers: see steps_of."""
    winner = by_key[plan.winner.key]
    partition = partition_of(winner)
    answer = coloured(_answer(plan, winner), _COLOURS[plan.answer])
    which = "" if partition.is_metadata else f", partition {partition.name}"
    yield f"cluster {winner.owner.cluster_id}{which}: {answer}"
    steps = tuple(steps_of(plan, by_key, hosted, brokers))
    if plan.is_whole:
        yield f"  {NOTHING_TO_RECOVER[0].lower()}{NOTHING_TO_RECOVER[1:]}"
    for reason in plan.reasons:
        yield f"  {reason}"
    if plan.answer is RecoveryDecision.SAFE and plan.has_majority:
        count = len(plan.voters or ())
        there = count - len(plan.missing)
        left = f"the directories of {there} of {counted(count, 'voter')} are here, a majority"
        winners = [str(key.node_id) for key in plan.electable]
        wins = "wins" if len(winners) == 1 else "may win"
        who = f"{'' if len(winners) == 1 else 'each of '}{named('node', winners)}"
        holds = "" if any(_condition(plan)) else ", and holds all that was committed"
        stopped = _stay_stopped(plan)
        while_ = f" while {stopped}" if stopped else ""
        yield f"  {left}: {who} {wins} the election{while_}{holds}"
    yield from (f"  needs: {need}" for need in needs_of(plan))
    stand_ins = next((n for n, step in enumerate(steps, 1) if step.makes_stand_ins), None)
    yield ""
    for rank, standing in enumerate(plan.ranking, start=1):
        yield _headline(rank, standing, by_key[standing.log.key])
        uncounted = (*plan.doubted, *plan.quorum.in_doubt(VoterDoubt.CUT))
        doubts = [voter for voter in uncounted if voter.key.matches(standing.log.key)]
        lines = [
            *(
                _of_winner(plan, stand_ins)
                if rank == 1
                else _of_another(plan, standing, doubts, by_key[standing.log.key])
            ),
            *(voter.why_doubted for voter in doubts),
            *(
                f"step {number} moves it away: the node has another metadata log"
                for number, step in enumerate(steps, 1)
                if standing.log.key in step.moves
            ),
        ]
        yield from (f"      {line}" for line in lines)
    for voter in plan.quorum.in_doubt(*ABSENT):
        told = "its directory was not given"
        if voter.doubt is VoterDoubt.OF_ANOTHER_CLUSTER:
            other = one_line(of_other_clusters[voter.key.node_id])
            told = f"{other} is of another cluster, and no directory of this one was given"
        elif voter.doubt is VoterDoubt.NO_LOG:
            told = voter.why_doubted
        yield f"   -  node {_named(voter.key)}: {told}"
    yield ""
    yield (
        "Nothing was changed. What a person would do; commands with bin/ or config/ run in the "
        "folder of a node's Kafka:"
    )
    for number, step in enumerate(steps, start=1):
        yield f"  {number}. {step.text}"
        yield from (f"       {one_line(command)}" for command in step.commands)


def _stay_stopped(plan: RecoveryPlan) -> str:
    """The nodes that the plan doesn't start, as a clause; "" where it starts all nodes."""
    stopped = [str(one) for one in sorted({voter.key.node_id for voter in plan.doubted})]
    stay = "stays" if len(stopped) == 1 else "stay"
    return f"{named('node', stopped)} {stay} stopped" if stopped else ""


def needs_of(plan: RecoveryPlan) -> Sequence[str]:
    """The conditions of the answer. No file shows whether they hold."""
    is_certain = plan.answer is RecoveryDecision.REFUSED or plan.holds_nothing
    if is_certain:
        return ()
    voters = sorted(voter.node_id for voter in plan.voters or ())
    static = (static_voters_need(voters),) if voters and not plan.is_dynamic else ()
    late = own_disk_needs(late_voters(plan.quorum))
    stopped = (NEED,) if plan.rests_on_copies else ()
    return (*stopped, *_condition(plan), *late, *static)


def _condition(plan: RecoveryPlan) -> Iterator[str]:
    """The condition under which the answer is right, where the directory of a voter was not given:
    no given disk was emptied or restored from an older copy. Only the missing directories could
    show that. Nothing where the plan is neither safe nor rests on the same voters, or where no
    directory is missing."""
    voters = plan.quorum.in_doubt(*NOT_AT_HAND)
    absent = [str(voter.key.node_id) for voter in voters]
    if (plan.answer is RecoveryDecision.SAFE or plan.rests_on_same_voters) and absent:
        kind = "own " * any(voter.doubt in _OTHERS_GIVEN for voter in voters)
        kind = "whole " if any(voter.doubt is VoterDoubt.CUT for voter in voters) else kind
        nodes = named("node", absent)
        whose = f"{kind}directories of {nodes} could show that, and they were"
        if len(absent) == 1:
            whose = f"{kind}directory of {nodes} could show that, and it was"
        yield f"{_NO_OLD_DISK}. Only the {whose} not given"


def _under_condition(plan: RecoveryPlan) -> str:
    """The addition to a sentence that is true only on the condition of the answer; "" where the
    answer has no condition."""
    return ", if the condition above holds" if any(_condition(plan)) else ""


def answer_line(
    plan: RecoveryPlan,
    by_key: Mapping[ReplicaKey, Examined],
    hosted: HostedReplicas = NO_BROKERS,
    brokers: BrokerSteps = NO_STEPS,
) -> str:
    """The answer in one line, which is printed below the cluster's verdict: what to do first, and
    whether committed records are lost, with the first reason or the condition. hosted, brokers: see
    steps_of."""
    answer = _answer(plan, by_key[plan.winner.key])
    if plan.is_whole:
        told = [*_start_of_whole(plan, brokers.voters), answer]
    elif plan.answer is RecoveryDecision.REFUSED:
        told = [": ".join((answer, *plan.reasons[:1]))]
    elif plan.has_majority:
        told = [_start(plan, brokers.voters), answer]
    else:
        first = next(steps_of(plan, by_key, hosted, brokers))
        act = first.act or first.text
        told = [f"first: {act[0].lower()}{act[1:]}"]
        gone = "if these disks are gone, " * bool(first.act and not plan.quorum.is_blocking)
        if plan.quorum.is_blocking:
            told.append(answer)
        else:
            told += [f"{gone}{answer}: {''.join(plan.reasons[:1])}", *_goes_on_with(plan)]
    # the condition goes on with a sentence of its own, which the first line of the plan leaves out
    told += (need.partition(". ")[2] for need in _condition(plan))
    if plan.quorum.is_blocking and not plan.has_majority:
        told += plan.reasons[:1] if plan.answer is not RecoveryDecision.REFUSED else ()
    return " ".join(map(sentence, filter(None, told)))


def _start_of_whole(plan: RecoveryPlan, start: StartOfVoters | None) -> Iterator[str]:
    """What to do if the directories of all voters were given. start: the voters that start by the
    verdict; None if the verdict names none."""
    if start is not None:
        yield start.clause
        return
    yield NOTHING_TO_RECOVER
    if late_voters(plan.quorum):
        yield _in_order(plan, sorted(plan.voters or ()))


def _in_order(plan: RecoveryPlan, voters: Sequence[ReplicaKey]) -> str:
    """The clause that starts these voters: first those whose logs don't end before the newest log,
    because the disks of the others may be older copies."""
    late = {voter.key for voter in late_voters(plan.quorum)}
    first = [str(one.node_id) for one in voters if one not in late]
    then = [str(one.node_id) for one in voters if one in late]
    runs = "unless it runs" if len(first or then) == 1 else "unless they run"
    if not (first and then):
        return f"start {named('node', first or then)}, {runs}"
    return f"start {named('node', first)} first, {runs}, then {named('node', then)}"


def _goes_on_with(plan: RecoveryPlan) -> Iterator[str]:
    """With which log the plan's steps continue, and up to which offset; nothing where no committed
    record is lost, or the log is empty."""
    end = plan.winner.position().offset
    if end and not plan.quorum.is_blocking:
        yield (
            f"the steps below go on with the log of node {plan.winner.key.node_id}, which goes up "
            f"to offset {end - 1}"
        )


def _start(plan: RecoveryPlan, start: StartOfVoters | None) -> str:
    """A clause about a safe plan. It names the nodes that the plan starts, and the nodes that stay
    stopped. start: the voters that start by the verdict; None if the verdict names none."""
    known = (*sorted(plan.voters or ()), *(voter.key for voter in plan.quorum.leaving))
    doubted = {voter.key for voter in plan.doubted}
    left = [one for one in known if one not in plan.missing and one not in doubted]
    told = _in_order(plan, left) if start is None else start.clause
    stopped = _stay_stopped(plan)
    return f"{told}; {stopped}" if stopped else told


def _answer(plan: RecoveryPlan, winner: Examined) -> str:
    """The answer in words, with its conditions."""
    answer = NO_RECORD if plan.holds_nothing else ANSWERS[plan.answer]
    if plan.rests_on_same_voters:
        answer = ANSWERS[RecoveryDecision.SAFE]
    if not partition_of(winner).is_metadata:
        answer = answer.replace("the metadata log", "this log")
    found = [answer, *(_NO_OLD_DISK for _ in _condition(plan))]
    if plan.rests_on_same_voters:
        found.append(f"no voter was added or removed after offset {plan.quorum.log_end - 1}")
    late = [str(voter.key.node_id) for voter in late_voters(plan.quorum)]
    if plan.answer is RecoveryDecision.SAFE and late:
        starts = "starts with its own disk" if len(late) == 1 else "start with their own disks"
        found.append(f"{named('node', late)} {starts}")
    conditions = " and ".join(found[1:])
    return f"{answer}, if {conditions}" if conditions else answer


def _headline(rank: int, standing: RankedReplica, examined: Examined) -> str:
    log, position = standing.log, standing.log.position()
    kind = {True: "voter", False: "no voter", None: "voter or not is unknown"}[standing.is_voter]
    head = f"  {rank:2}  {one_line(examined.shown)}: node {_named(log.key)}, {kind}"
    if not position.offset:
        return f"{head}, no records"
    return f"{head}, last epoch {position.epoch}, log end {position.offset}"


def _of_winner(plan: RecoveryPlan, stand_ins: int | None) -> Iterator[str]:
    """How the quorum continues with the winner's log. stand_ins: the number of the step that copies
    the log; None where no step does."""
    if plan.leader is not None and plan.answer is RecoveryDecision.REFUSED:
        yield "would be among the leaders that an election may give, if the nodes were started"
        return
    if plan.leader is not None:
        others = [str(key.node_id) for key in plan.electable[1:]]
        if not others:
            yield "wins the election: no other voter that is left gets a majority of the votes"
            return
        yield f"may win the election, and so may {named('node', others)}"
        yield from _if_another_wins(plan, plan.ranking[0])
        return
    if plan.ranking[0].is_voter is not False:
        yield "is the newest log; without a majority nobody can be elected"
        return
    yield f"is the newest log, {_NO_CANDIDATE}"
    if plan.on_no_voter:
        yield f"offsets {ranges_text(plan.on_no_voter)} are on no voter here"
        counts = plan.on_no_voter_counts
        perhaps = ": voters that are gone may have committed the unknown ones"
        yield f"of these {losses_text(counts)}{perhaps if counts.unproven else ''}"
    if stand_ins is not None:
        yield (
            f"step {stand_ins} gives its log to those who stand in for lost voters, and so to the "
            "quorum"
        )


def _of_another(
    plan: RecoveryPlan, standing: RankedReplica, doubts: Sequence[KnownVoter], examined: Examined
) -> Iterator[str]:
    """Sentences about a log that is not chosen: what it loses, and what Kafka does to it. doubts:
    the log's voter, if the voter's disk is in doubt. examined: the log's directory."""
    if not standing.at_risk:
        relation = standing.relation or Relation.IDENTICAL
        is_late = any(one.key.matches(standing.log.key) for one in late_voters(plan.quorum))
        told = _RELATIONS.get(relation, "an older branch, wholly behind its snapshot")
        if not standing.log.end_offset:
            told = "holds no records"
        if examined.hides_entries:
            yield f"{told}, as far as it can be read: nobody knows what the rest held"
        elif not standing.log.end_offset and (doubts or is_late):
            yield told
        elif doubts or is_late:
            yield f"{told}: the first log has all records that it holds now"
        else:
            yield told if standing.may_lose else f"{told}: loses nothing"
        yield from _if_another_wins(plan, standing)
        return
    ahead = election_order(standing.log.position()) > election_order(plan.winner.position())
    if ahead and standing.is_voter is False:
        yield f"is newer, {_NO_CANDIDATE}"
    if standing.relation is Relation.CONFLICT:
        yield from _in_conflict(standing)
        return
    yield f"loses offsets {ranges_text(standing.at_risk)}"
    never = plan.answer is RecoveryDecision.SAFE
    yield f"of these {losses_text(standing.lost)}" + (
        "; none of them can have been committed, so no broker has applied them"
        f"{_under_condition(plan)}"
        if never
        else ""
    )
    if plan.answer is not RecoveryDecision.REFUSED:
        yield f"{_fate(plan, standing)}. No action needed; keep a copy."


def _in_conflict(standing: RankedReplica) -> Iterator[str]:
    """What Kafka would do to a log that has other records than the first log in the same epoch.
    Kafka compares only the offsets at which epochs end. So it keeps such records below the smaller
    end of that epoch, and truncates only those from this end on."""
    end = standing.log.end_offset
    end = end if standing.truncates_to is None else min(end, standing.truncates_to)
    kept = () if standing.snapshot_id is not None else below(standing.at_risk, end)
    if kept:
        yield (
            f"holds other records than the first log at offsets {ranges_text(kept)}: Kafka would "
            "keep them below the first log's newer ones, and not notice"
        )
    lost = difference(standing.at_risk, kept)
    if lost:
        yield f"would lose offsets {ranges_text(lost)}, if it followed the first log"


def _if_another_wins(plan: RecoveryPlan, standing: RankedReplica) -> Iterator[str]:
    """Which records a replica loses if a voter other than the first of the ranking wins; no text
    where it loses none."""
    if standing.may_lose:
        never = plan.answer is RecoveryDecision.SAFE
        yield f"loses offsets {ranges_text(standing.may_lose)} if a voter without them wins" + (
            f": each that may win holds all that was committed{_under_condition(plan)}"
            if never
            else ""
        )


def _fate(plan: RecoveryPlan, standing: RankedReplica) -> str:
    """What Kafka does to a log with records that the winner's log lacks."""
    node = plan.winner.key.node_id
    when = f"as it follows node {node}"
    if plan.leader is None:
        when = f"once it follows a leader with the log of node {node}"
    if standing.snapshot_id is not None:
        snapshot = snapshot_text(standing.snapshot_id)
        return f"{when}, Kafka replaces its log by snapshot {snapshot}"
    return f"{when}, Kafka truncates its log to offset {standing.truncates_to}"


def _named(key: ReplicaKey) -> str:
    node_id = str(key.node_id)
    return node_id if key.directory_id == ZERO_UUID else f"{node_id} ({key.directory_id})"
