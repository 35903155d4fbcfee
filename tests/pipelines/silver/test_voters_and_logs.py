"""silver.voter_sets, and a capture's log packed into one row."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from pipelines.silver.voter_sets import voter_sets
from tests.pipelines.quorums import Batch, Look, bronze_tables, epoch, logs_of, with_held

pytestmark = pytest.mark.spark

KEPT = epoch(1, 1, 0, 10)
TRUNCATED = Batch(10, 10, 1, voters=(1, 2))
LOOKS = (
    Look("dynamic", 1, 0, (*KEPT, TRUNCATED), snapshots=((5, 1),), snapshot_voters=(1, 2, 3)),
    Look("dynamic", 1, 1, (*KEPT, *epoch(2, 2, 10, 12)), quorum_epoch=2),
    Look("static", 1, 0, KEPT, quorum_epoch=1, static_voters=(3, 1, 2)),
    Look("static", 1, 1, KEPT, quorum_epoch=1, static_voters=(3, 1, 2)),
    Look("static", 2, 1),
)


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, Any]:
    return with_held(bronze_tables(spark, LOOKS))


@pytest.fixture(scope="module")
def sets(tables: dict[str, Any]) -> list[Row]:
    found = voter_sets(tables["control"], tables["snapshot_records"], tables["replica_state"])
    return found.orderBy("cluster_id", "source", "offset").collect()


@pytest.fixture(scope="module")
def logs(tables: dict[str, Any]) -> dict[tuple[str, int, int], Row]:
    """Rows by (cluster, node, minute)."""
    rows = logs_of(tables).collect()
    names = {(look.capture_group, look.capture_id): look for look in LOOKS}
    found = [(names[row.capture_group, row.capture_id], row) for row in rows]
    return {(look.cluster, look.node, look.minute): row for look, row in found}


def _named(sets: list[Row], cluster: str) -> list[tuple[str, int | None, int, list[int]]]:
    return [
        (row.source, row.offset, row.epoch, [voter.voter_id for voter in row.voters])
        for row in sets
        if row.cluster_id == cluster
    ]


def test_a_dynamic_quorum_names_its_voters_in_records_and_snapshots(sets: list[Row]) -> None:
    """Epoch 2's LEADER_CHANGE at 10 says less than the records before it."""
    assert _named(sets, "dynamic") == [
        ("kraft_voters", 10, 1, [1, 2]),
        ("leader_change", 0, 1, [1, 2, 3]),
        ("snapshot", 5, 1, [1, 2, 3]),
    ]
    truncated = sets[0].voters[0]
    assert (truncated.min_supported_version, truncated.max_supported_version) == (0, 1)
    assert truncated.endpoints == [Row(name="CONTROLLER", host="localhost", port=9001)]


def test_a_static_quorum_names_them_in_leader_changes_and_quorum_state(sets: list[Row]) -> None:
    assert _named(sets, "static") == [
        ("leader_change", 0, 1, [1, 2, 3]),
        ("quorum_state", None, 1, [1, 2, 3]),
    ]
    assert sets[-1].voters[0].directory_id is None
    assert sets[-1].voters[0].endpoints is None


def test_a_packed_log_has_the_batches_of_its_own_capture_in_order(
    logs: dict[tuple[str, int, int], Row],
) -> None:
    before, after = logs["dynamic", 1, 0], logs["dynamic", 1, 1]
    assert [(b.base_offset, b.last_offset, b.epoch) for b in before.batches] == [
        (0, 0, 1),
        (1, 9, 1),
        (10, 10, 1),
    ]
    assert [(b.base_offset, b.epoch) for b in after.batches] == [(0, 1), (1, 1), (10, 2), (11, 2)]
    assert before.batches[0] == after.batches[0]
    assert (before.quorum_epoch, after.quorum_epoch) == (None, 2)


def test_a_packed_log_has_the_voters_of_its_log_and_snapshots(
    logs: dict[tuple[str, int, int], Row],
) -> None:
    before, after = logs["dynamic", 1, 0], logs["dynamic", 1, 1]
    # the snapshot ends at 5, so its voters are in force from 4 on
    assert [(s.offset, len(s.voters)) for s in before.voter_sets] == [(4, 3), (10, 2)]
    assert [tuple(s) for s in before.snapshots] == [(5, 1)]
    assert after.voter_sets == []
    assert after.snapshots == []
    assert [(c.offset, c.epoch) for c in after.leader_changes] == [(0, 1), (10, 2)]


def test_an_empty_log_is_packed_into_empty_lists(logs: dict[tuple[str, int, int], Row]) -> None:
    row = logs["static", 2, 1]
    assert (row.batches, row.snapshots, row.voter_sets, row.leader_changes) == ([], [], [], [])


def test_an_unchanged_replica_is_packed_once_for_each_group(
    logs: dict[tuple[str, int, int], Row],
) -> None:
    first, again = logs["static", 1, 0], logs["static", 1, 1]
    assert first.capture_id == again.capture_id
    assert first.batches == again.batches
    assert first.captured_at < again.captured_at
