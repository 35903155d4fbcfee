"""gold.metadata_changes: the typed changes of entities, from the rows of a replay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cluster.rows import Row, nulls_first
from pipelines.gold.written_rows import rows_of_kind
from pipelines.replay.written import CHANGE, OF_CHANGE

_CHANGE_KEYS = ("cluster_id", "offset", "leader_epoch", "entity", "key", "change")
_key = itemgetter(*_CHANGE_KEYS)
_PROVEN, _SUPERSEDED = "proven", "superseded"


def metadata_changes(written: pa.Table) -> pa.Table:
    """The changes of the agreed branch and of superseded branches, each once."""
    rows = reported_changes(written)
    keys = list(_CHANGE_KEYS)
    times = rows.select(keys).group_by(keys).aggregate([([], "count_all")])
    repeated = times.filter(pc.greater(times["count_all"], 1)).select(keys)
    if not repeated.num_rows:  # as in every cluster without a superseded branch
        return rows
    known = {tuple(row.values()) for row in repeated.to_pylist()}
    columns = (rows[name].to_pylist() for name in _CHANGE_KEYS)
    is_repeated = pa.array([key in known for key in zip(*columns, strict=True)], pa.bool_())
    few = pa.Table.from_pylist(_one_of_equals(rows.filter(is_repeated).to_pylist()), rows.schema)
    return pa.concat_tables([rows.filter(pc.invert(is_repeated)), few])


def reported_changes(written: pa.Table) -> pa.Table:
    """All changes, also equal changes of several branches. written: rows of WRITTEN."""
    return rows_of_kind(written, CHANGE, OF_CHANGE, {"record_offset": "offset", "valid_from": "at"})


def _one_of_equals(rows: Sequence[Row]) -> list[Row]:
    """The proven changes, and of the other changes one for each key. A superseded change is left
    out where a proven one has its key."""
    agreed = [row for row in rows if row["commitment"] == _PROVEN]
    others = _one_of_each(row for row in rows if row["commitment"] != _PROVEN)
    # Where a quorum broke its promises, one epoch has two records at an offset.
    taken = {
        key
        for key in map(_key, agreed)
        if key in others and others[key]["commitment"] == _SUPERSEDED
    }
    return [*agreed, *(row for key, row in others.items() if key not in taken)]


def _one_of_each(changes: Iterable[Row]) -> dict[tuple[Any, ...], Row]:
    """One change for each key. Branches that lost may share their first records, and so have equal
    changes. Of equal changes one is kept: an unproven one rather than a superseded one, and a
    superseded one rather than one without a commitment."""
    first: dict[tuple[Any, ...], Row] = {}
    for row in sorted(changes, key=lambda row: nulls_first([row["new"], row["old"]])):
        key = _key(row)
        if key not in first or (row["commitment"] or "") > (first[key]["commitment"] or ""):
            first[key] = row
    return first
