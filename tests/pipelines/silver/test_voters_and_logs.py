"""silver.voter_sets, and a capture's log as a value."""

from __future__ import annotations

import pytest
from pyspark.sql import Row

from pipelines.cluster.replica_logs import ReplicaLogs
from pipelines.gold.inputs import Gold
from pipelines.tables import silver
from replica.history.log import ReplicaLog
from replica.model.epochs import UNDEFINED_EPOCH
from tests.pipelines.cluster.captures import golds_of, rows_of
from tests.pipelines.quorums import Batch, Capture, epoch

KEPT = epoch(1, 1, 0, 10)
TRUNCATED = Batch(10, 10, 1, voters=(1, 2))
CAPTURES = (
    Capture("dynamic", 1, 0, (*KEPT, TRUNCATED), snapshots=((5, 1),), snapshot_voters=(1, 2, 3)),
    Capture("dynamic", 1, 1, (*KEPT, *epoch(2, 2, 10, 12)), quorum_epoch=2),
    Capture("static", 1, 0, KEPT, quorum_epoch=1, static_voters=(3, 1, 2)),
    Capture("static", 1, 1, KEPT, quorum_epoch=1, static_voters=(3, 1, 2)),
    Capture("static", 2, 1),
)


@pytest.fixture(scope="module")
def derived() -> dict[str, Gold]:
    return golds_of(CAPTURES)


@pytest.fixture(scope="module")
def sets(derived: dict[str, Gold]) -> list[Row]:
    rows = [row for one in derived.values() for row in rows_of(one, silver.VOTER_SETS)]
    return sorted(rows, key=lambda row: (row.cluster_id, row.source, row.offset or -1))


@pytest.fixture(scope="module")
def logs(derived: dict[str, Gold]) -> dict[tuple[str, int, int], ReplicaLog]:
    """By (cluster, node, minute)."""
    made = {
        cluster: ReplicaLogs(one.bronze, one.silver.held, one.silver.snapshot_sets)
        for cluster, one in derived.items()
    }
    return {
        (capture.cluster, capture.node, capture.minute): made[capture.cluster].of_group(
            [capture.capture_id]
        )[0]
        for capture in CAPTURES
    }


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


def test_a_log_has_the_runs_of_batches_of_its_own_capture_in_order(
    logs: dict[tuple[str, int, int], ReplicaLog],
) -> None:
    before, after = logs["dynamic", 1, 0], logs["dynamic", 1, 1]
    assert [(b.base_offset, b.last_offset, b.epoch) for b in before.batches] == [(0, 10, 1)]
    assert [(b.base_offset, b.last_offset, b.epoch) for b in after.batches] == [
        (0, 9, 1),
        (10, 11, 2),
    ]
    assert (before.quorum_epoch, after.quorum_epoch) == (UNDEFINED_EPOCH, 2)


def test_a_log_has_the_voters_of_its_records_and_snapshots(
    logs: dict[tuple[str, int, int], ReplicaLog],
) -> None:
    before, after = logs["dynamic", 1, 0], logs["dynamic", 1, 1]
    # the snapshot ends at 5, so its voters are in force from 4 on
    assert [(s.offset, len(s.voters)) for s in before.voter_sets] == [(4, 3), (10, 2)]
    assert [(s.offset, s.epoch) for s in before.snapshots] == [(5, 1)]
    assert after.voter_sets == ()
    assert after.snapshots == ()
    assert [(c.offset, c.epoch) for c in after.leader_changes] == [(0, 1), (10, 2)]


def test_an_empty_log_has_nothing(logs: dict[tuple[str, int, int], ReplicaLog]) -> None:
    log = logs["static", 2, 1]
    assert (log.batches, log.snapshots, log.voter_sets, log.leader_changes) == ((), (), (), ())
