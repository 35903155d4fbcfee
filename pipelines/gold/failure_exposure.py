"""gold.failure_exposure, and findings of health: the newest state judged by its entities'
versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.compute import Expression, field, scalar
from pyarrow.dataset import Dataset, dataset

from pipelines.cluster.rows import Row
from pipelines.gold.health_rules import JUDGED, STATE, STEP, WATCHED_ENTITIES, told

COLUMNS = (
    "entity", "key", "value", "valid_from_offset", "valid_to_offset",
    "valid_from", "valid_to", "record_offset",
)  # fmt: skip
_SORTED_AT_ONCE = 200_000
"""About how many steps of the history are sorted together, which bounds the memory."""
_BUCKETS = 1000
"""Into how many ranges of offsets the history is divided; neighbours are sorted together."""
_NEXT_TO_NONE = {"batch_readahead": 1, "fragment_readahead": 1}
"""How much is read ahead, which bounds the memory as well."""
_START, _STOP = field("valid_from_offset"), field("valid_to_offset")


def health(versions: pa.Table | Dataset, looks: Iterable[Row]) -> list[Row]:
    """The rows of JUDGEMENT. versions: rows of gold.metadata_history of one cluster, with COLUMNS.
    looks: the result of `looks`."""
    judged: list[Row] = []
    for look in looks:
        judged += told(look, _history(versions, look))
    return judged


def _history(versions: pa.Table | Dataset, look: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of HISTORY: the entities of the state, and earlier values of entities of the kinds
    in WATCHED_ENTITIES, newest first. They are read as they are asked for."""
    rows = versions if isinstance(versions, Dataset) else dataset(versions)
    begin, end = int(look["from_offset"]), int(look["end_offset"])
    of_cluster = {"cluster_id": look["cluster_id"]}
    lasting = (end > _START) & (_STOP.is_null() | (end <= _STOP))
    state = _columns(field("record_offset"), field("valid_from"), field("value"))
    judged = field("entity").isin([*JUDGED]) & lasting
    for batch in rows.scanner(state, judged, **_NEXT_TO_NONE).to_batches():
        for row in batch.to_pylist():
            yield {"what": STATE} | row | of_cluster
    for first, stop in _ranges(rows, begin, end):
        for row in _steps(rows, first, stop).to_pylist():
            yield {"what": STEP} | row | of_cluster


def _columns(offset: Expression, at: Expression, value: Expression) -> dict[str, Expression]:
    at_ms = at.cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
    named = {"entity": field("entity"), "key": field("key"), "value": value}
    return {"offset": offset, "at_ms": at_ms, **named}


def _watched(offset: Expression, first: int, stop: int) -> Expression:
    watched = field("entity").isin(sorted(WATCHED_ENTITIES))
    return watched & (offset >= first) & (offset < stop)


def _steps(rows: Dataset, first: int, stop: int) -> pa.Table:
    """What was before each step from the offset first to stop (exclusive), newest first."""
    made = _columns(_START, field("valid_from"), scalar(None).cast(pa.string()))
    ended = _columns(_STOP, field("valid_to"), field("value"))
    found = [
        rows.scanner(columns, _watched(offset, first, stop), **_NEXT_TO_NONE).to_table()
        for offset, columns in ((_START, made), (_STOP, ended))
    ]
    order = ("offset", "descending"), *((one, "ascending") for one in ("entity", "key", "value"))
    return pa.concat_tables(found, promote_options="permissive").sort_by([*order])


def _ranges(rows: Dataset, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges of offsets, newest first, whose steps are few enough to be sorted together; begin and
    the first of a range are inclusive, end and the second exclusive."""
    width = (end - begin) // _BUCKETS + 1
    counts = np.zeros(_BUCKETS + 1, dtype=np.int64)
    for offset in (_START, _STOP):
        asked = rows.scanner({"at": offset}, _watched(offset, begin, end), **_NEXT_TO_NONE)
        for batch in asked.to_batches():
            found = (batch["at"].to_numpy(zero_copy_only=False) - begin) // width
            counts += np.bincount(found, minlength=_BUCKETS + 1)
    stop, steps = _BUCKETS + 1, 0
    for bucket in reversed(range(_BUCKETS + 1)):
        if steps and steps + counts[bucket] > _SORTED_AT_ONCE:
            yield begin + (bucket + 1) * width, min(end, begin + stop * width)
            stop, steps = bucket + 1, 0
        steps += int(counts[bucket])
    if steps:
        yield begin, min(end, begin + stop * width)
