"""What the tables say of logs that are followed, and of what a log lost, as check says it."""

from __future__ import annotations

from pipelines.gold.divergence_points import LOSS
from pipelines.tables.bronze import FINDINGS
from pipelines.tables.gold import DIVERGENCE_POINTS, TRUNCATIONS
from replica.doctor.check.catalogue import groups, log
from tests.pipelines.cluster.captures import gold_of, rows_of, tables_of
from tests.pipelines.cluster.tables import bronze_tables
from tests.pipelines.quorums import Batch, Capture, epoch

OLD, NEW = epoch(1, 1, 0, 10), epoch(6, 1, 10, 20)


def test_no_log_is_truncated_to_follow_one_that_a_majority_is_ahead_of() -> None:
    cut_off = (*epoch(1, 1, 0, 5), *epoch(3, 3, 5, 8))
    captures = [
        Capture("o", 1, 0, (*epoch(1, 1, 0, 5), Batch(5, 9, 1), *NEW), quorum_epoch=6),
        Capture("o", 2, 0, (*epoch(1, 1, 0, 5), Batch(5, 9, 1), *NEW), quorum_epoch=6),
        Capture("o", 3, 0, cut_off, quorum_epoch=3),
        Capture("o", 4, 0, (*epoch(1, 1, 0, 5), Batch(5, 9, 1)), quorum_epoch=6),
    ]
    gold = gold_of(tables_of(captures), "o")
    pairs = {(row.node_a, row.node_b): row for row in rows_of(gold, DIVERGENCE_POINTS)}
    assert pairs[1, 3].truncating_node == pairs[2, 3].truncating_node == 3
    assert pairs[3, 4].relation == "diverged"
    assert {pairs[3, 4][name] for name in ("truncating_node", *LOSS)} == {None}
    assert groups.COMMITTED_DATA_AT_RISK.id not in {row["rule"] for row in gold.findings}


def test_a_directory_that_did_not_change_is_compared_with_the_newest_logs_alone() -> None:
    beside = (*OLD, *epoch(2, 2, 10, 12))
    unchanged = Capture("u", 3, 0, (*OLD, *epoch(1, 1, 10, 12)[1:]), quorum_epoch=6)
    captures = [
        Capture("u", 2, 0, beside, quorum_epoch=2),
        unchanged,
        Capture("u", 2, 9, unchanged.batches, quorum_epoch=6),
        Capture("u", 3, 9, unchanged.batches, quorum_epoch=6),
    ]
    assert captures[3].capture_id == unchanged.capture_id
    gold = gold_of(tables_of(captures), "u")
    assert any(row.relation == "diverged" for row in rows_of(gold, DIVERGENCE_POINTS))
    assert groups.LOG_DIVERGENCE.id not in {row["rule"] for row in gold.findings}
    before = gold_of(tables_of(captures[:2]), "u")
    assert groups.LOG_DIVERGENCE.id in {row["rule"] for row in before.findings}


def test_what_stood_behind_a_run_of_zeros_was_not_lost() -> None:
    torn = Capture("z", 3, 0, (*OLD, Batch(12, 13, 6), Batch(14, 15, 6)), quorum_epoch=6)
    others = [Capture("z", node, 5, (*OLD, *NEW), quorum_epoch=6) for node in (1, 2)]
    captures = [torn, *others, Capture("z", 3, 5, OLD, quorum_epoch=6)]
    tables = tables_of(captures)
    assert [row.from_offset for row in rows_of(gold_of(tables, "z"), TRUNCATIONS)] == [12]
    zeros = {
        **torn.replica, "capture_id": torn.capture_id, "rule": log.ZERO_HOLE.id, "offset": 10,
        "file": "node/__cluster_metadata-0/00000000000000000000.log", "severity": "error",
        "message": "made",
    }  # fmt: skip
    tables = {**tables, FINDINGS: bronze_tables({FINDINGS: [zeros]})[FINDINGS]}
    assert rows_of(gold_of(tables, "z"), TRUNCATIONS) == []
