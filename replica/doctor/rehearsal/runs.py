"""Makes many runs of one scenario, counts their outcomes, and judges whether the scenario is
safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from replica.doctor.quorum.known_voter import MAY_HAVE_LOST, KnownVoter, VoterDoubt
from replica.doctor.rehearsal.captured import CapturedQuorum
from replica.doctor.rehearsal.outcome import Outcome, rehearse
from replica.doctor.rehearsal.step import Scenario
from replica.history.ranges import Ranges
from replica.words import named

_PERHAPS_COMMITTED = "which may have been committed"


class ScenarioSafety(Enum):
    """How safe a scenario is, as its runs showed. The values are those of `kraftlake plan`."""

    SAFE = "safe"
    """All runs elect a leader, and lose no committed record."""
    UNSAFE = "unsafe"
    """At least one run loses a record that is proven to be committed, or ends without a leader. Or
    each run loses records that may have been committed. Or the directories hold logs that Raft
    never produces."""
    UNKNOWN = "unknown"
    """The directories don't hold enough information for an answer."""


@dataclass(frozen=True, slots=True)
class OutcomeRuns:
    """The runs that have the same outcome."""

    outcome: Outcome
    seeds: tuple[int, ...]
    """The seeds of the runs with this outcome, ascending."""
    epochs: tuple[int, int] | None
    """The lowest and the highest epoch of the leaders at the end; None without a leader."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The result of all runs."""

    captured: CapturedQuorum
    scenario: Scenario
    seeds: range
    """The seeds of the runs."""
    outcomes: tuple[OutcomeRuns, ...]
    """Every outcome, the most frequent first."""

    @property
    def leaders(self) -> tuple[tuple[int | None, int], ...]:
        """(node id, the number of runs at whose end the node leads), the most frequent first. The
        node id is None for runs without a leader."""
        counts: Counter[int | None] = Counter()
        for found in self.outcomes:
            counts[found.outcome.leader] += len(found.seeds)
        return tuple(counts.most_common())

    def runs_of(self, is_so: Callable[[Outcome], bool]) -> int:
        """The number of runs for whose outcome `is_so` returns True."""
        return sum(len(found.seeds) for found in self.outcomes if is_so(found.outcome))


def rehearse_all(
    captured: CapturedQuorum,
    scenario: Scenario,
    seeds: range,
    show: Callable[[int], None] = lambda seed: None,
) -> Rehearsal:
    """Make a run for every seed. show: a function that is called with each seed before its run."""
    runs: dict[Outcome, list[tuple[int, int | None]]] = {}
    for seed in seeds:
        show(seed)
        run = rehearse(captured, scenario, seed)
        runs.setdefault(run.outcome, []).append((seed, run.epoch))
    ranked = sorted(runs.items(), key=lambda each: (-len(each[1]), each[1][0]))
    found = tuple(
        OutcomeRuns(outcome, tuple(seed for seed, _ in each), _epochs(each))
        for outcome, each in ranked
    )
    return Rehearsal(captured, scenario, seeds, found)


def judge(
    rehearsal: Rehearsal, doubts: Sequence[str] = (), refusals: Sequence[str] = ()
) -> tuple[ScenarioSafety, tuple[str, ...]]:
    """The answer, and a sentence for each reason why it isn't SAFE.

    doubts: a sentence for each further fact that the directories don't show. refusals: a sentence
    for each reason why no node may be started, whatever the runs show.
    """
    unsafe = (*refusals, *_unsafe(rehearsal))
    unknown = (*_unknown(rehearsal), *doubts)
    if unsafe:
        return ScenarioSafety.UNSAFE, (*unsafe, *unknown)
    return (ScenarioSafety.UNKNOWN if unknown else ScenarioSafety.SAFE), unknown


def _unsafe(rehearsal: Rehearsal) -> Iterator[str]:
    conflicts = rehearsal.captured.quorum.conflicts
    for found in rehearsal.outcomes:
        lost = found.outcome.committed_lost
        if lost and not conflicts:  # of two histories a majority proves only the later one
            yield (
                f"{_share(rehearsal, found)} {_offsets(lost)}, which are proven committed, are not "
                f"in the log of leader {found.outcome.leader}"
            )
        if found.outcome.leader is None and not unknown_voters(rehearsal):
            yield f"{_share(rehearsal, found)} nobody leads at the end"
    if not conflicts and _always_loses(rehearsal):
        for found in rehearsal.outcomes:
            if maybe := found.outcome.unproven_lost:
                yield f"{_share(rehearsal, found)} {_offsets(maybe)} are lost, {_PERHAPS_COMMITTED}"


def _always_loses(rehearsal: Rehearsal) -> bool:
    """Whether each run loses records that are or may be committed. False if a voter's disk, which
    may keep them, is unknown, or if the scenario replaces a disk: its earlier steps may commit the
    records that are then lost."""
    if unknown_voters(rehearsal) or rehearsal.scenario.replaced:
        return False
    return all(
        found.outcome.committed_lost or found.outcome.unproven_lost for found in rehearsal.outcomes
    )


def unknown_voters(rehearsal: Rehearsal) -> list[int]:
    """The voters whose disks are neither captured nor named by the scenario. No run has these
    voters. So a run without a leader proves nothing about the cluster."""
    captured, scenario = rehearsal.captured, rehearsal.scenario
    return [node_id for node_id in captured.not_captured if not scenario.says(node_id)]


def _unknown(rehearsal: Rehearsal) -> Iterator[str]:
    captured, scenario = rehearsal.captured, rehearsal.scenario
    empty = {voter.key.node_id for voter in captured.quorum.in_doubt(VoterDoubt.NO_LOG)}
    unknown = unknown_voters(rehearsal)
    if away := [node_id for node_id in unknown if node_id not in empty]:
        yield _away(f"nothing is known of the disk{'s' * (len(away) > 1)} of", away)
    for node_id in (one for one in unknown if one in empty):
        yield _away("no metadata log is in the directory that was given for", [node_id])
    for voter in captured.quorum.in_doubt(*MAY_HAVE_LOST):
        node_id = voter.key.node_id
        if scenario.starts_own_disk(node_id):
            yield (
                f"voter {node_id} {voter.danger} ({_why(voter)}): leave it stopped, and play the "
                f"start without it, by a scenario with dead = [{node_id}]"
            )
    forgets = bool(scenario.replaced)
    for found in rehearsal.outcomes:
        outcome = found.outcome
        if outcome.unproven_lost and forgets:
            yield (
                f"{_share(rehearsal, found)} {_offsets(outcome.unproven_lost)} are lost, "
                f"{_PERHAPS_COMMITTED}: a voter without its old disk has forgotten what it held"
            )
        for node_id, reason in outcome.failed:
            yield f"{_share(rehearsal, found)} node {node_id} does not go on as asked: {reason}"
        if outcome.behind:
            nodes = ", ".join(map(str, outcome.behind))
            yield f"{_share(rehearsal, found)} these nodes have not caught up at the end: {nodes}"


def _away(why: str, voters: Sequence[int]) -> str:
    """The reason that these voters are away in all runs. why: the beginning of the sentence, to
    which their names are added."""
    told, one = named("voter", [str(one) for one in voters]), len(voters) == 1
    are, logs = ("is", "directory that holds its log") if one else (
        "are", "directories that hold their logs"
    )  # fmt: skip
    return (
        f"{why} {told}, which {are} away in all runs: name the {logs}; if the "
        f"{'disk is' if one else 'disks are'} gone, say so by a scenario with "
        f"dead = [{', '.join(map(str, voters))}]"
    )


def _why(voter: KnownVoter) -> str:
    if voter.doubt is VoterDoubt.NO_QUORUM_STATE:
        return "it has no quorum-state"
    if voter.doubt is VoterDoubt.OLD_QUORUM_STATE:
        return "its quorum-state is older than its log"
    if voter.doubt is VoterDoubt.UNREADABLE_QUORUM_STATE:
        return "its quorum-state can't be read"
    return voter.why_stale


def _share(rehearsal: Rehearsal, found: OutcomeRuns) -> str:
    return f"in {len(found.seeds)} of {len(rehearsal.seeds)} runs, such as seed {found.seeds[0]},"


def _offsets(ranges: Ranges) -> str:
    """The offsets as a text, both ends inclusive."""
    named = ", ".join(f"{each.start} to {each.end - 1}" for each in ranges)
    return f"offsets {named}"


def _epochs(runs: Sequence[tuple[int, int | None]]) -> tuple[int, int] | None:
    epochs = [epoch for _, epoch in runs if epoch is not None]
    return (min(epochs), max(epochs)) if epochs else None
