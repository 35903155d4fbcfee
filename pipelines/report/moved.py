"""The partitions whose replicas somebody moved shortly before the newest state, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from pipelines.report.travel.steps import ABSENT, ReportSteps, State
from replica.metadata.image.partition import Hosts, moved
from replica.words import counted, listed, ms_range_text, ms_text

_HOUR_MS = 3_600_000
_SHOWN = 3


def moved_text(steps: ReportSteps) -> Iterator[str]:
    """Yields one sentence about the replicas that were moved in the last hour before the newest
    change. Yields nothing if no replica was moved."""
    newest = max((at for at in steps.times if at is not None), default=0)
    found = {}
    for move in steps.partitions.moves:
        at, states = steps.times[move.step], steps.partitions.states
        if ABSENT in (move.before, move.after) or at is None or at < newest - _HOUR_MS:
            continue
        brokers = moved(_hosts(states[move.before]), _hosts(states[move.after]))
        if brokers is not None:
            text = " -> ".join(listed([*map(str, each)]) for each in brokers)
            found[steps.partitions.names[move.entity]] = (at, text)
    if found:
        first, last = min(at for at, _ in found.values()), max(at for at, _ in found.values())
        when = f"at {ms_text(first)}" if first == last else f"from {ms_range_text(first, last)}"
        of = counted(len(found), "partition")
        named = "; ".join(f"{name}: {text}" for name, (_, text) in [*found.items()][:_SHOWN])
        more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        yield f"Replicas of {of} were moved {when}: {named}{more}."


def _hosts(state: State) -> Hosts:
    _, _, replicas, _, adding, removing, _ = cast("tuple[Any, ...]", state)
    return Hosts(replicas, adding, removing)
