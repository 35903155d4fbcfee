"""The rows of one cluster in bronze's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipelines.in_memory.batches import Batches
from pipelines.in_memory.rows import Row


@dataclass(frozen=True)
class BronzeRows:
    """The rows of one cluster in the tables of bronze.DERIVED_FROM, in that order and with the
    tables' columns.

    records, snapshot_records: of a large cluster only the control records, without `payload`;
    Spark's workers replay the others.
    """

    captures: Sequence[Row]
    batches: Batches
    records: pa.Table
    snapshots: Sequence[Row]
    snapshot_records: pa.Table
    state: Sequence[Row]
    found: Sequence[Row]
