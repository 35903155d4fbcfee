"""The agreed branch as ranges of offsets, and the rows of silver.committed_log."""

from __future__ import annotations

import numpy as np
import pytest

from pipelines.cluster.batches import Batches
from pipelines.cluster.branch import batches_of, pieces_of
from pipelines.cluster.cluster_tables import HeldTables
from pipelines.silver.committed_log import AgreedBranch
from pipelines.silver.log_runs import log_runs, rows_of_runs
from pipelines.tables.bronze import LOG_BATCHES
from replica.history.log import OffsetRange
from tests.pipelines.cluster.batch_rows import log_batches
from tests.pipelines.cluster.record_rows import committed

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
BRANCH = committed(ROWS, "c")
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


def test_a_batch_of_another_epoch_or_crc_is_not_the_branchs() -> None:
    offsets, epochs, crcs = (
        np.array(column) for column in ([3, 3, 3, 6], [1, 2, 1, 1], [7, 7, 8, 8])
    )
    assert AS_RANGES.has(offsets, epochs, crcs).tolist() == [True, False, False, False]
    nothing = committed([], "c")
    assert not nothing.has(offsets, epochs, crcs).any()
    assert (nothing.epoch_at(3), nothing.table().num_rows) == (None, 0)


def test_each_batch_of_the_branch_is_read_from_a_replica_that_has_it_undamaged() -> None:
    same = {"cluster_id": "c", "directory_id": "d", "leader_epoch": 1, "crc": 7, "last_offset": 4}
    second = {**same, "base_offset": 5, "last_offset": 5, "crc": 8}
    newest = {**same, "base_offset": 9, "last_offset": 10, "leader_epoch": 2, "crc": 9}
    rows = [
        {**same, "node_id": 0, "base_offset": 3, "record_count": 2, "in_log": []},  # deleted
        {**same, "node_id": 2, "base_offset": 3, "record_count": 2},
        {**same, "node_id": 1, "base_offset": 3, "record_count": 2, "crc_valid": False},
        {**second, "node_id": 1},
        {**second, "node_id": 2},
        {**newest, "node_id": 1, "record_count": 2},
    ]
    tables = HeldTables("c", {LOG_BATCHES: log_batches(rows)})
    runs = Batches.of(rows_of_runs(log_runs(log_batches(rows))))
    (piece,) = pieces_of(AS_RANGES, runs)
    batches, places, branch = batches_of(tables, piece)
    assert branch.table().to_pylist() == ROWS
    found = [(batches.replicas[code].node_id) for code in batches.replica[places].tolist()]
    assert found == [2, 1, 1]
    assert batches.is_sound[places].all()
