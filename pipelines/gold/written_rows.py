"""The rows of a replay as the rows of derived tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc


def rows_of_kind(
    written: pa.Table,
    what: str,
    columns: Sequence[str],
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> pa.Table:
    """The rows of WRITTEN whose kind is `what`, with cluster_id and `columns`. renamed: new names
    of columns, by old names."""
    is_of_kind = pc.equal(written["what"], what)
    rows = written.select(["cluster_id", *columns])
    of_kind = rows if pc.all(is_of_kind).as_py() else rows.filter(is_of_kind)
    return of_kind.rename_columns([renamed.get(name, name) for name in of_kind.column_names])
