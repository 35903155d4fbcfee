"""A cluster that is derived in hundreds of pieces has the rows of one derived as a whole."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from jobs.cli.commands.lake import IngestOptions
from jobs.ingest import run as ingest
from pipelines import delta
from pipelines.build import build
from pipelines.delta import Lake
from pipelines.delta.writing import replace_values
from pipelines.runners.local import LocalRunner
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.gold import METADATA_CHANGES, QUARANTINED_ROWS
from replica.metadata.record import UnknownRecord, new_record
from replica.simulate.scenarios.library import SCENARIOS_BY_NAME
from tests.bench.same_tables import rows
from tests.pipelines.cluster.record_rows import content
from tests.pipelines.lake_rows import assert_same
from tests.pipelines.stages.lakes import add_scenarios, built, cut_in_pieces

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"

Row = dict[str, Any]


def staged(lake: Path, folder: Path) -> Path:
    """Built in pieces. The stages that ran are those of large clusters."""
    with pytest.MonkeyPatch.context() as patch, LocalRunner(at_once=1) as runner:
        cut_in_pieces(patch)
        built(lake, folder, runner)
    assert {one.name for one in runner.ran} >= {"runs", "agree", "survey", "replay", "last tables"}
    assert not any(one.name == "derive" for one in runner.ran)
    return folder


@pytest.mark.slow
def test_recorded_clusters_in_pieces_are_those_as_a_whole(
    built_lake: Path, recorded_lake: Path, tmp_path: Path
) -> None:
    assert_same(staged(recorded_lake, tmp_path / "cut"), built_lake)


@pytest.mark.slow
def test_a_cluster_that_grows_is_derived_again_in_pieces_and_told_once(
    data: Path, tmp_path: Path
) -> None:
    lake, node = tmp_path / "lake", data / "kafka-4.1.1-dynamic"
    for number, name in enumerate(("live", "split", "final")):
        captured_at = f"2026-11-21T0{number}:00Z"
        options = IngestOptions([str(node / name / "1")], Lake(lake), captured_at=captured_at)
        assert ingest(options) == 0
        with pytest.MonkeyPatch.context() as patch:
            cut_in_pieces(patch)
            build(Lake(lake), LocalRunner(at_once=1), lambda _: None)
    bare = Path(shutil.copytree(lake, tmp_path / "bare"))
    for layer in ("silver", "gold"):
        shutil.rmtree(bare / layer)
    (bare / "_last_build").unlink()
    assert_same(lake, built(bare, tmp_path / "whole"))
    table = DeltaTable(str(lake / "gold" / "metadata_changes"))
    feed = pa.table(table.load_cdf(starting_version=1).read_all()).to_pylist()
    keys = Counter(
        tuple(row[key] for key in METADATA_CHANGES.keys)
        for row in feed
        if row["_change_type"] == "insert"
    )
    assert max(keys.values()) == 1, "no change is told as new twice"
    gone = sum(row["_change_type"] == "delete" for row in feed)
    assert keys.total() - gone == rows(str(lake), METADATA_CHANGES.name).total()


@pytest.mark.slow  # a minute
def test_simulated_incidents_in_pieces_are_those_as_a_whole(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    add_scenarios(lake, SCENARIOS_BY_NAME, code=1)
    assert_same(staged(lake, tmp_path / "cut"), built(lake, tmp_path / "whole"))


def _with_holes(found: list[Row]) -> list[Row]:
    """From 300 on; of one cluster 600 to 620 are gone, of the other the record at 525 is redacted
    and of a type that nobody knows."""
    unknown = content(UnknownRecord(99, 0, b"\x01"), is_redacted=True)
    return [
        row | unknown if (row["cluster_id"], row["offset"]) == (STATIC, 525) else row
        for row in found
        if row["offset"] >= 300
        and not (row["cluster_id"] == DYNAMIC and 600 <= row["offset"] <= 620)
    ]


def _with_other_records(found: list[Row]) -> list[Row]:
    """Of one cluster the first topic is never created, of the other the record at 525 is of a type
    that nobody knows."""
    unknown = content(UnknownRecord(99, 0, b"\x01"))
    no_op = content(new_record("NO_OP_RECORD", 0, {}))
    topic = min(
        row["offset"]
        for row in found
        if row["cluster_id"] == DYNAMIC and row["record_type"] == "TOPIC_RECORD"
    )
    others = {(STATIC, 525): unknown, (DYNAMIC, topic): no_op}
    return [row | others.get((row["cluster_id"], row["offset"]), {}) for row in found]


def _that_break_an_expectation(found: list[Row]) -> list[Row]:
    """Some records lie outside of their batches, so nothing is derived from them."""
    return [
        row | {"base_offset": row["offset"] + 1} if row["offset"] in (700, 701) else row
        for row in found
    ]


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(_with_holes, marks=pytest.mark.slow),
        pytest.param(_with_other_records, marks=pytest.mark.slow),
        pytest.param(_that_break_an_expectation, marks=pytest.mark.slow),
    ],
)
def test_records_with_holes_of_unknown_types_and_outside_of_batches(
    recorded_lake: Path, tmp_path: Path, changed: Callable[[list[Row]], list[Row]]
) -> None:
    lake = Path(shutil.copytree(recorded_lake, tmp_path / "lake"))
    _change(Lake(lake), bronze.LOG_RECORDS, changed)
    whole, cut = built(lake, tmp_path / "whole"), staged(lake, tmp_path / "cut")
    assert_same(cut, whole)
    left_out = (whole / "gold" / QUARANTINED_ROWS.table_name).exists()
    assert left_out == (changed is _that_break_an_expectation)
    if left_out:
        names = [name for name in QUARANTINED_ROWS.column_names if name not in ("run_id", "at")]
        found = [
            sorted(map(str, delta.values(Lake(one), QUARANTINED_ROWS, names)))
            for one in (whole, cut)
        ]
        assert found[0] == found[1]
        assert found[0]


def _change(lake: Lake, contract: Contract, changed: Callable[[list[Row]], list[Row]]) -> None:
    version = delta.version(lake, contract)
    found = changed(delta.rows_where(lake, contract, "true", version).to_pylist())
    replace_values(lake, contract, [pa.Table.from_pylist(found, contract.arrow_schema)])
