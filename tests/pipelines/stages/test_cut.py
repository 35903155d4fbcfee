"""Large clusters are replayed in parts, by tasks that read their records from the lake. The rows
are those of a small cluster, which is replayed as a whole in memory."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipelines import delta
from pipelines.cluster.bronze_rows import BronzeRows
from pipelines.clusters.computing import table_of
from pipelines.delta import Lake
from pipelines.delta.writing import replace_values
from pipelines.gold.inputs import Silver, small_gold
from pipelines.gold.metadata_changes import metadata_changes
from pipelines.gold.metadata_history import metadata_history
from pipelines.lake.delta_rs import newest_versions
from pipelines.large import log as large_log
from pipelines.large import replay as large_replay
from pipelines.large.log import ClusterLog
from pipelines.large.replay import planned as plans_of
from pipelines.large.replay import replayed
from pipelines.quality.admitted import Admitted
from pipelines.tables import bronze, gold
from pipelines.tables.contract import Contract
from pipelines.tasks import Here
from replica.metadata.record import UnknownRecord, new_record
from tests.pipelines.cluster.record_rows import content

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"

Row = dict[str, Any]


def _nothing_changed(rows: list[Row]) -> list[Row]:
    return rows


def _with_holes(rows: list[Row]) -> list[Row]:
    """From 300 on; of one cluster 600 to 620 are gone, of the other the record at 525 is redacted
    and of a type that nobody knows."""
    unknown = content(UnknownRecord(99, 0, b"\x01"), is_redacted=True)
    return [
        row | unknown if (row["cluster_id"], row["offset"]) == (STATIC, 525) else row
        for row in rows
        if row["offset"] >= 300
        and not (row["cluster_id"] == DYNAMIC and 600 <= row["offset"] <= 620)
    ]


def _with_other_records(rows: list[Row]) -> list[Row]:
    """Of one cluster the first topic is never created, of the other the record at 525 is of a type
    that nobody knows."""
    unknown = content(UnknownRecord(99, 0, b"\x01"))
    no_op = content(new_record("NO_OP_RECORD", 0, {}))
    topic = min(
        row["offset"]
        for row in rows
        if row["cluster_id"] == DYNAMIC and row["record_type"] == "TOPIC_RECORD"
    )
    others = {(STATIC, 525): unknown, (DYNAMIC, topic): no_op}
    return [row | others.get((row["cluster_id"], row["offset"]), {}) for row in rows]


def _without_a_whole_one_at_519(rows: list[Row]) -> list[Row]:
    for row in rows:
        if (row["cluster_id"], row["end_offset"]) == (STATIC, 519):
            row["is_whole"] = False
    return rows


@pytest.mark.parametrize(
    ("records", "snapshots", "buckets"),
    [
        (_with_holes, _without_a_whole_one_at_519, 3),
        pytest.param(_nothing_changed, _nothing_changed, 1, marks=pytest.mark.slow),
        pytest.param(_nothing_changed, _nothing_changed, 7, marks=pytest.mark.slow),
        pytest.param(_with_other_records, _nothing_changed, 3, marks=pytest.mark.slow),
    ],
)
def test_in_parts_by_tasks_it_tells_what_it_tells_as_a_whole_in_memory(
    recorded_lake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    records: Callable[[list[Row]], list[Row]],
    snapshots: Callable[[list[Row]], list[Row]],
    buckets: int,
) -> None:
    monkeypatch.setattr(large_log, "_OFFSETS_AT_ONCE", 100)
    monkeypatch.setattr(large_replay, "_RECORDS_OF_ONE", 0)
    lake = Lake(tmp_path / "lake")
    shutil.copytree(recorded_lake, tmp_path / "lake")
    _change(lake, bronze.LOG_RECORDS, records)
    _change(lake, bronze.SNAPSHOTS, snapshots)
    clusters = _clusters(lake)
    admitted = _admitted(lake)
    logs = {
        cluster_id: ClusterLog.of(admitted, one, one.committed)
        for cluster_id, one in clusters.items()
    }
    assert sum(len(log.pieces) for log in logs.values()) > 20
    assert sum(len(log.tails) for log in logs.values()) == 2
    for table in (gold.METADATA_HISTORY, gold.METADATA_CHANGES):
        delta.ensure_table(lake, table)

    told = replayed(Here(buckets), lake, logs)

    delta.commit(lake, gold.METADATA_HISTORY, told.history, "overwrite")
    delta.commit(lake, gold.METADATA_CHANGES, told.changes, "overwrite")
    whole = [small_gold(one) for one in clusters.values()]
    for table, made in (
        (gold.METADATA_HISTORY, metadata_history),
        (gold.METADATA_CHANGES, metadata_changes),
    ):
        expected = pa.concat_tables([table_of(table, made(written)) for _, written in whole])
        assert _counted(_rows(lake, table)) == _counted(expected.to_pylist())
    records = [of.records for of, _ in whole]
    assert _counted(told.compared) == _counted(row for one in records for row in one.compared)
    assert _counted(told.ranges) == _counted(row for one in records for row in one.ranges)


def test_a_piece_is_read_from_replicas_that_hold_all_of_it(
    recorded_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_log, "_OFFSETS_AT_ONCE", 100)
    admitted = _admitted(Lake(recorded_lake))
    for cluster_id, one in _clusters(Lake(recorded_lake)).items():
        log = ClusterLog.of(admitted, one, one.committed)
        assert {piece.replicas is not None and len(piece.replicas) for piece in log.pieces} == {1}
        offsets = [
            offset
            for piece in log.pieces
            for offset in log.branch(piece).rows["offset"].to_pylist()
        ]
        assert offsets == one.committed.table()["offset"].to_pylist(), cluster_id


def test_rows_that_the_gate_leaves_out_are_no_records_of_any_replica(recorded_lake: Path) -> None:
    lake = Lake(recorded_lake)
    query = 'SELECT * FROM bronze_log_records WHERE "offset" NOT IN (700, 701)'
    admitted = replace(_admitted(lake), queries={bronze.LOG_RECORDS.name: query})
    for one in _clusters(lake).values():
        log = ClusterLog.of(admitted, one, one.committed)
        assert {piece.replicas for piece in log.pieces} == {None}
        planned = plans_of(Here(), {"one": log})["one"]
        end = one.committed.entries
        assert [run[:2] for run in planned.runs] == [(0, 700), (702, end)]


def _change(lake: Lake, contract: Contract, changed: Callable[[list[Row]], list[Row]]) -> None:
    if changed is not _nothing_changed:
        rows = changed(_rows(lake, contract))
        replace_values(lake, contract, [pa.Table.from_pylist(rows, contract.arrow_schema)])


def _rows(lake: Lake, contract: Contract) -> list[Row]:
    versions = newest_versions(lake, [contract.name])
    found: list[Row] = Admitted(lake, versions).rows_of(contract).to_pylist()
    return found


def _admitted(lake: Lake) -> Admitted:
    return Admitted(lake, newest_versions(lake, (one.name for one in bronze.DERIVED_FROM)))


def _clusters(lake: Lake) -> Mapping[str, Silver]:
    rows = [_admitted(lake).rows_of(one) for one in bronze.DERIVED_FROM]
    return {one: Silver(one, BronzeRows.of(one, rows)) for one in (DYNAMIC, STATIC)}


def _counted(rows: Iterable[Row]) -> Counter[str]:
    return Counter(str(sorted(row.items())) for row in rows)
