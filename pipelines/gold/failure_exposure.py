"""gold.failure_exposure, and findings of health: the newest state judged by its entities'
versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow.compute import Expression, field, scalar
from pyarrow.dataset import Dataset, dataset

from pipelines.cluster.rows import Row
from pipelines.gold.health_rules import (
    WATCHED_ENTITIES,
    JudgedState,
    cluster_of,
    exposure_of,
    judged_state,
    since_of,
    steps_of,
)
from replica.doctor.health.cluster import JUDGED, Cluster
from replica.doctor.health.exposure import exposures
from replica.doctor.health.past import Past, PastRange, Waiting, past_in_range, past_of
from replica.doctor.health.rewound import VisibleChange
from replica.doctor.verdict.evidence import MAX_STEPS

Versions: TypeAlias = pa.Table | Dataset
"""Rows of gold.metadata_history of one cluster, at least with the columns entity, key, value,
valid_from_offset, valid_to_offset, valid_from, valid_to and record_offset."""
_SORTED_AT_ONCE = 200_000
"""About how many steps of the history are sorted together, which bounds the memory."""
_BUCKETS = 1000
"""The number of ranges of offsets into which the history is divided. Neighbouring ranges are read
together."""
_NEXT_TO_NONE = {"batch_readahead": 1, "fragment_readahead": 1}
"""Arguments of pyarrow's scanner: how many batches and files it reads ahead. This also bounds the
memory."""
_START, _STOP = field("valid_from_offset"), field("valid_to_offset")


class StepRange(NamedTuple):
    """The steps of a cluster's history at offsets from first (inclusive) to stop (exclusive)."""

    first: int
    stop: int
    rows: int | None = None
    """How many rows of gold.metadata_changes the steps have; None where the rows were not
    counted."""


@dataclass(frozen=True)
class EarlierExposure:
    """What an earlier build found about the state that was then the cluster's newest one."""

    steps: StepRange
    """The steps that led to that state. The log below their end has not changed."""
    voters: Sequence[int]
    """The voters of that state."""
    rows: Sequence[Row]
    """The rows of gold.failure_exposure about that state."""

    def led_to(self, state_row: Row) -> bool:
        """Whether the earlier build's newest state lies in the history of this state, and had the
        same voters. Then only the later steps are new."""
        begin, end, _ = all_steps(state_row)
        is_within = self.steps.first == begin and self.steps.stop <= end
        return is_within and [*self.voters] == state_row["voters"]

    def answers(self, now: Cluster, asked: Waiting) -> PastRange | None:
        """The earlier build's answers to the questions that all later steps have left open. None
        where reading the earlier steps again may show more."""
        since = {exposure_of(row): since_of(row) for row in self.rows}
        figures = [one._replace(may_be_below=0) for one in exposures(now)]  # of which no row tells
        known = {one.failure: since[one] for one in figures if one in since}
        if asked.partitions or not asked.failures <= known.keys():
            return None
        exposed = {one: at for one in asked.failures if (at := known[one]) is not None}
        return PastRange(exposed, {}, Waiting(asked.failures - exposed.keys(), frozenset()))


def health(
    versions: Versions, newest_states: Iterable[Row], earlier: EarlierExposure | None = None
) -> list[JudgedState]:
    """The judgement of each state. newest_states: the result of pipelines.gold.newest_states.
    earlier: what an earlier build found; None where nothing is known of one."""
    judged = []
    for state_row in newest_states:
        cluster = newest_state(versions, state_row)
        past = _past(_data_set(versions), state_row, cluster, earlier)
        steps = partial(newest_steps, versions, state_row)
        judged.append(judged_state(state_row, cluster, past, steps))
    return judged


def newest_steps(versions: Versions, state_row: Row) -> Iterator[VisibleChange]:
    """The last MAX_STEPS steps that led to the state, newest first."""
    steps = all_steps(state_row)
    first = max(steps.first, steps.stop - MAX_STEPS)
    return _steps(_data_set(versions), steps._replace(first=first))


def _past(rows: Dataset, state_row: Row, cluster: Cluster, earlier: EarlierExposure | None) -> Past:
    """How long each exposure and each reassignment of the newest state has lasted. Where an earlier
    build has answered the questions that the steps since then leave open, the steps before that
    build are not read."""
    steps = all_steps(state_row)
    if earlier is not None and earlier.led_to(state_row):
        newer = past_in_range(
            cluster, cluster, _steps(rows, steps._replace(first=earlier.steps.stop))
        )
        older = earlier.answers(cluster, newer.waiting)
        if older is not None:
            return older.before(newer).past
    return past_of(cluster, _steps(rows, steps))


def newest_state(versions: Versions, state_row: Row) -> Cluster:
    """The state in a row of newest_states as the rules of health take it."""
    rows = _data_set(versions)
    return _state(rows, {**state_row, **_uncommitted(rows, state_row)}, state_row["end_offset"])


def _uncommitted(rows: Dataset, state_row: Row) -> Row:
    """The first change of the state that no majority of the voters holds, as the columns
    uncommitted_from and uncommitted_at of a state; empty where there is no such change."""
    quorum = state_row.get("quorum")
    if quorum is None or quorum.is_conflicting or quorum.possible_end >= state_row["end_offset"]:
        return {}  # of two histories the state may be the one that the quorum's figures aren't of
    first: dict[str, int | None] = {}
    for offset, at in ((_START, field("valid_from")), (_STOP, field("valid_to"))):
        late = (offset >= quorum.possible_end) & (offset < state_row["end_offset"])
        asked = rows.scanner({"offset": offset, "at": _in_ms(at)}, late, **_NEXT_TO_NONE)
        for found in asked.to_table().sort_by("offset").slice(0, 1).to_pylist():
            if not first or found["offset"] < first["uncommitted_from"]:
                first = {"uncommitted_from": found["offset"], "uncommitted_at": found["at"]}
    return first


def all_steps(state_row: Row) -> StepRange:
    """The range of all steps that led to the state."""
    return StepRange(int(state_row["from_offset"]), int(state_row["end_offset"]))


def look_back_rows(
    versions: Versions, state_row: Row, steps: StepRange, asked: Waiting | None
) -> PastRange:
    """Since when the exposures and reassignments of the newest state have lasted, as far as one
    range of steps shows it: the result of past_in_range. asked: the questions that newer ranges
    have left open; None where no range was read yet."""
    now = at_end = newest_state(versions, state_row)
    if steps.stop < now.end_offset:
        # In a log that has voter sets, no voters are known before the first voter set.
        voters = () if now.values("voters") else state_row["voters"]
        at_end = _state(_data_set(versions), {**state_row, "voters": voters}, steps.stop)
    return past_in_range(now, at_end, _steps(_data_set(versions), steps), asked)


def ranges_of(versions: Versions, steps: StepRange, most: int) -> Iterator[StepRange]:
    """The range divided into smaller ones, newest first; none where it has no step. most: the most
    rows of a range, about. An offset may have several rows, which are all in one range."""
    rows = _data_set(versions)
    begin, end, _ = steps
    width = (end - begin) // _BUCKETS + 1
    counts = np.zeros(_BUCKETS + 1, dtype=np.int64)
    for offset in (_START, _STOP):
        asked = rows.scanner({"at": offset}, _watched(offset, steps), **_NEXT_TO_NONE)
        for batch in asked.to_batches():
            at = (batch["at"].to_numpy(zero_copy_only=False) - begin) // width
            counts += np.bincount(at, minlength=_BUCKETS + 1)
    stop, count = _BUCKETS + 1, 0
    for bucket in reversed(range(_BUCKETS + 1)):
        if count and count + counts[bucket] > most:
            yield StepRange(begin + (bucket + 1) * width, min(end, begin + stop * width), count)
            stop, count = bucket + 1, 0
        count += int(counts[bucket])
    if count:
        yield StepRange(begin, min(end, begin + stop * width), count)


def _data_set(versions: Versions) -> Dataset:
    return versions if isinstance(versions, Dataset) else dataset(versions)


def _state(rows: Dataset, state_row: Row, end: int) -> Cluster:
    """The cluster's state at the end offset `end` (exclusive)."""
    lasting = (end > _START) & (_STOP.is_null() | (end <= _STOP))
    names = ["entity", "key", "value", "record_offset"]
    asked = rows.scanner(names, field("entity").isin([*JUDGED]) & lasting, **_NEXT_TO_NONE)
    held = asked.to_table().sort_by([("entity", "ascending"), ("key", "ascending")])
    columns = (held[name].to_pylist() for name in ("entity", "value", "record_offset"))
    return cluster_of({**state_row, "end_offset": end}, [*zip(*columns, strict=True)])


def _columns(offset: Expression, at: Expression, value: Expression) -> dict[str, Expression]:
    at_ms = _in_ms(at)
    named = {"entity": field("entity"), "key": field("key"), "value": value}
    return {"offset": offset, "at_ms": at_ms, **named}


def _in_ms(at: Expression) -> Expression:
    return at.cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())


def _watched(offset: Expression, steps: StepRange) -> Expression:
    watched = field("entity").isin(sorted(WATCHED_ENTITIES))
    return watched & (offset >= steps.first) & (offset < steps.stop)


def _steps(rows: Dataset, steps: StepRange) -> Iterator[VisibleChange]:
    """The steps of a range, newest first. They are read one after the other, as the caller takes
    them."""
    for part in ranges_of(rows, steps, _SORTED_AT_ONCE):
        yield from steps_of(
            row for batch in _sorted_steps(rows, part).to_batches() for row in batch.to_pylist()
        )


def _sorted_steps(rows: Dataset, steps: StepRange) -> pa.Table:
    """The state of each entity before each step, newest first."""
    made = _columns(_START, field("valid_from"), scalar(None).cast(pa.string()))
    ended = _columns(_STOP, field("valid_to"), field("value"))
    found = [
        rows.scanner(columns, _watched(offset, steps), **_NEXT_TO_NONE).to_table()
        for offset, columns in ((_START, made), (_STOP, ended))
    ]
    order = ("offset", "descending"), *((one, "ascending") for one in ("entity", "key", "value"))
    return pa.concat_tables(found, promote_options="permissive").sort_by([*order])
