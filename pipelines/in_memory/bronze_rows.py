"""The rows of one cluster in bronze's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.in_memory.batches import Batches
from pipelines.in_memory.rows import Row


@dataclass(frozen=True)
class BronzeRows:
    """The rows of one cluster in the tables of bronze.DERIVED_FROM, in that order and with the
    tables' columns.

    records, snapshot_records: of a large cluster only the control records; Spark's workers replay
    the others.
    """

    captures: Sequence[Row]
    batches: Batches
    records: Sequence[Row]
    snapshots: Sequence[Row]
    snapshot_records: Sequence[Row]
    state: Sequence[Row]
    found: Sequence[Row]
