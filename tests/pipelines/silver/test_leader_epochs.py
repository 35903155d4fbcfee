"""What a capture knows of leader epochs, and when its three sources contradict each other."""

from __future__ import annotations

import pytest
from pyspark.sql import Row

from pipelines.tables import silver
from tests.pipelines.cluster.captures import golds_of, rows_of
from tests.pipelines.quorums import Batch, Capture, epoch

TWO_EPOCHS = (*epoch(1, 1, 0, 10), *epoch(2, 2, 10, 20))
CAPTURES = (
    Capture("plain", 1, 0, TWO_EPOCHS, checkpoint=((1, 0), (2, 10))),
    Capture("no checkpoint", 1, 0, TWO_EPOCHS),
    Capture("empty log", 1, 0),
    Capture("absent in the middle", 1, 0, TWO_EPOCHS, quorum_epoch=2),
    Capture("absent in the middle", 1, 1, TWO_EPOCHS[:2], quorum_epoch=3),
    Capture("absent in the middle", 1, 2, TWO_EPOCHS, quorum_epoch=4),
    Capture("truncated branch", 1, 0, TWO_EPOCHS),
    Capture("truncated branch", 1, 1, (*TWO_EPOCHS[:2], *epoch(3, 3, 10, 30))),
    Capture("looked at twice", 1, 0, TWO_EPOCHS),
    Capture("looked at twice", 1, 1, TWO_EPOCHS),
    Capture("head cut", 1, 0, (Batch(5, 9, 1), *epoch(2, 2, 10, 20)), checkpoint=((1, 5), (2, 10))),
    Capture("head missing", 1, 0, (Batch(0, 9, 1), Batch(10, 19, 2))),
    Capture("leftovers", 1, 0, TWO_EPOCHS, log_start=15, checkpoint=((2, 15),)),
    Capture("start at an epoch's end", 1, 0, TWO_EPOCHS, log_start=10, checkpoint=((2, 10),)),
    Capture("start at the log end", 1, 0, TWO_EPOCHS, log_start=20, checkpoint=((2, 20),)),
    Capture("stale leftovers", 1, 0, TWO_EPOCHS, log_start=15, checkpoint=((1, 0), (2, 15))),
    Capture("wrong entry", 1, 0, TWO_EPOCHS, checkpoint=((1, 0), (2, 11))),
    Capture("missing entry", 1, 0, TWO_EPOCHS, checkpoint=((1, 0),)),
    Capture("about to lead", 1, 0, TWO_EPOCHS, checkpoint=((1, 0), (2, 10), (3, 20))),
    Capture("entry without batches", 1, 0, TWO_EPOCHS, checkpoint=((1, 0), (2, 10), (3, 12))),
    Capture("epochs out of order", 1, 0, (*epoch(2, 2, 0, 10), *epoch(1, 1, 10, 20))),
)


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Row]]:
    """Rows by cluster, in order of capture and epoch."""
    minutes = {capture.capture_id: capture.minute for capture in CAPTURES}
    return {
        cluster: sorted(
            rows_of(one, silver.LEADER_EPOCHS),
            key=lambda row: (minutes[row.capture_id], row.epoch),
        )
        for cluster, one in golds_of(CAPTURES).items()
    }


def _spans(rows: list[Row]) -> list[tuple[int, int | None, int | None]]:
    return [(row.epoch, row.start_offset, row.end_offset) for row in rows]


def test_each_epoch_ends_where_the_next_one_starts(rows: dict[str, list[Row]]) -> None:
    first, second = rows["plain"]
    assert _spans([first, second]) == [(1, 0, 10), (2, 10, 20)]
    assert (first.leader_id, second.leader_id) == (1, 2)
    assert [voter.voter_id for voter in second.voters] == [1, 2, 3]
    assert [voter.voter_id for voter in second.granting_voters] == [1, 2]
    assert second.started_at is not None
    assert second.in_batches
    assert second.in_control_record
    assert second.in_checkpoint


def test_an_empty_log_without_a_checkpoint_knows_no_epoch(rows: dict[str, list[Row]]) -> None:
    assert rows["empty log"] == []


def test_a_batch_absent_in_a_middle_capture_counts_only_before_and_after(
    rows: dict[str, list[Row]],
) -> None:
    assert [row.epoch for row in rows["absent in the middle"]] == [1, 2, 1, 1, 2]


def test_a_truncated_epoch_stays_with_the_capture_that_held_it(rows: dict[str, list[Row]]) -> None:
    assert _spans(rows["truncated branch"]) == [(1, 0, 10), (2, 10, 20), (1, 0, 10), (3, 10, 30)]


def test_an_unchanged_replica_looked_at_again_adds_nothing(rows: dict[str, list[Row]]) -> None:
    assert _spans(rows["looked at twice"]) == [(1, 0, 10), (2, 10, 20)]


def test_an_epoch_whose_head_is_cut_has_no_leader_and_agrees(rows: dict[str, list[Row]]) -> None:
    first, second = rows["head cut"]
    assert (first.start_offset, first.leader_id, first.in_control_record) == (5, None, False)
    assert first.agrees
    assert second.agrees


def test_an_epoch_that_only_the_checkpoint_knows_has_no_offsets(rows: dict[str, list[Row]]) -> None:
    newest = rows["about to lead"][-1]
    assert _spans([newest]) == [(3, None, None)]
    assert not newest.in_batches
    assert newest.in_checkpoint


@pytest.mark.parametrize(
    ("cluster", "agrees"),
    [
        ("plain", [True, True]),
        ("no checkpoint", [True, True]),
        ("leftovers", [True, True]),
        ("start at an epoch's end", [True, True]),
        ("start at the log end", [True, True]),
        ("about to lead", [True, True, True]),
        ("stale leftovers", [False, True]),
        ("wrong entry", [True, False]),
        ("missing entry", [True, False]),
        ("entry without batches", [True, True, False]),
        ("head missing", [False, False]),
        ("epochs out of order", [False, True]),
    ],
)
def test_agreement_of_batches_leader_change_and_checkpoint(
    rows: dict[str, list[Row]], cluster: str, agrees: list[bool]
) -> None:
    assert [row.agrees for row in rows[cluster]] == agrees
