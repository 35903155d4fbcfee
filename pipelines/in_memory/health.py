"""The health of a cluster and its exposure to failures, from the versions of its entities; and the
capture that shows the newest state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.in_memory.health_rules import (
    HISTORY,
    JUDGED,
    STATE,
    STEP,
    WATCHED_ENTITIES,
    told,
)
from pipelines.in_memory.rows import Row, milliseconds

_US_PER_MS = 1000
COLUMNS = (
    "entity", "key", "value", "valid_from_offset", "valid_to_offset",
    "valid_from", "valid_to", "record_offset",
)  # fmt: skip
_NAMES = ("cluster_id", "node_id", "directory_id", "capture_id")


def health(versions: pa.Table, looks: Iterable[Row]) -> list[Row]:
    """The rows of JUDGEMENT. versions: rows of gold.metadata_history of one cluster. looks: the
    result of `looks`."""
    judged: list[Row] = []
    for look in looks:
        rows = sorted(_history(versions, look), key=lambda row: (row[1], -(row[2] or 0)))
        judged += told(look, (dict(zip(HISTORY.names, row, strict=True)) for row in rows))
    return judged


def _history(versions: pa.Table, look: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of HISTORY: the entities of the state, and earlier values of entities of the kinds
    in WATCHED_ENTITIES."""
    begin, end = look["from_offset"], look["end_offset"]
    for row in _judged(versions):
        entity, key, value, start, stop, start_ms, stop_ms, record = row
        what = entity, key, value
        if start < end and (stop is None or stop >= end):
            yield look["cluster_id"], STATE, record, start_ms, *what
        if entity not in WATCHED_ENTITIES:
            continue
        if begin <= start < end:
            yield look["cluster_id"], STEP, start, start_ms, entity, key, None
        if stop is not None and begin <= stop < end:
            yield look["cluster_id"], STEP, stop, stop_ms, *what


def _judged(versions: pa.Table) -> Iterator[tuple[Any, ...]]:
    """The values of COLUMNS, with times in ms, of versions of entities of the kinds in JUDGED."""
    is_judged = pc.is_in(versions["entity"], pa.array(JUDGED, pa.string()))
    versions = versions.select(COLUMNS).filter(is_judged)
    columns = (
        pc.divide(column.cast(pa.int64()), _US_PER_MS)
        if pa.types.is_timestamp(column.type)
        else column
        for column in (versions[name] for name in COLUMNS)
    )
    yield from zip(*(column.to_pylist() for column in columns), strict=True)


def looks(
    status: Sequence[Row], captures: Iterable[Row], ranges: Iterable[Row], epochs: Iterable[Row]
) -> Iterator[Row]:
    """A row about the newest state of a cluster; no row where the lake knows no state of it.

    status, captures, ranges, epochs: the cluster's rows of gold.replica_status, bronze.captures,
    gold.state_ranges and gold.leader_epoch_history.

    The row has cluster_id, end_offset (of the state, exclusive), from_offset (where the replay that
    gives it begins), is_whole (whether the agreed branch ends there), voters (node ids, of the
    newest leader's epoch) and now_ms (the time of the log's last record). It names one capture by
    node_id, directory_id, capture_id and source: the capture that reaches furthest into that state.
    Where several reach as far, it is the newest of them, and then the one with the lowest node id.
    """
    known = max(ranges, key=itemgetter("to_offset"), default=None)
    if known is None or not status:
        return
    end = known["to_offset"]
    chosen = max(status, key=lambda row: _preference(row, end))
    at = chosen["last_append_time"]
    yield {
        **{name: chosen[name] for name in _NAMES},
        "source": _places(captures)[chosen["capture_id"]],
        "end_offset": end,
        "from_offset": known["from_offset"],
        "is_whole": max(map(_agreed_end, status)) <= end,
        "voters": _voters(epochs, end),
        "now_ms": None if at is None else milliseconds(at),
    }


def _places(captures: Iterable[Row]) -> dict[str, str]:
    """The place from which each capture was first ingested."""
    ordered = sorted(captures, key=lambda row: (row["ingest_seq"], row["source"]), reverse=True)
    return {row["capture_id"]: row["source"] for row in ordered}


def _agreed_end(row: Row) -> int:
    """The end (exclusive) of the agreed branch in the capture's log or newest snapshot."""
    return max(row["agreed_end_offset"] or 0, row["snapshot_end_offset"] or 0)


def _preference(row: Row, end: int) -> tuple[int, datetime, int, str]:
    return min(_agreed_end(row), end), row["captured_at"], -row["node_id"], row["directory_id"]


def _voters(epochs: Iterable[Row], end: int) -> list[int]:
    """The voters of the newest epoch below the end whose voters are known."""
    named = [
        row
        for row in epochs
        if row["voters"] and row["start_offset"] is not None and row["start_offset"] < end
    ]
    if not named:
        return []
    newest = max(named, key=lambda row: row["epoch"])
    return sorted(voter["voter_id"] for voter in newest["voters"])
