"""The health and the exposures of a cluster, from the versions of its entities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.gold.rules.health import (
    EXPOSURE,
    FINDING,
    HISTORY,
    JUDGED,
    STATE,
    STEP,
    WATCHED_ENTITIES,
    told,
)
from pipelines.in_memory.rows import Row
from pipelines.replay.written import VERSION

_US_PER_MS = 1000
_COLUMNS = (
    "entity", "key", "value", "valid_from_offset", "valid_to_offset",
    "valid_from", "valid_to", "record_offset",
)  # fmt: skip


class Health(NamedTuple):
    """findings: rows of gold.findings; exposures: of gold.failure_exposure."""

    findings: list[Row]
    exposures: list[Row]


def health(written: pa.Table, looks: Iterable[Row]) -> Health:
    """written: of Replayed; looks: from pipelines.gold.rules.health."""
    judged: list[Row] = []
    for look in looks:
        rows = sorted(_history(written, look), key=lambda row: (row[1], -(row[2] or 0)))
        judged += told(look, (dict(zip(HISTORY.names, row, strict=True)) for row in rows))
    return health_of(judged)


def health_of(judged: Sequence[Row]) -> Health:
    """judged: rows of JUDGEMENT."""
    return Health(
        [row for row in judged if row["what"] == FINDING],
        [row for row in judged if row["what"] == EXPOSURE],
    )


def _history(written: pa.Table, look: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """HISTORY: the entities of the state, and earlier versions of those of WATCHED_ENTITIES."""
    begin, end = look["from_offset"], look["end_offset"]
    for row in _versions(written, look["cluster_id"]):
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


def _versions(written: pa.Table, cluster_id: str) -> Iterator[tuple[Any, ...]]:
    """_COLUMNS of a cluster's versions of JUDGED, with times in ms."""
    mine = pc.and_(pc.equal(written["what"], VERSION), pc.equal(written["cluster_id"], cluster_id))
    is_judged = pc.is_in(written["entity"], pa.array(JUDGED, pa.string()))
    versions = written.filter(pc.and_(mine, is_judged))
    columns = (
        pc.divide(column.cast(pa.int64()), _US_PER_MS)
        if pa.types.is_timestamp(column.type)
        else column
        for column in (versions[name] for name in _COLUMNS)
    )
    yield from zip(*(column.to_pylist() for column in columns), strict=True)
