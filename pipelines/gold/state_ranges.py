"""gold.state_ranges: the end offsets at which a cluster's state is known."""

from __future__ import annotations

import pyarrow as pa

from pipelines.gold.written_rows import rows_of_kind
from pipelines.replay.written import OF_RANGE, RANGE


def state_ranges(written: pa.Table) -> pa.Table:
    """Rows of gold.state_ranges: the end offsets at which the state is known. written: rows of
    WRITTEN."""
    columns = {"valid_from_offset": "from_offset", "valid_to_offset": "to_offset"}
    return rows_of_kind(written, RANGE, OF_RANGE, columns)
