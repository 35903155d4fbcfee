"""Gold, and silver.committed_log, of made-up quorums."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from pyspark.sql import Row

from pipelines.gold.inputs import Gold
from pipelines.tables import gold
from tests.pipelines.cluster.captures import golds_of, rows_of
from tests.pipelines.quorums import Batch, Capture, epoch

FIRST = epoch(1, 1, 0, 10)
GHOSTS = (*FIRST, Batch(10, 14, 1))
ELECTED = (*FIRST, *epoch(2, 3, 10, 30))
FORGOTTEN = (*FIRST, Batch(10, 39, 1))
ANEW = (*FIRST, *epoch(2, 3, 10, 20))
LOST_ELECTION = (*FIRST, *epoch(2, 2, 10, 13))
LATER = (*FIRST, *epoch(3, 3, 10, 30))
OF_ANOTHER = (Batch(0, 0, 1, crc=8, leader=2), Batch(1, 19, 1, crc=8))
HEADLESS = (Batch(5, 9, 2),)
TRIMMED = (Batch(5, 9, 1), *epoch(2, 3, 10, 30))

CAPTURES = (
    # voters 1 and 3 went on, 2 keeps what it wrote alone; in the end it has caught up
    Capture("split", 1, 0, ELECTED, quorum_epoch=2),
    Capture("split", 2, 0, GHOSTS, quorum_epoch=1),
    Capture("split", 3, 0, ELECTED, quorum_epoch=2),
    *(Capture("split", node, 1, ELECTED, quorum_epoch=2, group="healed") for node in (1, 2, 3)),
    Capture("one voter away", 1, 0, ELECTED, quorum_epoch=2),
    Capture("one voter away", 2, 0, GHOSTS, quorum_epoch=1),
    Capture("conflict", 1, 0, FIRST, quorum_epoch=1),
    Capture("conflict", 2, 0, (FIRST[0], Batch(1, 9, 1, crc=8)), quorum_epoch=1),
    # a quorum of one was scaled to three by configuration alone: each had a leader in epoch 1
    Capture("two quorums", 1, 0, FIRST, quorum_epoch=1),
    *(Capture("two quorums", node, 0, OF_ANOTHER, quorum_epoch=1) for node in (2, 3)),
    Capture("disjoint", 1, 0, FIRST, quorum_epoch=1),
    Capture("disjoint", 2, 0, epoch(2, 2, 50, 60), quorum_epoch=2),
    Capture("fresh", 1, 0, FIRST, quorum_epoch=1),
    Capture("fresh", 2, 0),
    Capture("alone", 1, 0, FIRST, quorum_epoch=1),
    # the leader of epoch 2 won, wrote three records, and nobody took them
    Capture("lost epoch", 1, 0, LATER, quorum_epoch=3),
    Capture("lost epoch", 2, 0, LOST_ELECTION, quorum_epoch=2),
    Capture("lost epoch", 3, 0, LATER, quorum_epoch=3),
    *(Capture("trimmed", node, 0, TRIMMED, quorum_epoch=2) for node in (1, 2, 3)),
    # retention has deleted where the epoch began: quorum-state alone names its leader
    *(
        Capture("headless", n, 0, HEADLESS, quorum_epoch=2, leader=at)
        for n, at in ((1, 3), (2, -1))
    ),
    *(Capture("two claims", n, 0, HEADLESS, quorum_epoch=2, leader=n) for n in (1, 3)),
    # an early look shows the heads, a late one only of a lagging observer
    *(Capture("lagging", node, 0, ELECTED, quorum_epoch=2) for node in (1, 2, 3)),
    Capture("lagging", 11, 1, (Batch(5, 9, 1),), quorum_epoch=1),
    # nothing proves epoch 2, and later its offsets are seen with epoch 3
    Capture("replaced", 2, 0, LOST_ELECTION, quorum_epoch=2),
    Capture("replaced", 2, 1, LATER, quorum_epoch=3),
    # all that was agreed on, and then one voter alone without it
    *(Capture("lost data", node, 0, ELECTED, quorum_epoch=2) for node in (1, 2, 3)),
    Capture("lost data", 2, 1, FIRST, quorum_epoch=2),
    # voter 2 forgets what it has committed with 1, and commits something else with 3
    *(Capture("forgetful", node, 0, FORGOTTEN, quorum_epoch=1) for node in (1, 2)),
    *(Capture("forgetful", node, 1, ANEW, quorum_epoch=2) for node in (2, 3)),
)


@pytest.fixture(scope="module")
def derived() -> dict[str, Gold]:
    """By cluster."""
    return golds_of(CAPTURES)


@pytest.fixture(scope="module")
def pairs(derived: dict[str, Gold]) -> dict[str, list[Row]]:
    """Rows by capture group."""
    by_group: dict[str, list[Row]] = defaultdict(list)
    for one in derived.values():
        for row in rows_of(one, gold.DIVERGENCE_POINTS):
            by_group[row.capture_group].append(row)
    return by_group


@pytest.fixture(scope="module")
def history(derived: dict[str, Gold]) -> dict[str, list[Row]]:
    """Rows by cluster, ordered by epoch."""
    return {cluster: rows_of(one, gold.LEADER_EPOCH_HISTORY) for cluster, one in derived.items()}


@pytest.fixture(scope="module")
def committed(derived: dict[str, Gold]) -> dict[str, list[dict[str, Any]]]:
    """silver.committed_log by cluster, ordered by offset."""
    return {cluster: one.silver.agreed.table().to_pylist() for cluster, one in derived.items()}


@pytest.fixture(scope="module")
def branches(
    committed: dict[str, list[dict[str, Any]]],
) -> dict[str, list[tuple[int, int, int, str]]]:
    """Runs of silver.committed_log by cluster: (first offset, last offset, epoch, commitment)."""
    by_cluster: dict[str, list[tuple[int, int, int, str]]] = defaultdict(list)
    for row in (row for rows in committed.values() for row in rows):
        runs = by_cluster[row["cluster_id"]]
        offset, what = row["offset"], (row["leader_epoch"], row["commitment"])
        if runs and runs[-1][1:] == (offset - 1, *what):
            runs[-1] = (runs[-1][0], offset, *what)
        else:
            runs.append((offset, offset, *what))
    return by_cluster


@pytest.fixture(scope="module")
def vanished(derived: dict[str, Gold]) -> dict[str, list[Row]]:
    """gold.truncations of the clusters that have any."""
    found = {cluster: rows_of(one, gold.TRUNCATIONS) for cluster, one in derived.items()}
    return {cluster: rows for cluster, rows in found.items() if rows}


def _spans(rows: list[Row]) -> list[tuple[int, int | None, int, int | None, str]]:
    return [(r.epoch, r.leader_id, r.start_offset, r.end_offset, r.commitment) for r in rows]


def test_the_loser_of_a_split_loses_what_the_majority_superseded(
    pairs: dict[str, list[Row]],
) -> None:
    first, agreeing, last = pairs["split@0"]
    assert [(r.node_a, r.node_b, r.relation) for r in (first, agreeing, last)] == [
        (1, 2, "diverged"),
        (1, 3, "identical"),
        (2, 3, "diverged"),
    ]
    for row in (first, last):
        assert (row.divergence_offset, row.truncating_node, row.truncation_offset) == (10, 2, 10)
        assert (row.fetch_rounds, row.draft_fetch_rounds, row.records_lost) == (1, 1, 5)
        assert (row.committed_lost, row.unproven_lost, row.superseded_lost) == (0, 0, 5)
    assert (first.epoch_a, first.epoch_b) == (2, 1)
    assert (last.epoch_a, last.epoch_b) == (1, 2)
    assert agreeing.asDict().keys() - {
        name for name, value in agreeing.asDict().items() if value is None
    } == {
        "cluster_id",
        "capture_group",
        "node_a",
        "directory_a",
        "node_b",
        "directory_b",
        "capture_a",
        "capture_b",
        "is_latest",
        "relation",
    }


def test_only_the_newest_capture_group_is_the_latest(pairs: dict[str, list[Row]]) -> None:
    assert {row.is_latest for row in pairs["split@0"]} == {False}
    assert {row.is_latest for row in pairs["healed"]} == {True}


def test_an_unchanged_replica_is_compared_in_every_group_it_was_seen_in(
    pairs: dict[str, list[Row]],
) -> None:
    assert pairs["split@0"][0].capture_a == pairs["healed"][0].capture_a
    assert [row.relation for row in pairs["healed"]] == ["identical"] * 3


def test_without_a_majority_nothing_lost_is_called_superseded(pairs: dict[str, list[Row]]) -> None:
    (row,) = pairs["one voter away@0"]
    assert row.relation == "diverged"
    assert (row.committed_lost, row.unproven_lost, row.superseded_lost) == (0, 5, 0)


def test_a_conflict_has_its_place_but_no_loser(pairs: dict[str, list[Row]]) -> None:
    (row,) = pairs["conflict@0"]
    assert (row.relation, row.divergence_offset, row.epoch_a, row.epoch_b) == ("conflict", 1, 1, 1)
    assert row.truncating_node is None
    assert row.truncation_offset is None
    assert row.records_lost is None
    assert row.committed_lost is None


@pytest.mark.parametrize(("group", "relation"), [("disjoint@0", "disjoint"), ("fresh@0", "prefix")])
def test_logs_without_common_offsets(
    pairs: dict[str, list[Row]], group: str, relation: str
) -> None:
    (row,) = pairs[group]
    assert (row.relation, row.divergence_offset, row.records_lost) == (relation, None, None)


def test_a_replica_alone_is_compared_with_nobody(pairs: dict[str, list[Row]]) -> None:
    assert "alone@0" not in pairs


def test_the_history_follows_the_branch_the_majority_holds(history: dict[str, list[Row]]) -> None:
    assert _spans(history["split"]) == [(1, 1, 0, 10, "proven"), (2, 3, 10, None, "proven")]
    first, second = history["split"]
    assert first.ended_at == second.started_at
    assert second.ended_at is None
    assert [voter.voter_id for voter in second.voters] == [1, 2, 3]
    assert [voter.voter_id for voter in second.granting_voters] == [1, 2]


def test_an_unproven_epoch_still_follows_the_log_that_would_win(
    history: dict[str, list[Row]],
) -> None:
    # epoch 1 is proven: its leader, which knows a newer epoch, wrote it, and voter 2 holds it
    assert _spans(history["one voter away"]) == [
        (1, 1, 0, 10, "proven"),
        (2, 3, 10, None, "unproven"),
    ]


def test_an_epoch_nobody_took_over_is_superseded_and_ends_no_other(
    history: dict[str, list[Row]],
) -> None:
    assert _spans(history["lost epoch"]) == [
        (1, 1, 0, 10, "proven"),
        (2, 2, 10, 10, "superseded"),
        (3, 3, 10, None, "proven"),
    ]
    first, _, last = history["lost epoch"]
    assert first.ended_at == last.started_at


def test_an_epoch_whose_head_is_gone_everywhere_has_no_leader(
    history: dict[str, list[Row]],
) -> None:
    assert _spans(history["trimmed"]) == [(1, None, 5, 10, "proven"), (2, 3, 10, None, "proven")]
    assert history["trimmed"][0].started_at is None


def test_a_leader_whose_record_is_gone_is_known_by_quorum_states_that_agree(
    history: dict[str, list[Row]],
) -> None:
    (known,) = history["headless"]
    assert (known.epoch, known.leader_id, known.started_at) == (2, 3, None)
    (claimed,) = history["two claims"]
    assert (claimed.epoch, claimed.leader_id) == (2, None)


def test_of_two_leaders_of_an_epoch_the_one_of_the_agreed_branch_is_named(
    history: dict[str, list[Row]], branches: dict[str, list[tuple[int, int, int, str]]]
) -> None:
    assert branches["two quorums"] == [(0, 19, 1, "unproven")], "nobody knows which is right"
    assert _spans(history["two quorums"]) == [(1, 2, 0, None, "unproven")]


def test_a_group_that_sees_less_takes_nothing_back(history: dict[str, list[Row]]) -> None:
    assert _spans(history["lagging"]) == [(1, 1, 0, 10, "proven"), (2, 3, 10, None, "proven")]


def test_an_unproven_epoch_ends_where_a_newer_group_shows_another_entry(
    history: dict[str, list[Row]],
) -> None:
    assert _spans(history["replaced"]) == [
        (1, 1, 0, 10, "unproven"),
        (2, 2, 10, 10, "unproven"),
        (3, 3, 10, None, "unproven"),
    ]


@pytest.mark.parametrize(
    ("cluster", "runs"),
    [
        ("split", [(0, 9, 1, "proven"), (10, 29, 2, "proven")]),
        ("one voter away", [(0, 9, 1, "proven"), (10, 29, 2, "unproven")]),
        ("lost epoch", [(0, 9, 1, "proven"), (10, 29, 3, "proven")]),
        ("trimmed", [(5, 9, 1, "proven"), (10, 29, 2, "proven")]),
        ("lagging", [(0, 9, 1, "proven"), (10, 29, 2, "proven")]),
        ("replaced", [(0, 9, 1, "unproven"), (10, 29, 3, "unproven")]),
        ("lost data", [(0, 9, 1, "proven"), (10, 29, 2, "proven")]),
        ("forgetful", [(0, 9, 1, "proven"), (10, 19, 2, "unproven")]),  # both are proven
    ],
)
def test_the_committed_log_is_the_agreed_branch_to_its_end(
    branches: dict[str, list[tuple[int, int, int, str]]],
    cluster: str,
    runs: list[tuple[int, int, int, str]],
) -> None:
    assert branches[cluster] == runs


def test_each_offset_is_in_the_committed_log_once(
    committed: dict[str, list[dict[str, Any]]],
) -> None:
    for rows in committed.values():
        offsets = [row["offset"] for row in rows]
        assert offsets == sorted(set(offsets))


@pytest.mark.parametrize(
    ("cluster", "offsets", "epochs", "lost"),
    [
        ("split", (10, 15), [1], (0, 0, 5)),
        ("replaced", (10, 13), [2], (0, 3, 0)),
        ("lost data", (10, 30), [2], (20, 0, 0)),
        ("forgetful", (10, 40), [1], (30, 0, 0)),
    ],
)
def test_a_truncation_says_whether_what_vanished_was_committed(
    vanished: dict[str, list[Row]],
    cluster: str,
    offsets: tuple[int, int],
    epochs: list[int],
    lost: tuple[int, int, int],
) -> None:
    (row,) = vanished[cluster]
    assert (row.node_id, row.from_offset, row.to_offset) == (2, *offsets)
    assert row.epochs == epochs
    assert (row.committed_lost, row.unproven_lost, row.superseded_lost) == lost
    assert row.records == sum(lost)
    assert row.last_seen < row.seen_at


def test_only_vanished_records_are_truncations(vanished: dict[str, list[Row]]) -> None:
    assert set(vanished) == {"split", "replaced", "lost data", "forgetful"}
