"""Verdicts, and the known facts about quorums, as rows of gold.verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import Any

from pipelines.cluster.rows import Row, from_microseconds, milliseconds
from replica.doctor.check.catalogue import health
from replica.doctor.quorum.histories import LogConflict
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import KnownVoter, VoterDoubt
from replica.doctor.verdict.verdict import Fact, Gap, KnownState, Level, Verdict
from replica.history.log import OffsetRange
from replica.model.keys import ReplicaKey
from replica.severity import Severity

_US_PER_MS = 1000


def verdict_row(captures: Sequence[Row], verdict: Verdict, quorum: KnownQuorum) -> Row:
    """A row of gold.verdicts. captures: the rows of bronze.captures that were judged."""
    state = verdict.state
    at = None if state is None else state.at_ms
    return {
        "cluster_id": verdict.cluster_id,
        "level": verdict.level.value,
        "headline": verdict.headline,
        "facts": [
            asdict(fact) | {"level": fact.level.value, "severity": fact.severity.value}
            for fact in verdict.facts
        ],
        "next_steps": [*verdict.next_steps],
        "not_judged": [*map(asdict, verdict.not_judged)],
        "notes": verdict.notes,
        "end_offset": None if state is None else state.end_offset,
        "at": None if at is None else from_microseconds(at * _US_PER_MS),
        "source": "" if state is None else state.source,
        "capture_group": captures[0]["capture_group"],
        "captured_at": max(map(itemgetter("captured_at"), captures)),
        "voters": [_voter(one) for one in quorum.voters],
        "conflicts": [
            {"node_a": one.a.node_id, "node_b": one.b.node_id, "offset": one.offset}
            for one in quorum.conflicts
        ],
        "contested": [{"start": one.start, "end": one.end} for one in quorum.contested],
        "proven_end": quorum.proven_end,
        "possible_end": quorum.possible_end,
    }


def _voter(voter: KnownVoter) -> Row:
    return {
        "node_id": voter.key.node_id,
        "directory_id": voter.key.directory_id,
        "doubt": None if voter.doubt is None else voter.doubt.value,
        "known_epoch": voter.known_epoch,
        "attested_epoch": voter.attested_epoch,
        "held_end": voter.held_end,
    }


def quorum_in(row: Row) -> KnownQuorum:
    """The facts about the quorum in a row of gold.verdicts. Its conflicts name nodes without their
    directories, and it doesn't name the leader who gave up. KnownVoter.lived_on of its voters is
    False where the verdict says that a majority has stopped, and True elsewhere."""
    rules = {rule for fact in row["facts"] for rule in fact["rules"]}

    def keys(name: str) -> Iterable[ReplicaKey]:
        return (ReplicaKey(one[name]) for one in row["conflicts"])

    voters = (
        KnownVoter(
            ReplicaKey(one["node_id"], one["directory_id"]),
            None if one["doubt"] is None else VoterDoubt(one["doubt"]),
            one["known_epoch"],
            one["attested_epoch"],
            one["held_end"],
            lived_on=health.MAJORITY_STOPPED.id not in rules,
        )
        for one in row["voters"]
    )
    offsets = (one["offset"] for one in row["conflicts"])
    return KnownQuorum(
        tuple(voters),
        proven_end=row["proven_end"],
        possible_end=row["possible_end"],
        is_leaderless=health.LEADER_GAVE_UP.id in rules,
        conflicts=tuple(map(LogConflict, keys("node_a"), keys("node_b"), offsets)),
        contested=tuple(OffsetRange(one["start"], one["end"]) for one in row["contested"]),
    )


def verdict_in(row: Mapping[str, Any]) -> Verdict:
    """The verdict in a row of gold.verdicts."""
    at = row["at"]
    state = None
    if row["end_offset"] is not None:
        known = None if at is None else milliseconds(at)
        state = KnownState(row["end_offset"], known, row["source"])
    return Verdict(
        row["cluster_id"],
        Level(row["level"]),
        row["headline"],
        facts_in(row),
        tuple(row["next_steps"]),
        gaps_in(row),
        row["notes"],
        state,
    )


def facts_in(row: Mapping[str, Any]) -> tuple[Fact, ...]:
    """The facts of the verdict in a row of gold.verdicts."""
    return tuple(
        Fact(
            Level(one["level"]),
            Severity(one["severity"]),
            one["text"],
            one["next_step"],
            tuple(one["rules"]),
        )
        for one in row["facts"]
    )


def gaps_in(row: Mapping[str, Any]) -> tuple[Gap, ...]:
    """The gaps of the verdict in a row of gold.verdicts: what could not be judged."""
    return tuple(Gap(**one) for one in row["not_judged"])
