"""The moments at which something changed, and the state of each partition and broker from each
moment on."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pipelines.report.source import Row, moment

ABSENT = -1
"""Stands for the state of an entity that doesn't exist."""
SERVING, FENCED, SHUTTING_DOWN = 0, 1, 2

State: TypeAlias = tuple[Hashable, ...]
"""The state of a partition: leader, ISR, replicas, ELR, adding and removing replicas, and 1 if its
leader recovers from an unclean election, else 0. The state of a broker: SERVING, FENCED or
SHUTTING_DOWN, and its rack."""


@dataclass(frozen=True)
class Move:
    """A change of an entity's state. From step `step` on the entity is in state `after`; before
    that step it was in state `before`. Both are indexes in Followed.states, or ABSENT. The entity
    is an index in Followed.names."""

    step: int
    entity: int
    before: int
    after: int


@dataclass
class Followed:
    """Entities of one kind whose state is known at each step."""

    names: list[str] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    """The changes of state, in the order of steps."""


@dataclass(frozen=True)
class ReportSteps:
    """The steps of a cluster."""

    offsets: tuple[int, ...]
    """The offsets of the steps, in ascending order, each once."""
    times: tuple[int | None, ...]
    """The time of each offset in ms since 1970, None where no record of the offset has a time."""
    elections: tuple[int, ...]
    """The first offsets of leader epochs."""
    partitions: Followed
    brokers: Followed

    def place(self, offset: int) -> int:
        """The index of the step at this offset, or of the first step at a higher offset."""
        return bisect_left(self.offsets, offset)


def steps_of(
    changes: Iterable[Row], versions: Sequence[Row], leaders: Iterable[Row]
) -> ReportSteps:
    """The steps of a cluster. changes, versions: rows of queries.changes and queries.versions.
    leaders: rows of pipelines.report.queries.leaders, whose epochs' first offsets are steps too."""
    times: dict[int, int | None] = {}

    def note(offset: int | None, at_ms: int | None) -> None:
        if offset is not None and times.get(offset) is None:
            times[offset] = at_ms

    for row in changes:
        if not row["is_lost"]:
            note(row["offset"], row["at_ms"])
    for row in versions:
        note(row["valid_from_offset"], row["from_ms"])
        note(row["valid_to_offset"], row["to_ms"])
    elections = []
    for row in leaders:
        if row["start_offset"] is not None:
            note(row["start_offset"], ms_of(row["started_at"]))
            elections.append(row["start_offset"])
    # an offset that is on both branches has the time of the kept branch
    for row in changes:
        note(row["offset"], row["at_ms"])
    offsets = tuple(sorted(times))
    places = {offset: place for place, offset in enumerate(offsets)}
    by_kind = {"partition": partition_state, "broker": broker_state}
    partitions, brokers = (
        _follow((row for row in versions if row["entity"] == kind), state, places)
        for kind, state in by_kind.items()
    )
    return ReportSteps(
        offsets, tuple(times[offset] for offset in offsets), tuple(elections), partitions, brokers
    )


def ms_of(text: str | None) -> int | None:
    """A record's time, from its form in the queries, as ms since 1970; None where there is no time,
    and for years that no calendar has."""
    time = moment(text)
    return None if time is None else round(time.timestamp() * 1000)


def _follow(
    versions: Iterable[Row], state_of: Callable[[dict[str, Any]], State], places: dict[int, int]
) -> Followed:
    found = Followed()
    interned: dict[State, int] = {}
    of_key: dict[str, list[tuple[int, int | None, int]]] = {}
    names: dict[str, str] = {}
    for row in versions:
        place = interned.setdefault(state_of(json.loads(row["value"])), len(interned))
        to = row["valid_to_offset"]
        span = places[row["valid_from_offset"]], None if to is None else places[to], place
        of_key.setdefault(row["key"], []).append(span)
        names[row["key"]] = row["name"]
    found.states = list(interned)
    for entity, (key, spans) in enumerate(of_key.items()):
        found.names.append(names[key])
        found.moves += _moves(entity, spans)
    found.moves.sort(key=lambda move: (move.step, move.entity))
    return found


def _moves(entity: int, spans: list[tuple[int, int | None, int]]) -> Iterable[Move]:
    """The moves of an entity. spans: (first step, first step without the state, state), in the
    order of first steps."""
    held, until = ABSENT, None
    for start, end, state in spans:
        if until is not None and until < start:
            yield Move(until, entity, held, ABSENT)
            held = ABSENT
        if held != state:
            yield Move(start, entity, held, state)
        held, until = state, end
    if until is not None:
        yield Move(until, entity, held, ABSENT)


def partition_state(value: dict[str, Any]) -> State:
    """The state in a partition's value of gold.metadata_history."""
    return (
        value["leader"],
        tuple(value["isr"]),
        tuple(value["replicas"]),
        tuple(value.get("eligibleLeaderReplicas") or ()),
        tuple(value.get("addingReplicas") or ()),
        tuple(value.get("removingReplicas") or ()),
        value.get("leaderRecoveryState") or 0,
    )


def broker_state(value: dict[str, Any]) -> State:
    """The state in a broker's value of gold.metadata_history."""
    if value["fenced"]:
        status = FENCED
    elif value.get("inControlledShutdown"):
        status = SHUTTING_DOWN
    else:
        status = SERVING
    return status, value.get("rack")
