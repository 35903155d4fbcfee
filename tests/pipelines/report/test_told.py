"""What the page tells of leaders, log starts, rounds and lost records, over small lakes."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from tests.pipelines.report.incidents import split
from tests.pipelines.report.pages import Reported, change
from tests.pipelines.report.small_lake import at, capture, together


def test_an_epoch_whose_leader_one_replica_does_not_know_is_drawn_as_its_leader_s(
    reported: Reported,
) -> None:
    rows = split(healed=True)
    for row in rows["silver.leader_epochs"]:
        assert isinstance(row, dict)
        if row["node_id"] == 3 and row["epoch"] == 1:
            row["leader_id"] = None
    report, page = reported(rows)
    (cluster,) = report.clusters
    drawn = ElementTree.fromstring(str(cluster.epoch_drawing))  # noqa: S314 - ours
    blocks = [one for one in drawn.findall("rect") if "block" in one.get("class", "")]
    told = [(one.findtext("title"), one.get("class")) for one in blocks]
    assert told == [
        ("epoch 1, leader 2: offsets 0 to 9", "block hue0"),
        ("epoch 2, leader 3: offsets 10 to 14", "block hue1"),
        ("epoch 1, leader 2: offsets 0 to 9", "block hue0"),
        ("epoch 2, leader 3: offsets 10 to 14", "block hue1"),
        ("epoch 1, leader 2 (its record isn't in this log): offsets 0 to 9", "block hue0"),
        ("epoch 2, leader 3: offsets 10 to 14", "block hue1"),
    ]
    assert "leader 2 leader 3" in page.text
    assert "leader unknown" not in page.text


def test_leaders_a_multiple_of_the_fills_apart_are_drawn_apart(reported: Reported) -> None:
    rows = split(healed=True)
    for row in (*rows["silver.leader_epochs"], *rows["gold.leader_epoch_history"]):
        assert isinstance(row, dict)
        row["leader_id"] = {1: 2, 2: 2, 3: 8}[row["leader_id"]]
    report, _ = reported(rows)
    (cluster,) = report.clusters
    assert [(one.fill, one.text) for one in cluster.fills.key()] == [
        ("hue0", "leader 2"),
        ("hue1", "leader 8"),
    ]
    leaders = str(cluster.leader_drawing)
    assert 'class="block hue0"' in leaders
    assert 'class="block hue1"' in leaders


def test_an_unknown_leader_has_a_fill_of_its_own(reported: Reported) -> None:
    rows = split(healed=True)
    for row in (*rows["silver.leader_epochs"], *rows["gold.leader_epoch_history"]):
        assert isinstance(row, dict)
        if row["epoch"] == 1:
            row["leader_id"] = None
    report, page = reported(rows)
    (cluster,) = report.clusters
    assert "epoch 1, leader unknown: offsets 0 to 9" in page.text
    assert str(cluster.epoch_drawing).count('class="block unknown"') == 3
    assert "leader 3 leader unknown" in page.text


def test_a_log_start_that_lies_inside_a_segment_is_one_number_everywhere(
    reported: Reported,
) -> None:
    rows = split(healed=True)
    for row in rows["bronze.captures"]:
        assert isinstance(row, dict)
        if (row["node_id"], row["capture_group"]) == (3, "group-3"):
            row["log_start_offset"] = 12
    _, page = reported(rows)
    title = "node 3, voter: offsets 12 to 14, older batches from 0 on still there"
    assert title in page.text
    assert "3 voter 12 0 15 2" in page.text, "log start, oldest batch, log end and epoch of node 3"
    assert "epoch 2, leader 3: offsets 10 to 11, below the log start" in page.text


def test_rounds_that_have_no_time_of_their_own_are_called_by_name_and_newest_record(
    reported: Reported,
) -> None:
    rows = split(healed=True)
    names = {"group-1": "live", "group-2": "split", "group-3": "final"}
    for row in rows["bronze.captures"]:
        assert isinstance(row, dict)
        row |= {"round_name": names[row["capture_group"]], "has_own_time": False}
    _, page = reported(rows)
    assert (
        "9 captures in 3 rounds (captures that were taken together): "
        "live (newest record 2026-01-02 03:04:14 UTC), split (newest "
        "record 2026-01-02 03:04:19 UTC) and final (newest record 2026-01-02 03:04:19 UTC)."
    ) in page.text
    assert "Nothing tells when some rounds were captured" in page.text
    assert "Captured: split (newest record 2026-01-02 03:04:19 UTC); the newest" in page.text
    for group in (1, 2, 3):
        assert f"{at(100 * group):%H:%M:%S}" not in page.text, "the time of an ingest"


def test_rounds_with_times_of_their_own_are_called_by_their_times(reported: Reported) -> None:
    rows = split(healed=True)
    for row in rows["bronze.captures"]:
        assert isinstance(row, dict)
        row["has_own_time"] = True
    _, page = reported(rows)
    assert (
        "9 captures in 3 rounds (captures that were taken together): "
        "2026-01-02 03:05:45 UTC, 2026-01-02 03:07:25 UTC and "
        "2026-01-02 03:09:05 UTC."
    ) in page.text
    assert "Nothing tells when" not in page.text


def test_captures_without_order_and_time_are_called_by_their_ingest(reported: Reported) -> None:
    look = {**capture(1, 1), "has_own_time": False}
    _, page = reported({"bronze.captures": [look]})
    assert (
        "1 capture in 1 round (captures that were taken together): "
        "ingested 2026-01-02 03:05:45 UTC." in page.text
    )
    assert "Nothing tells when" in page.text


def test_of_many_rounds_the_first_and_the_last_are_told(reported: Reported) -> None:
    _, page = reported({"bronze.captures": [capture(1, number) for number in range(1, 9)]})
    assert (
        "8 captures in 8 rounds (captures that were taken together): "
        "from 2026-01-02 03:05:45 UTC to 2026-01-02 03:17:25 UTC." in page.text
    )


def _topic(topic: str, offset: int, epoch: int, partitions: int, **more: Any) -> list[Any]:
    """The changes that the records of a new topic make, from `offset` on."""
    same = {"leader_epoch": epoch, **more}
    created = change("topic_created", offset, key=f"id-of-{topic}-{epoch}", name=topic, **same)
    parts = (
        change(
            "partition_created",
            offset + 1 + number,
            **{"entity": "partition", "key": f"id-of-{topic}-{epoch}:{number}"},
            **{"name": f"{topic}-{number}", **same},
        )
        for number in range(partitions)
    )
    return [created, *parts]


@pytest.mark.parametrize("healed", [True, False])
def test_the_verdict_says_what_the_lost_records_would_have_changed(
    reported: Reported, healed: bool
) -> None:
    changes = [
        *_topic("kept", 5, 1, 3),
        *_topic("orders", 10, 1, 1, commitment="superseded"),
        *_topic("other", 10, 2, 2),
    ]
    report, page = reported(together(split(healed=healed), {"gold.metadata_changes": changes}))
    sentence = report.clusters[0].verdict.sentence
    assert ": 1 topic with 1 partition was never created. No committed" in sentence
    assert "partition_created with its topic 1 0 orders-0" in page.text


def test_a_topic_that_was_created_later_is_not_called_never_created(
    reported: Reported,
) -> None:
    changes = [
        *_topic("orders", 10, 1, 1, commitment="superseded"),
        *_topic("orders", 12, 2, 1),
        change("config_set", 11, entity="config", key="c", name="x", new='"1"', leader_epoch=1)
        | {"commitment": "superseded"},
        change("config_set", 14, entity="config", key="c", name="x", new='"2"', leader_epoch=2),
    ]
    report, _ = reported(together(split(healed=True), {"gold.metadata_changes": changes}))
    sentence = report.clusters[0].verdict.sentence
    assert ": 1 config was never set and 2 changes were made again later. No" in sentence


def test_records_that_nobody_proves_are_told_by_what_they_made(reported: Reported) -> None:
    rows = split(healed=True)
    for row in (*rows["gold.truncations"], *rows["gold.divergence_points"]):
        assert isinstance(row, dict)
        if row.get("superseded_lost"):
            row |= {"superseded_lost": 0, "unproven_lost": 2}
    changes = _topic("orders", 10, 1, 1, commitment="unproven")
    report, _ = reported(together(rows, {"gold.metadata_changes": changes}))
    sentence = report.clusters[0].verdict.sentence
    assert "which tell of 1 topic with 1 partition created, and has discarded them" in sentence
    assert "never" not in sentence


def test_a_lake_without_typed_changes_says_when_and_not_what(reported: Reported) -> None:
    report, page = reported(split(healed=True))
    assert "written 2026-01-02 03:04:15" in report.clusters[0].verdict.sentence
    assert "The lake has no typed changes" in page.text
