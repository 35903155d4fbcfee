"""What an ingest found in a capture alone is a note where the group's other logs go on."""

from __future__ import annotations

import pytest

from pipelines.gold.superseded_findings import beside_other_logs
from pipelines.tables.bronze import FINDINGS
from tests.pipelines.cluster.captures import gold_of, tables_of
from tests.pipelines.cluster.tables import bronze_tables
from tests.pipelines.quorums import Capture, epoch

BEHIND = Capture("c", 1, 0, epoch(1, 1, 0, 10), quorum_epoch=9)


def _rules(rule: str, at_epoch: int, other_end: int, other_epoch: int, *, idle: bool) -> set[str]:
    """The rules of gold.findings about node 1, where another log ends at other_end."""
    first = epoch(1, 1, 0, 10)
    log = (*first, *epoch(other_epoch, 2, 10, other_end)) if other_end > 10 else first
    other = Capture("c", 2, 0, log, quorum_epoch=9)
    captures = (BEHIND, other) if idle else (BEHIND,)
    found = [
        {
            **capture.replica, "capture_id": capture.capture_id, "rule": rule, "epoch": at_epoch,
            "file": "node/__cluster_metadata-0/quorum-state", "severity": "warning",
            "message": "made",
        }
        for capture in captures
    ]  # fmt: skip
    tables = {**tables_of((BEHIND, other)), FINDINGS: bronze_tables({FINDINGS: found})[FINDINGS]}
    rows = gold_of(tables, "c").findings
    return {row["rule"] for row in rows if row["capture_id"] == BEHIND.capture_id}


@pytest.mark.parametrize(
    ("other_end", "other_epoch", "told"),
    [(20, 7, "quorum-state-ahead"), (20, 2, "elections-without-winner"),
     (10, 1, "elections-without-winner")],
)  # fmt: skip
def test_elections_had_a_winner_where_another_log_shows_a_later_leader(
    other_end: int, other_epoch: int, told: str
) -> None:
    rules = _rules("elections-without-winner", 9, other_end, other_epoch, idle=False)
    assert told in rules


@pytest.mark.parametrize(
    ("leader", "told"), [(-1, "elections-without-winner"), (2, "quorum-state-ahead")]
)
def test_a_node_that_saw_no_winner_is_named_beside_one_that_went_through_many_epochs(
    leader: int, told: str
) -> None:
    other = Capture("c", 2, 0, epoch(1, 1, 0, 10), quorum_epoch=4, leader=leader)
    found = {
        **other.replica, "capture_id": other.capture_id, "rule": "quorum-state-ahead", "epoch": 4,
        "file": "node/__cluster_metadata-0/quorum-state", "severity": "info", "message": "made",
    }  # fmt: skip
    captures = tables_of((BEHIND, other))
    tables = {**captures, FINDINGS: bronze_tables({FINDINGS: [found]})[FINDINGS]}
    rows = gold_of(tables, "c").findings
    assert told in {row["rule"] for row in rows if row["capture_id"] == other.capture_id}


@pytest.mark.parametrize(
    ("other_end", "idle", "told"),
    [(20, False, "epoch-churn"), (20, True, "endless-elections"),
     (10, False, "endless-elections")],
)  # fmt: skip
def test_leaders_that_changed_nothing_are_over_where_another_log_goes_on(
    other_end: int, idle: bool, told: str
) -> None:
    assert told in _rules("endless-elections", 1, other_end, 3, idle=idle)


def test_findings_of_other_rules_stay_as_they_are() -> None:
    rows = [{"capture_id": "a", "rule": "crc-mismatch"}]
    assert list(beside_other_logs(rows, [])) == rows
