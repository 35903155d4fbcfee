"""A recovery plan in words, for `kraftlake recover --plan`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from jobs.output import coloured, counted, one_line
from replica.check.examined import Examined
from replica.check.partition import partition_of
from replica.history.divergence import Relation
from replica.history.recovery import Answer, RecoveryPlan, Standing
from replica.types import ZERO_UUID, ReplicaKey

_records = partial(counted, noun="record")

_COLOURS = {Answer.SAFE: "green", Answer.UNPROVEN: "yellow", Answer.REFUSED: "red"}
_RELATIONS = {
    Relation.IDENTICAL: "the same log",
    Relation.PREFIX: "the same log, but shorter",
    Relation.DISJOINT: "no common offset",
    Relation.CONFLICT: "in conflict with it",
}


def describe(plan: RecoveryPlan, by_key: Mapping[ReplicaKey, Examined]) -> Iterator[str]:
    """Lines: the answer and why, the ranking, and the steps that a person would take."""
    replica = by_key[plan.winner.key].replica
    assert replica is not None, "plans are made for known replicas"
    answer = coloured(plan.answer.value, _COLOURS[plan.answer])
    partition = partition_of(by_key[plan.winner.key])
    which = "" if partition.is_metadata else f", partition {partition.name}"
    yield f"cluster {replica.cluster_id}{which}: {answer}"
    for reason in plan.reasons:
        yield f"  {reason}"
    if plan.answer is Answer.SAFE:
        yield f"  {_left(plan)}, and node {plan.winner.key.node_id} holds all that was committed"
    yield ""
    for rank, standing in enumerate(plan.ranking, start=1):
        yield from _standing(rank, standing, by_key[standing.log.key], plan.answer)
    for voter in sorted(plan.missing):
        yield f"   -  node {_named(voter)}: not here, or not to be relied on"
    yield ""
    yield "Nothing was changed. What a person would do:"
    for number, step in enumerate(_steps(plan, by_key), start=1):
        yield f"  {number}. {step}"


def _standing(rank: int, standing: Standing, examined: Examined, answer: Answer) -> Iterator[str]:
    log, position = standing.log, standing.log.position()
    kind = {True: "voter", False: "no voter", None: "voter or not is unknown"}[standing.is_voter]
    head = f"  {rank:2}  {one_line(examined.shown)}: node {_named(log.key)}, {kind}"
    yield f"{head}, last epoch {position.epoch}, log end {position.offset}"
    if standing.relation is None:
        yield "      would win the election"
    elif not standing.at_risk:
        told = _RELATIONS.get(standing.relation, "an older branch, wholly behind its snapshot")
        yield f"      {told}: loses nothing"
    for each in standing.at_risk:
        count = each.size
        yield f"      loses offsets {each.start} to {each.end - 1} ({_records(count)})"
    if standing.at_risk:
        lost = standing.lost
        yield (
            f"      of these {lost.committed} proven committed, {lost.superseded} superseded, "
            f"{lost.unproven} unproven"
            + ("; none of them can have been committed" if answer is Answer.SAFE else "")
        )


def _steps(plan: RecoveryPlan, by_key: Mapping[ReplicaKey, Examined]) -> Iterator[str]:
    yield "Stop every controller, and keep a copy of each directory named above."
    winner = by_key[plan.winner.key]
    if plan.answer is Answer.REFUSED:
        yield (
            "Start none of them before it is known which history is right: `kraftlake diff` shows "
            "both branches, `kraftlake check` what is damaged."
        )
        return
    if plan.has_majority:
        yield "Start the voters above with their directories as they are: they elect a leader."
        if plan.missing:
            names = ", ".join(_named(voter) for voter in sorted(plan.missing))
            yield (
                f"Replace node {names} by a freshly formatted one afterwards; where voters have "
                "directory ids, by kafka-metadata-quorum remove-controller and add-controller."
            )
        return
    yield (
        "Try to bring back a voter that is missing, with its old disk: a majority can't have "
        "forgotten anything."
    )
    if plan.voters is None:
        yield "Otherwise find out who the voters are: controller.quorum.voters, or a snapshot."
        return
    yield from _without_majority(plan, winner)


def _without_majority(plan: RecoveryPlan, winner: Examined) -> Iterator[str]:
    """Kafka has no command for it: a voter is its node id and directory id, so a copy of the best
    log under both stands in for a voter that is gone."""
    yield (
        "Otherwise accept that what only they held is lost. Onto a fresh disk for each of the "
        f"nodes below, copy {one_line(winner.shown)}, but not its quorum-state (a vote is nobody "
        "else's), and the meta.properties of its log directory, with these changes:"
    )
    for voter in sorted(plan.missing):
        has_directory = voter.directory_id != ZERO_UUID
        directory = f" and directory.id={voter.directory_id}" if has_directory else ""
        yield f"for node {voter.node_id}: node.id={voter.node_id}{directory}"
    yield (
        "Start all of them, and restart the brokers: they may have seen records that are lost now. "
        "Compare the topics with what brokers hold before clients are let in."
    )


def _left(plan: RecoveryPlan) -> str:
    count = len(plan.voters or ())
    return f"{count - len(plan.missing)} of {count} voters are left, a majority"


def _named(key: ReplicaKey) -> str:
    node_id = str(key.node_id)
    return node_id if key.directory_id == ZERO_UUID else f"{node_id} ({key.directory_id})"
