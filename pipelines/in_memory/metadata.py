"""gold.metadata_history, gold.metadata_changes and gold.state_ranges of a small lake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.in_memory.rows import Row, nulls_first
from pipelines.replay.written import CHANGE, OF_CHANGE, OF_RANGE, OF_VERSION, RANGE, VERSION

_CHANGE_KEYS = ("cluster_id", "offset", "leader_epoch", "entity", "key", "change")
_PROVEN, _SUPERSEDED = "proven", "superseded"


def metadata_tables(written: pa.Table) -> Iterator[tuple[str, list[Row]]]:
    """The name and the rows of each of the three tables; written: WRITTEN, of Replayed."""
    yield "gold.metadata_history", _of(written, VERSION, OF_VERSION)
    yield "gold.metadata_changes", metadata_changes(written)
    yield "gold.state_ranges", state_ranges(written)


def metadata_changes(written: pa.Table) -> list[Row]:
    """The changes of the agreed branch, and those of branches that lost, each once."""
    rows = _of(written, CHANGE, OF_CHANGE, {"record_offset": "offset", "valid_from": "at"})
    agreed = [row for row in rows if row["commitment"] == _PROVEN]
    others = _one_of_each(row for row in rows if row["commitment"] != _PROVEN)
    # where a quorum broke its promises, one epoch has two records at an offset
    taken = {
        key
        for key in map(_key, agreed)
        if key in others and others[key]["commitment"] == _SUPERSEDED
    }
    return [*agreed, *(row for key, row in others.items() if key not in taken)]


def state_ranges(written: pa.Table) -> list[Row]:
    """The end offsets at which the state is known; written: WRITTEN."""
    columns = {"valid_from_offset": "from_offset", "valid_to_offset": "to_offset"}
    return _of(written, RANGE, OF_RANGE, columns)


def _of(
    written: pa.Table,
    what: str,
    columns: Sequence[str],
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> list[Row]:
    """The rows of one kind, in these columns and cluster_id; renamed: old names to new ones."""
    of_kind = written.filter(pc.equal(written["what"], what)).select(["cluster_id", *columns])
    names = [renamed.get(name, name) for name in of_kind.column_names]
    rows: list[Row] = of_kind.rename_columns(names).to_pylist()
    return rows


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _CHANGE_KEYS)


def _one_of_each(changes: Iterable[Row]) -> dict[tuple[Any, ...], Row]:
    """By key. Branches that lost may share their first records, and each tells them: unproven goes
    before superseded before none."""
    first: dict[tuple[Any, ...], Row] = {}
    for row in sorted(changes, key=lambda row: nulls_first([row["new"], row["old"]])):
        key = _key(row)
        if key not in first or (row["commitment"] or "") > (first[key]["commitment"] or ""):
            first[key] = row
    return first
