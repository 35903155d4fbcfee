"""Who led, where logs parted and what was lost in the named scenarios: as the simulator saw it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import combinations

import pytest

from pipelines.tables.gold import DIVERGENCE_POINTS, LEADER_EPOCH_HISTORY, TRUNCATIONS
from pipelines.tables.silver import COMMITTED_LOG
from replica.model.keys import ReplicaKey
from tests.pipelines.scenarios.chronicle import BatchId
from tests.pipelines.scenarios.conftest import Row, ScenarioLake, each_scenario
from tests.pipelines.scenarios.played import (
    Moment,
    Played,
    batches,
    moment_of,
    seen_epochs,
    vanished,
)

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@each_scenario()
def test_the_agreed_branch_is_the_log_that_the_quorum_goes_on_with(
    lake: ScenarioLake, played: Played
) -> None:
    rows = lake.rows(COMMITTED_LOG, played)
    found = [(row["offset"], row["leader_epoch"], row["crc"]) for row in rows]
    assert found == [
        (offset, entry.epoch, int.from_bytes(entry.crc, "big"))
        for entry in played.branch
        for offset in range(entry.base, entry.last + 1)
    ]
    if played.scenario.is_safe:
        assert {row["commitment"] for row in rows} == {"proven"}


@each_scenario()
def test_every_epoch_has_its_leader_and_its_offsets(lake: ScenarioLake, played: Played) -> None:
    rows = lake.rows(LEADER_EPOCH_HISTORY, played)
    captured = seen_epochs(played)
    assert [row["epoch"] for row in rows] == sorted({begun.epoch for begun in captured})
    committed = {(entry.base, entry.epoch) for entry in played.branch}
    for row in rows:
        told = row["leader_id"], row["start_offset"], row["started_at"]
        begun = [one for one in captured if one.epoch == row["epoch"]]
        assert told in [(one.leader.node_id, one.start, moment_of(one.at_ms)) for one in begun]
        granting = {voter["voter_id"] for voter in row["granting_voters"]}
        assert granting in [one.granting for one in begun]
        if played.scenario.is_safe:
            (one,) = begun
            is_committed = (one.start, one.epoch) in committed
            assert row["commitment"] == ("proven" if is_committed else "superseded")


@each_scenario()
def test_logs_part_where_the_disks_differ(lake: ScenarioLake, played: Played) -> None:
    for moment in (played.at(name) for name in lake.moments_of(played)):
        rows = lake.rows(DIVERGENCE_POINTS, played, moment.name)
        logs = {key: batches(files) for key, files in moment.replicas().items()}
        assert len(rows) == len(list(combinations(logs, 2)))
        for row in rows:
            if not moment.is_tampered_with(row["node_a"], row["node_b"]):
                a, b = (logs[ReplicaKey(row[f"node_{x}"], row[f"directory_{x}"])] for x in "ab")
                check_pair(row, a, b, moment)


def check_pair(row: Row, a: dict[int, BatchId], b: dict[int, BatchId], moment: Moment) -> None:
    """row: of gold.divergence_points; a, b: the batches of both disks by base offset."""
    parted = min((base for base in a.keys() & b.keys() if a[base] != b[base]), default=None)
    if parted is None:
        assert row["divergence_offset"] is None, row
        return
    is_conflict = a[parted].epoch == b[parted].epoch
    assert (row["divergence_offset"], row["epoch_a"], row["epoch_b"]) == (
        parted,
        a[parted].epoch,
        b[parted].epoch,
    )
    assert (row["relation"] == "conflict") == is_conflict
    if is_conflict or row["truncating_node"] is None:
        return
    loser = min(a, b, key=lambda log: (log[max(log)].epoch, log[max(log)].last))
    lost = [batch for base, batch in loser.items() if base >= parted]
    assert row["records_lost"] == count(lost)
    committed = count(batch for batch in lost if batch in moment.committed)
    assert row["committed_lost"] <= committed
    assert row["superseded_lost"] <= count(lost) - committed


@each_scenario(lambda scenario: scenario.tampering is None)
def test_gold_truncations_has_the_records_that_the_replicas_truncated(
    lake: ScenarioLake, played: Played
) -> None:
    found: dict[tuple[ReplicaKey, datetime], set[int]] = {}
    for row in lake.rows(TRUNCATIONS, played):
        place = ReplicaKey(row["node_id"], row["directory_id"]), row["seen_at"]
        found.setdefault(place, set()).update(range(row["from_offset"], row["to_offset"]))
    expected = vanished(played)
    assert found == {place: offsets_of(lost) for place, lost in expected.items()}


@each_scenario(lambda scenario: scenario.tampering is None)
def test_a_loss_of_committed_records_is_called_so_and_no_other(
    lake: ScenarioLake, played: Played
) -> None:
    rows = lake.rows(TRUNCATIONS, played)
    committed_end = played.branch[-1].last + 1
    for (key, seen_at), lost in vanished(played).items():
        mine = [row for row in rows if (row["node_id"], row["seen_at"]) == (key.node_id, seen_at)]
        committed = count(batch for batch in lost if batch in played.chronicle.committed)
        assert sum(row["committed_lost"] for row in mine) == committed
        if played.scenario.is_safe:
            reached = [offset for offset in offsets_of(lost) if offset < committed_end]
            assert sum(row["superseded_lost"] for row in mine) == len(reached)


def offsets_of(log: list[BatchId]) -> set[int]:
    return {offset for batch in log for offset in range(batch.base, batch.last + 1)}


def count(log: Iterable[BatchId]) -> int:
    """Records."""
    return sum(batch.last - batch.base + 1 for batch in log)
