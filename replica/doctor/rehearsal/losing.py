"""Searches for the smallest set of failures that loses committed records. A failure is a voter that
is dead, or whose disk comes back empty.

Not every set has to be run. If the remaining voters hold all committed records, then records are
lost only by an election in which an empty disk votes. Only a static quorum has such elections: in a
dynamic quorum, the log names the voters, and a replica with an empty disk is not a voter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

from replica.doctor.rehearsal.captured import CapturedNode, CapturedQuorum
from replica.doctor.rehearsal.outcome import rehearse
from replica.doctor.rehearsal.step import Scenario, ScenarioStep
from replica.history.commitment import EntryCommitment
from replica.history.divergence import compare
from replica.history.log import OffsetRange
from replica.history.ranges import Ranges, difference, union
from replica.history.voters import is_voter


@dataclass(frozen=True, slots=True)
class LosingRun:
    """A run in which committed records are lost."""

    scenario: Scenario
    """The scenario, whose only step is the failures."""
    seed: int
    """The seed of the run."""
    leader: int | None
    """The id of the node that leads without the records; None if no node leads, and no remaining
    voter holds the records."""
    lost: Ranges
    """The offsets of the lost records, which are proven to be committed."""


@dataclass(frozen=True, slots=True)
class PossibleLoss:
    """Failures after which records that may have been committed are on no captured voter."""

    step: ScenarioStep
    """The failures."""
    lost: Ranges
    """The offsets of the lost records, which may have been committed."""


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search."""

    loss: LosingRun | None
    """The first loss that was found, which has the fewest failures; None if no set of up to `bound`
    failures loses a record that is proven committed."""
    may_lose: PossibleLoss | None
    """The first possible loss that was found before `loss`; None if there was none."""
    bound: int
    sets: int
    """The number of sets that were tried."""
    seeds: range
    """The seeds with which each set was run."""


def smallest_loss(
    captured: CapturedQuorum,
    bound: int,
    seeds: range,
    show: Callable[[ScenarioStep], None] = lambda step: None,
) -> Search:
    """Try sets of up to `bound` failures, the smaller ones first, until one loses records or all
    are tried. show: a function that is called with each set before it is tried."""
    sets, may_lose = 0, None
    for step in _failures(captured, bound):
        sets += 1
        show(step)
        loss = _loss(captured, step, seeds)
        if loss is not None:
            return Search(loss, may_lose, bound, sets, seeds)
        if may_lose is None:
            failed = {*step.dead, *step.empty}
            gone = _held_by_no_voter(captured, failed, EntryCommitment.UNPROVEN)
            may_lose = PossibleLoss(step, gone) if gone else None
    return Search(None, may_lose, bound, sets, seeds)


def _failures(captured: CapturedQuorum, bound: int) -> Iterator[ScenarioStep]:
    """All sets of failures, ordered by their size, then by the number of their empty disks."""
    voters = [voter_id for voter_id in captured.voters.ids if voter_id in captured.nodes]
    for size in range(min(bound, len(voters)) + 1):
        kinds = sorted(product((False, True), repeat=size), key=sum)
        for empties in kinds:
            for failed in combinations(voters, size):
                marked = tuple(zip(failed, empties, strict=True))
                dead = tuple(node_id for node_id, is_empty in marked if not is_empty)
                empty = tuple(node_id for node_id, is_empty in marked if is_empty)
                yield ScenarioStep(dead=dead, empty=empty)


def _loss(captured: CapturedQuorum, step: ScenarioStep, seeds: range) -> LosingRun | None:
    scenario = Scenario((step,))
    gone = _held_by_no_voter(captured, {*step.dead, *step.empty})
    forgets = captured.is_static and bool(step.empty)
    if not (gone or forgets):
        return None
    for seed in seeds:
        outcome = rehearse(captured, scenario, seed).outcome
        if outcome.committed_lost:
            return LosingRun(scenario, seed, outcome.leader, outcome.committed_lost)
        if outcome.leader is None and gone:
            return LosingRun(scenario, seed, None, gone)
    return None


def _held_by_no_voter(
    captured: CapturedQuorum,
    failed: set[int],
    commitment: EntryCommitment = EntryCommitment.PROVEN,
) -> Ranges:
    """The offsets with this commitment that no captured voter holds any more. A voter has the
    records below its log start in a snapshot, so they count as held."""
    left = [
        node
        for node_id, node in captured.nodes.items()
        if node_id not in failed and is_voter(captured.voters.keys, node.key)
    ]
    return union(
        *(
            difference(
                captured.commitment.ranges(node.key, commitment),
                union(*(_shared(node, other) for other in left)),
            )
            for node in captured.nodes.values()
        )
    )


def _shared(node: CapturedNode, other: CapturedNode) -> Ranges:
    below_start = (OffsetRange(0, other.log.log_start),)
    return union(compare(other.log, node.log).ranges(same=True), below_start)
