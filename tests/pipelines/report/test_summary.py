"""The first page: when, impact and confidence in plain words; what is folded and what grouped."""

from __future__ import annotations

from typing import Any

from pipelines.report.activity import OTHER, group_of
from pipelines.report.summary import HIGH, LIMITED
from tests.pipelines.report.incidents import split
from tests.pipelines.report.journeys import journey
from tests.pipelines.report.pages import Reported, change
from tests.pipelines.report.small_lake import CLUSTER, capture, replica, together


def test_the_first_page_says_when_it_was_and_what_it_did(reported: Reported) -> None:
    report, page = reported(journey())
    told = report.clusters[0].summary
    assert told.when == (
        "Records that node 2 lost, or would lose, were written 2026-01-02 03:04:15 to 03:04:16 "
        "UTC.",
        "They were seen to be gone in 2026-01-02 03:09:05 UTC.",
        "Partitions were without leader from 2026-01-02 03:04:18 UTC on, until the newest state "
        "known.",
        "The captures tell of 2 leader epochs; in the newest, 2, node 3 leads since 2026-01-02 "
        "03:04:15 UTC.",
    )
    assert told.impact[:2] == (
        "Nobody could write to or read from up to 1 of 2 partitions: they had no leader, at "
        "2026-01-02 03:04:18 UTC.",
        "2 records of the metadata log were lost, or will be, that no client ever saw accepted.",
    )
    assert all(one in page.text for one in (*told.when, *told.impact, *told.confidence))


def test_confidence_is_high_where_every_voter_was_captured_and_all_is_known(
    reported: Reported,
) -> None:
    report, _ = reported(journey())
    told = report.clusters[0].summary
    assert told.certainty == HIGH
    assert told.confidence[0] == "The logs of all 3 voters were captured."


def test_a_limited_confidence_names_its_reason(reported: Reported) -> None:
    rows = split(healed=True)
    for table in rows.values():
        table[:] = [row for row in table if row.get("node_id") != 3]
    for row in rows["gold.truncations"]:
        assert isinstance(row, dict)
        row |= {"superseded_lost": 0, "unproven_lost": 2}
    rows["bronze.damage"] = [{"capture_id": "capture-1-3", "file": "a.log", "kind": "framing"}]
    report, _ = reported(rows)
    told = report.clusters[0].summary
    assert told.certainty == LIMITED
    assert told.confidence == (
        "Voters that nobody captured: 3. What their logs hold is not known.",
        "Nothing proves whether 2 records were committed.",
        "1 place of the files could not be read.",
    )


def test_impact_tells_how_the_cluster_is_now_and_what_one_more_failure_takes(
    reported: Reported,
) -> None:
    bad = {"rule": "no-eligible-leader", "severity": "error", "family": "health"}
    finding = {**replica(1), **bad, "capture_id": "capture-1-1", "file": "", "message": "1 of 9"}
    exposed: list[dict[str, Any]] = [
        {"kind": "nothing", "leaderless": 4, "has_majority": True},
        {"kind": "pair", "gone": "11,12", "leaderless": 9, "has_majority": False},
    ]
    report, page = reported(
        {
            "bronze.captures": [capture(1, 1)],
            "gold.findings": [finding],
            "gold.failure_exposure": exposed,
        }
    )
    told = report.clusters[0].summary.impact
    assert "By its newest state the cluster itself is not well: no-eligible-leader." in told
    assert told[-1] == (
        "If brokers 11 and 12 failed now, 9 partitions would be without leader and the quorum "
        "would have no majority (4 already are)."
    )
    (step,) = report.clusters[0].health_steps
    assert step[0] == "no-eligible-leader"
    assert "#c1-health-no-eligible-leader" in [a.get("href") for a in page.named("a")]


def test_changes_are_grouped_by_what_they_are_about(reported: Reported) -> None:
    kinds = {"isr_changed": "partition", "leader_changed": "partition", "acl_created": "acl"}
    changes = [change(kind, at, entity=of) for at, (kind, of) in enumerate(kinds.items())]
    report, page = reported(together(split(), {"gold.metadata_changes": changes}))
    found = {
        group.name: [kind.name for kind in group.kinds] for group in report.clusters[0].activity
    }
    assert found == {
        "Partitions": ["isr_changed", "leader_changed"],
        "Users, ACLs, quotas and tokens": ["acl_created"],
    }
    assert "3 kinds as a table" in page.text
    told = [group_of(one) for one in ("PARTITION_CHANGE_RECORD", "LEADER_CHANGE", "NO_OP_RECORD")]
    assert told == ["Partitions", "Quorum, features and ids", OTHER]


def test_snapshots_are_folded_where_all_is_well_and_open_where_one_is_not(
    reported: Reported,
) -> None:
    judged = {**replica(1), "capture_id": "capture-1-1", "epoch": 1, "cluster_id": CLUSTER}
    rows = {
        "bronze.captures": [capture(1, 1)],
        "gold.snapshot_validity": [{**judged, "end_offset": 5, "verdict": "valid"}],
    }
    _, page = reported(rows)
    assert "1 snapshot : all is well with it" in page.text or "1 snapshot: all is" in page.text
    assert [tag for tag in page.named("details") if "open" in tag] == []


def test_an_unsound_snapshot_is_not_folded(reported: Reported) -> None:
    judged = {**replica(1), "capture_id": "capture-1-1", "epoch": 1, "cluster_id": CLUSTER}
    rows = {
        "bronze.captures": [capture(1, 1)],
        "gold.snapshot_validity": [
            {**judged, "end_offset": 5, "verdict": "valid"},
            {**judged, "end_offset": 7, "verdict": "invalid"},
        ],
    }
    _, page = reported(rows)
    assert "2 snapshots, 1 of them not sound" in page.text
    assert len([tag for tag in page.named("details") if "open" in tag]) == 1
