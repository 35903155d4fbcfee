"""The outcomes of a rehearsal, in words and as rows of JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from jobs.cli.directories.offsets_text import (
    losses_text,
    pairs,
    ranges_text,
    snapshot_text,
)
from jobs.cli.directories.played_start import PlayedStart
from jobs.cli.output import coloured
from replica import shell_text
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.rehearsal.losing import LosingRun, Search
from replica.doctor.rehearsal.outcome import Fate, Outcome
from replica.doctor.rehearsal.runs import OutcomeRuns, Rehearsal, ScenarioSafety, unknown_voters
from replica.doctor.rehearsal.scenario_file import toml_of
from replica.doctor.rehearsal.step import ScenarioStep
from replica.history.ranges import difference
from replica.terminal_text import one_line
from replica.words import counted, named

_COLOURS = {
    ScenarioSafety.SAFE: "green",
    ScenarioSafety.UNSAFE: "red",
    ScenarioSafety.UNKNOWN: "yellow",
}


def headline(asked: PlayedStart, recommended: PlayedStart | None) -> str:
    """The answer in one line. recommended: as in `describe`."""
    if recommended is None:
        return asked.headline
    start, meaning = recommended.text, recommended.meaning
    return f"{asked.headline} `recover --plan` recommends another start ({start}): {meaning}."


def describe(
    asked: PlayedStart,
    recommended: PlayedStart | None,
    search: Search | None,
    paths: Sequence[str],
) -> Iterator[str]:
    """The lines below the headline: the answer and its further reasons, the leaders, each outcome,
    and at the end the smallest set of failures.

    recommended: the start that `recover` recommends, where that is another start than `asked`. Its
        lines come before the smallest set of failures.
    search: the search for that set; None where there was no search.
    paths: the paths that the user named.
    """
    captured = asked.rehearsal.captured
    voters = ", ".join(map(str, captured.voters.ids))
    yield from _of_start(f"cluster {captured.cluster_id}, voters {voters}", asked)
    if recommended is not None:
        yield ""
        yield from _of_start(
            "the start that `recover --plan` recommends", recommended, recommended.headline
        )
    if search is not None:
        yield ""
        yield from _search_lines(search, paths, asked)


def _of_start(what: str, played: PlayedStart, said: str = "") -> Iterator[str]:
    """The lines about a start. said: the start's headline, where the text doesn't begin with it."""
    rehearsal = played.rehearsal
    seeds = rehearsal.seeds
    yield one_line(
        f"{what}: {counted(len(seeds), 'run')}{played.away}, seeds {seeds[0]} to {seeds[-1]}: "
        f"{coloured(played.meaning, _COLOURS[played.answer])}"
    )
    if said:
        yield one_line(f"  {said}")
    yield one_line(f"  start: {played.text}")
    for reason in played.more_reasons:
        yield one_line(f"  {reason}")
    yield from (f"  needs: {need}" for need in played.needs)
    yield ""
    for node_id, count in rehearsal.leaders:
        who = "nobody leads" if node_id is None else f"node {node_id} leads"
        yield f"{who} at the end of {count} of {counted(len(seeds), 'run')}{played.away}"
    partly = _partly_known(rehearsal)
    for number, found in enumerate(rehearsal.outcomes, start=1):
        yield ""
        yield f"outcome {number}: {_headline(found, played.away)}"
        yield from (f"  {one_line(line)}" for line in _led_before(rehearsal, found.outcome))
        yield from (f"  {one_line(line)}" for line in _events(found, partly))


def _led_before(rehearsal: Rehearsal, outcome: Outcome) -> Iterator[str]:
    """A line for an outcome without lost records, if the last leader began with a shorter log than
    another node. Then another node led first, because a replica gets records only from a
    leader."""
    nodes = rehearsal.captured.nodes
    started = {fate.node_id: fate for fate in outcome.fates if fate.node_id in nodes}
    own = started.get(-1 if outcome.leader is None else outcome.leader)
    if own is None or own.has_new_disk or any(fate.lost for fate in outcome.fates):
        return
    end = nodes[own.node_id].log.end_offset
    if end < max(nodes[one].log.end_offset for one in started):
        yield (
            f"node {own.node_id}'s own log ends at offset {end - 1}: another node led before it, "
            f"and node {own.node_id} has that leader's records"
        )


def _partly_known(rehearsal: Rehearsal) -> frozenset[int]:
    """The voters that may hold more than their directories show."""
    doubted = rehearsal.captured.quorum.in_doubt(VoterDoubt.CUT, VoterDoubt.UNREADABLE)
    return frozenset(voter.key.node_id for voter in doubted)


def rows(
    asked: PlayedStart, recommended: PlayedStart | None, search: Search | None
) -> Iterator[dict[str, Any]]:
    """The rows of `--json`: the answer, and each outcome. If `recover` recommends another start
    (`recommended`), the rows about that start follow; their kind begins with recommended_. If the
    smallest set of failures that loses records was searched for, the last row is the result
    (`search`)."""
    yield from _rows_of_start(asked)
    if recommended is not None:
        for row in _rows_of_start(recommended):
            yield {**row, "kind": f"recommended_{row['kind']}"}
    if search is not None:
        yield _search_row(search, unknown_voters(asked.rehearsal))


def _rows_of_start(played: PlayedStart) -> Iterator[dict[str, Any]]:
    rehearsal = played.rehearsal
    captured, seeds = rehearsal.captured, rehearsal.seeds
    away, partly = unknown_voters(rehearsal), _partly_known(rehearsal)
    yield {
        "kind": "answer",
        "cluster_id": captured.cluster_id,
        "answer": played.answer.value,
        "is_conditional": played.is_conditional,
        "reasons": list(played.reasons),
        "needs": list(played.needs),
        "runs": len(seeds),
        "seeds": [seeds[0], seeds[-1] + 1],
        "voters": list(captured.voters.ids),
        "leaders": [{"node_id": node, "runs": count} for node, count in rehearsal.leaders],
        "start": None if played.scenario is not None else list(played.nodes),
    }
    for number, found in enumerate(rehearsal.outcomes, start=1):
        outcome = found.outcome
        yield {
            "kind": "outcome",
            "outcome": number,
            "seeds": list(found.seeds),
            "leader": outcome.leader,
            "away": away,
            "epochs": None if found.epochs is None else list(found.epochs),
            "committed_lost": pairs(outcome.committed_lost),
            "unproven_lost": pairs(outcome.unproven_lost),
            "nodes": [_row(fate, partly) for fate in outcome.fates],
            "failed": [{"node_id": node, "reason": why} for node, why in outcome.failed],
        }


def _search_row(search: Search, away: Sequence[int]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "kind": "smallest_loss",
        "bound": search.bound,
        "sets": search.sets,
        "seeds_of_each": len(search.seeds),
        "away": list(away),
    }
    loss, may_lose = search.loss, search.may_lose
    step = None if loss is None else loss.scenario.steps[0]
    return row | {
        "dead": None if step is None else list(step.dead),
        "empty": None if step is None else list(step.empty),
        "seed": None if loss is None else loss.seed,
        "leader": None if loss is None else loss.leader,
        "committed_lost": [] if loss is None else pairs(loss.lost),
        "scenario": None if step is None else toml_of(step),
        "may_lose": None
        if may_lose is None
        else {
            "dead": list(may_lose.step.dead),
            "empty": list(may_lose.step.empty),
            "unproven_lost": pairs(may_lose.lost),
        },
    }


def _row(fate: Fate, partly: Collection[int]) -> dict[str, Any]:
    replaced = fate.replaced_by
    return {
        "node_id": fate.node_id,
        "truncated": None if fate.truncated is None else [fate.truncated.start, fate.truncated.end],
        "epochs": list(fate.epochs),
        "replaced_by": None if replaced is None else snapshot_text(replaced),
        "lost": pairs(fate.lost),
        "other": pairs(fate.other),
        "committed_lost": fate.losses.committed,
        "unproven_lost": fate.losses.unproven,
        "superseded_lost": fate.losses.superseded,
        "is_behind": fate.is_behind,
        "has_new_disk": fate.has_new_disk,
        "is_partly_known": fate.node_id in partly,
    }


def _headline(found: OutcomeRuns, away: str) -> str:
    runs = f"{counted(len(found.seeds), 'run')}{away}, such as seed {found.seeds[0]}"
    if found.outcome.leader is None or found.epochs is None:
        return f"{runs}: nobody leads"
    low, high = found.epochs
    epochs = f"epoch {low}" if low == high else f"epochs {low} to {high}"
    return f"{runs}: node {found.outcome.leader} leads, in {epochs}"


def _events(found: OutcomeRuns, partly: Collection[int]) -> Iterator[str]:
    outcome = found.outcome
    for node_id, reason in outcome.failed:
        yield f"node {node_id}: {reason}"
    changed = [fate for fate in outcome.fates if _is_changed(fate)]
    for fate in changed:
        yield f"node {fate.node_id} {_fate(fate, is_all=fate.node_id not in partly)}"
    if not changed:
        known = " that its directory shows" if partly else ""
        yield f"no node that runs loses a record{known}"
    for fate in outcome.fates:
        if fate.is_behind:
            yield f"node {fate.node_id} has not caught up with the leader"


def _is_changed(fate: Fate) -> bool:
    return bool(fate.truncated or fate.replaced_by or fate.lost or fate.other or fate.has_new_disk)


def _fate(fate: Fate, *, is_all: bool) -> str:
    """What becomes of a node's log. is_all: whether the node's directory shows all records that the
    node holds."""
    loses = "it loses" if is_all else "it loses at least"
    lost = "; it loses none" if is_all else "; it loses none that its directory shows"
    if fate.lost:
        lost = f"; {loses} offsets {ranges_text(fate.lost)}: {losses_text(fate.losses)}"
    if fate.other:
        gone = difference(fate.lost, fate.other)
        lost = f"; {loses} offsets {ranges_text(gone)}" if gone else ""
        lost += (
            f"; it keeps offsets {ranges_text(fate.other)}, at which the leader has other records"
        )
    if fate.replaced_by is not None:
        snapshot = snapshot_text(fate.replaced_by)
        return f"gets the leader's snapshot {snapshot} in the place of its log{lost}"
    if fate.has_new_disk:
        return f"has a new disk{lost}"
    if fate.truncated is None and fate.lost and not fate.other:
        return (
            f"has not followed the leader yet; it is to lose offsets {ranges_text(fate.lost)}: "
            f"{losses_text(fate.losses)}"
        )
    if fate.truncated is None:
        return f"keeps its log{lost}"
    epochs = ", ".join(map(str, fate.epochs))
    return f"truncates its log to offset {fate.truncated.start} (epoch {epochs}){lost}"


def _search_lines(search: Search, paths: Sequence[str], asked: PlayedStart) -> Iterator[str]:
    looked = (
        f"{counted(search.sets, 'set')} of up to {counted(search.bound, 'failure')} of voters, "
        f"{counted(len(search.seeds), 'seed')} for each that was run"
    )
    loss = search.loss
    if loss is None:
        yield f"no failures found that lose committed records ({looked})"
    else:
        away = [str(one) for one in unknown_voters(asked.rehearsal)]
        hold = "holds" if len(away) == 1 else "hold"
        unless = f", unless {named('voter', away)} {hold} them" if away else ""
        failures = _failures(loss.scenario.steps[0])
        yield f"the smallest set of failures that loses committed records{unless}: {failures}"
        yield f"  ({looked})"
        yield from _loss_lines(loss, paths)
    if search.may_lose is not None:
        yield (
            f"perhaps lost with fewer failures ({_failures(search.may_lose.step)}): offsets "
            f"{ranges_text(search.may_lose.lost)}, of which these logs don't show whether they "
            "were committed"
        )


def _loss_lines(loss: LosingRun, paths: Sequence[str]) -> Iterator[str]:
    what = "nobody leads, and none of the voters that are left holds"
    if loss.leader is not None:
        what = f"node {loss.leader} leads without"
    yield f"  {what} offsets {ranges_text(loss.lost)}"
    seeds = f"{loss.seed}:{loss.seed + 1}"
    words = ("--seeds", seeds, "--scenario", "loss.toml", *shell_text.paths(paths))
    yield one_line(f"  again: {shell_text.line('kraftlake', 'rehearse', *words)}")
    yield "  with this loss.toml:"
    for step in loss.scenario.steps:
        yield from (f"    {line}" for line in toml_of(step).splitlines())


def _failures(step: ScenarioStep) -> str:
    told = [f"node {node_id} is dead" for node_id in step.dead]
    told += [f"node {node_id} has an empty disk" for node_id in step.empty]
    return ", ".join(told) or "none, it is lost already"
