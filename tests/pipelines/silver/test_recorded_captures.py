"""Silver of the recorded clusters: every capture of every replica agrees with itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import Row

from pipelines.delta import Lake, values
from pipelines.tables import bronze, silver
from tests.pipelines.cluster.captures import as_spark

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"
OLD_DIRECTORY, NEW_DIRECTORY = "qufyMfPsTZ27gBxKC_Me3w", "w1rJ2UULXXXZu6RS0Vk1kg"


@pytest.fixture(scope="module")
def epochs(built_lake: Path) -> list[Row]:
    """silver.leader_epochs, each row with `source`: the folder its capture was read from."""
    lake = Lake(built_lake)
    captures = values(lake, bronze.CAPTURES, ("capture_id", "source"))
    sources = {row["capture_id"]: row["source"] for row in captures}
    rows = values(lake, silver.LEADER_EPOCHS, silver.LEADER_EPOCHS.column_names)
    rows.sort(key=lambda row: (sources[row["capture_id"]], row["epoch"]))
    return [as_spark({**row, "source": sources[row["capture_id"]]}) for row in rows]


def test_all_28_captures_agree_on_all_their_epochs(epochs: list[Row]) -> None:
    assert len({row.capture_id for row in epochs}) == 28
    assert len(epochs) == 109
    assert [row for row in epochs if not row.agrees] == []


def test_a_log_start_inside_the_last_epoch_leaves_the_others_out_of_the_checkpoint(
    epochs: list[Row],
) -> None:
    """3.7.2's node 12 in the end: batches from 519 on, log start 1913, checkpoint "8 1913"."""
    rows = [row for row in epochs if "3.7.2-static/final/12" in row.source]
    assert [
        (row.epoch, row.start_offset, row.end_offset, row.leader_id, row.in_checkpoint)
        for row in rows
    ] == [(5, 519, 549, None, False), (7, 549, 750, 2, False), (8, 750, 1925, 3, True)]


def test_the_ghosts_of_the_split_belong_to_the_old_epoch(epochs: list[Row]) -> None:
    rows = [row for row in epochs if "4.1.1-dynamic/split" in row.source and row.epoch >= 5]
    assert {(row.node_id, row.epoch, row.start_offset, row.end_offset) for row in rows} == {
        *((node, 5, 1023, 1548) for node in (2, 11)),
        *((node, 5, 1023, 1526) for node in (1, 3, 12)),
        *((node, 6, 1526, 2712) for node in (1, 3, 12)),
    }


def test_the_voters_of_both_clusters(built_lake: Path) -> None:
    found = values(Lake(built_lake), silver.VOTER_SETS, silver.VOTER_SETS.column_names)
    rows = [as_spark(row) for row in found]
    assert Counter((row.cluster_id, row.source) for row in rows).keys() == {
        (DYNAMIC, "kraft_voters"),
        (DYNAMIC, "snapshot"),
        (STATIC, "leader_change"),
        (STATIC, "quorum_state"),
    }
    in_log = {
        row.offset: {voter.voter_id: voter.directory_id for voter in row.voters}
        for row in rows
        if row.source == "kraft_voters"
    }
    assert sorted(in_log) == [2, 1227, 1392]
    assert in_log[2][1] == OLD_DIRECTORY
    assert 1 not in in_log[1227], "voter 1 was removed"
    assert in_log[1392][1] == NEW_DIRECTORY, "and added back after its disk was wiped"
    assert {tuple(v.voter_id for v in row.voters) for row in rows if row.cluster_id == STATIC} == {
        (1, 2, 3)
    }
