"""The steps of a recovery plan played in the simulator; the outcome is compared with the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.cli.directories.offsets_text import ranges_text, snapshot_text
from jobs.cli.directories.recover_steps import steps_of
from jobs.cli.directories.rehearsed import rehearsed_quorum
from replica.doctor.check.examined import Examined
from replica.doctor.check.known_quorum import EarlierRounds
from replica.doctor.check.partition import partition_of
from replica.doctor.quorum.reasons import RankedReplica
from replica.doctor.quorum.recovery import RecoveryDecision, RecoveryPlan
from replica.doctor.rehearsal.outcome import Fate, Outcome
from replica.doctor.rehearsal.runs import (
    OutcomeRuns,
    Rehearsal,
    ScenarioSafety,
    judge,
    rehearse_all,
)
from replica.doctor.rehearsal.step import Scenario, ScenarioStep
from replica.format.formatted import FormattedDirectory
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.terminal_text import one_line
from replica.words import counted, named, up_to

_ANSWERS = {
    ScenarioSafety.SAFE: "each elects a leader, and loses nothing committed",
    ScenarioSafety.UNSAFE: "some lose committed records, or elect no leader",
    ScenarioSafety.UNKNOWN: "they don't show all that may happen",
}


@dataclass(frozen=True, slots=True)
class RehearsedPlan:
    """A recovery plan and its rehearsal."""

    plan: RecoveryPlan
    rehearsal: Rehearsal | None
    """The rehearsal; None where nothing could be simulated."""
    answer: ScenarioSafety
    """How safe the plan is, as far as the runs showed it."""
    reasons: tuple[str, ...]
    """A sentence for each reason why the answer isn't SAFE, or the reason why nothing was
    simulated."""

    @property
    def is_safe(self) -> bool:
        """Whether every run found a leader and lost no committed record."""
        return self.answer is ScenarioSafety.SAFE

    def lines(self) -> Iterator[str]:
        """The answer, and how each outcome compares with the plan."""
        yield ""
        rehearsal = self.rehearsal
        if rehearsal is None:
            yield one_line(f"Nothing was rehearsed: {self.reasons[0]}")
            return
        runs = counted(len(rehearsal.seeds), "run")
        yield f"The steps rehearsed, {runs}: {_ANSWERS[self.answer]}"
        yield from (one_line(f"  {reason}") for reason in self.reasons)
        for found in rehearsal.outcomes:
            yield from (one_line(f"  {line}") for line in _compared(self.plan, found))

    def row(self, key: ReplicaKey) -> dict[str, Any]:
        """The fields of `--json` about one replica of the ranking."""
        found = () if self.rehearsal is None else self.rehearsal.outcomes
        standing = next(s for s in self.plan.ranking if s.log.key == key)
        return {
            "runs": sum(len(one.seeds) for one in found),
            "answer": self.answer.value,
            "reasons": list(self.reasons),
            "leads": sum(len(one.seeds) for one in found if one.outcome.leader == key.node_id),
            "as_predicted": sum(
                len(one.seeds)
                for one in found
                if not [*_differences(self.plan, standing, one.outcome)]
            ),
        }


def rehearse_plan(
    plan: RecoveryPlan,
    by_key: Mapping[ReplicaKey, Examined],
    seeds: range,
    earlier: EarlierRounds | None = None,
    formatted: Sequence[FormattedDirectory] = (),
) -> RehearsedPlan:
    """Simulates the plan's steps on the replicas, in a run for each seed. Nothing is written.
    earlier: earlier captures of the replicas. formatted: log directories without a metadata log."""
    winner = by_key[plan.winner.key]
    if not partition_of(winner).is_metadata:
        reason = "a rehearsal is of a metadata log alone"
        return RehearsedPlan(plan, None, ScenarioSafety.UNKNOWN, (reason,))
    steps = tuple(play for step in steps_of(plan, by_key) for play in step.plays)
    if not steps:
        reason = "no step of this plan starts a replica, so there is nothing to play"
        return RehearsedPlan(plan, None, ScenarioSafety.UNKNOWN, (reason,))
    rehearsed = rehearsed_quorum(list(by_key.values()), earlier, formatted)
    rehearsal = rehearse_all(rehearsed.captured, Scenario(steps), seeds)
    unproven = plan.reasons if plan.answer is RecoveryDecision.UNPROVEN else ()
    answer, reasons = judge(rehearsal, (*unproven, *rehearsed.doubts), rehearsed.refusals)
    return RehearsedPlan(plan, rehearsal, answer, reasons)


def recommended_start(
    plan: RecoveryPlan, by_key: Mapping[ReplicaKey, Examined]
) -> ScenarioStep | None:
    """The start of nodes with which the steps of a safe plan begin; None where the steps start no
    nodes, or the plan isn't safe."""
    if plan.answer is not RecoveryDecision.SAFE or not plan.has_majority:
        return None
    return next((play for step in steps_of(plan, by_key) for play in step.plays), None)


def _compared(plan: RecoveryPlan, found: OutcomeRuns) -> Iterator[str]:
    runs = f"{counted(len(found.seeds), 'run')}, such as seed {found.seeds[0]}"
    lines = [
        line for standing in plan.ranking for line in _differences(plan, standing, found.outcome)
    ]
    yield f"{runs}: {'otherwise than planned' if lines else 'as planned'}"
    yield from (f"  {line}" for line in lines)


def _differences(plan: RecoveryPlan, standing: RankedReplica, outcome: Outcome) -> Iterator[str]:
    """The differences, for one replica, between an outcome and the plan for the case that the
    outcome's leader wins."""
    node_id = standing.log.key.node_id
    winner = next((key for key in plan.electable if key.node_id == outcome.leader), None)
    if winner is not None:
        standing = next(one for one in plan.led_by[winner] if one.log is standing.log)
    elif plan.leader is standing.log:
        who = "nobody leads" if outcome.leader is None else f"node {outcome.leader} leads"
        may = named("node", [str(key.node_id) for key in plan.electable])
        yield f"{who}; planned was that one of {may} does"
    fate = next((fate for fate in outcome.fates if fate.node_id == node_id), None)
    if fate is None:
        yield f"node {node_id} does not run at the end"
    elif not fate.has_new_disk:
        yield from _fate_differences(standing, fate)


def _fate_differences(standing: RankedReplica, fate: Fate) -> Iterator[str]:
    end = standing.log.end_offset
    planned = _log_text(standing.truncates_to, end, standing.snapshot_id)
    truncated = None if fate.truncated is None else fate.truncated.start
    came = _log_text(truncated, end, fate.replaced_by)
    if came != planned:
        yield f"node {fate.node_id} has {came}, planned was {planned}"
    if fate.lost != standing.at_risk:
        lost = f"offsets {ranges_text(fate.lost)}" if fate.lost else "nothing"
        risk = f"offsets {ranges_text(standing.at_risk)}" if standing.at_risk else "nothing"
        yield f"node {fate.node_id} loses {lost}, planned was {risk}"


def _log_text(truncates_to: int | None, end: int, snapshot: OffsetAndEpoch | None) -> str:
    """What is left of a log that ended at `end` (exclusive). truncates_to: the offset to which it
    is truncated; None where it isn't. snapshot: the snapshot that replaces it; None where none
    does."""
    if snapshot is not None:
        return f"snapshot {snapshot_text(snapshot)} in the place of its log"
    return f"its log {up_to(end if truncates_to is None else truncates_to)}"
