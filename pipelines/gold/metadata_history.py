"""gold.metadata_history: the versions of entities, from the rows of a replay."""

from __future__ import annotations

import pyarrow as pa

from pipelines.gold.written_rows import rows_of_kind
from pipelines.replay.written import OF_VERSION, VERSION


def metadata_history(written: pa.Table) -> pa.Table:
    """Rows of gold.metadata_history: the versions of entities. written: rows of WRITTEN."""
    return rows_of_kind(written, VERSION, OF_VERSION)
