"""The agreed branch as ranges of offsets, and the rows of silver.committed_log."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pipelines.cluster.branch import branch_batches, holders_of
from pipelines.in_memory import committed
from pipelines.silver.committed_log import AgreedBranch
from pipelines.tables.silver import COMMITTED_LOG
from replica.history.log import OffsetRange
from tests.pipelines.in_memory.batch_rows import batches

ROWS = [
    {
        **{"cluster_id": "c", "offset": offset, "leader_epoch": epoch, "crc": crc},
        "commitment": commitment,
    }
    for offset, epoch, crc, commitment in (
        (3, 1, 7, "proven"),
        (4, 1, 7, "proven"),
        (5, 1, 8, "proven"),
        (9, 2, 9, "unproven"),
        (10, 2, 9, "unproven"),
    )
]
BRANCH = AgreedBranch.of_table("c", pa.Table.from_pylist(ROWS))
AS_RANGES = AgreedBranch(
    *(np.array(column) for column in ([3, 5, 9], [5, 6, 11], [1, 1, 2], [7, 8, 9])),
    np.array([True, True, False]),
    "c",
)


@pytest.mark.parametrize("branch", [BRANCH, AS_RANGES])
def test_a_range_is_a_row_for_each_of_its_offsets(branch: AgreedBranch) -> None:
    assert branch.table().to_pylist() == ROWS
    assert branch.entries == 5
    assert [branch.epoch_at(offset) for offset in (3, 10)] == [1, 2]
    assert [branch.epoch_at(offset) for offset in (2, 6, 11)] == [None] * 3
    assert branch.proven == (OffsetRange(3, 6),)


def test_rows_come_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed, "_ROWS_AT_ONCE", 2)
    tables = [*AS_RANGES.tables()]
    assert len(tables) > 1
    assert [row for table in tables for row in table.to_pylist()] == ROWS


def test_a_batch_of_another_epoch_or_crc_is_not_the_branchs() -> None:
    offsets, epochs, crcs = (
        np.array(column) for column in ([3, 3, 3, 6], [1, 2, 1, 1], [7, 7, 8, 8])
    )
    assert AS_RANGES.has(offsets, epochs, crcs).tolist() == [True, False, False, False]
    nothing = AgreedBranch.of_table("c", COMMITTED_LOG.arrow_schema.empty_table())
    assert not nothing.has(offsets, epochs, crcs).any()
    assert (nothing.epoch_at(3), nothing.table().num_rows) == (None, 0)


def test_each_batch_of_the_branch_is_held_by_the_first_replica_that_has_it_undamaged() -> None:
    row = {"cluster_id": "c", "directory_id": "d", "leader_epoch": 1, "crc": 7, "last_offset": 4}
    rows = [
        {**row, "node_id": 2, "base_offset": 3},
        {**row, "node_id": 1, "base_offset": 3, "crc_valid": False},
        {**row, "node_id": 1, "base_offset": 5, "last_offset": 5, "crc": 8},
        {**row, "node_id": 2, "base_offset": 5, "last_offset": 5, "crc": 8},
        {**row, "node_id": 1, "base_offset": 9, "last_offset": 10, "leader_epoch": 2, "crc": 9},
    ]
    spans = holders_of(branch_batches(AS_RANGES, batches(rows))).to_pylist()
    assert [(one["node_id"], one["from"], one["to"]) for one in spans] == [(2, 3, 3), (1, 5, 9)]
    assert holders_of(branch_batches(AS_RANGES, batches())).num_rows == 0
