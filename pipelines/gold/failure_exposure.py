"""gold.failure_exposure, and findings of health: the newest state judged by its entities'
versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cluster.rows import Row
from pipelines.gold.health_rules import (
    HISTORY,
    JUDGED,
    STATE,
    STEP,
    WATCHED_ENTITIES,
    told,
)

_US_PER_MS = 1000
COLUMNS = (
    "entity", "key", "value", "valid_from_offset", "valid_to_offset",
    "valid_from", "valid_to", "record_offset",
)  # fmt: skip


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
