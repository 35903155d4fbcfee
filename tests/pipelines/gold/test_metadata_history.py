"""History and changes of both recorded clusters: beside the replay of the files, beside Kafka's own
snapshots, and the records that only the losing nodes held."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.delta import Lake, read
from pipelines.gold.metadata_history import metadata_changes, metadata_history
from pipelines.lake.redaction import FILE_NAME
from pipelines.replay.stored import bucket_of, stored_record
from pipelines.silver.agreed_replay import agreed_replay
from pipelines.silver.branch_records import branch_records
from pipelines.silver.stored_records import spread
from pipelines.tables import bronze, silver
from replica.metadata.changes import CHANGES
from replica.metadata.image import EMPTY, Image, Replay, key_of, orphan_topic_configs
from replica.metadata.redact import Redactor
from tests.examples import examples
from tests.replica.metadata.image.recorded import Logged, records_in

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"
FOLDERS = {DYNAMIC: "kafka-4.1.1-dynamic", STATIC: "kafka-3.7.2-static"}
GHOSTS = {DYNAMIC: 1526, STATIC: 750}
"""Where nodes 2 and 11 part from the others; their 22 records create ghost-... topics."""

Row = dict[str, Any]
State = dict[tuple[str, str], tuple[str, int | None]]

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def history(built_lake: Path) -> dict[str, list[Row]]:
    return _by_cluster(built_lake / "gold/metadata_history")


@pytest.fixture(scope="module")
def changes(built_lake: Path) -> dict[str, list[Row]]:
    return _by_cluster(built_lake / "gold/metadata_changes")


@pytest.fixture(scope="module")
def logs(built_lake: Path, data: Path) -> dict[str, list[Logged]]:
    """Node 1's log of each cluster from offset 0, redacted as the lake is."""
    redactor = Redactor((built_lake / FILE_NAME).read_bytes())
    return {
        cluster: [
            logged
            for segment in sorted((data / folder / "final/1").glob("__cluster_metadata-0/*.log"))
            for logged in records_in(segment, redactor)
        ]
        for cluster, folder in FOLDERS.items()
    }


def _by_cluster(table: Path) -> dict[str, list[Row]]:
    rows = DeltaTable(table).to_pyarrow_table().to_pylist()
    return {name: [row for row in rows if row["cluster_id"] == name] for name in FOLDERS}


def _state(rows: list[Row], end_offset: int) -> State:
    valid = [
        row
        for row in rows
        if row["valid_from_offset"] < end_offset
        and (row["valid_to_offset"] is None or end_offset <= row["valid_to_offset"])
    ]
    found = {(row["entity"], row["key"]): (row["value"], row["record_offset"]) for row in valid}
    assert len(found) == len(valid)
    return found


def _replayed(log: list[Logged], end_offset: int) -> Image:
    replay = Replay(EMPTY)
    for logged in log:
        if logged.offset < end_offset:
            replay.apply(logged.offset, logged.record)
    return replay.image()


@pytest.mark.parametrize("cluster", FOLDERS)
def test_history_at_any_offset_is_the_replay_up_to_there(
    history: dict[str, list[Row]], logs: dict[str, list[Logged]], cluster: str
) -> None:
    log = logs[cluster]

    @settings(max_examples=examples(25))
    @given(st.integers(0, log[-1].offset + 1))
    def holds(end_offset: int) -> None:
        image = _replayed(log, end_offset)
        expected = {(e.kind, e.key): (e.value, e.offset) for e in image.entities()}
        assert _state(history[cluster], end_offset) == expected

    holds()


@pytest.mark.parametrize("cluster", FOLDERS)
def test_history_is_what_kafkas_own_snapshots_hold(
    history: dict[str, list[Row]], built_lake: Path, data: Path, cluster: str
) -> None:
    redactor = Redactor((built_lake / FILE_NAME).read_bytes())
    files = {f.name: f for f in (data / FOLDERS[cluster]).glob("*/*/*/*.checkpoint")}
    compared = 0
    for name, file in files.items():
        end_offset = int(name[:20])
        if end_offset == 0:
            continue  # the bootstrap's
        replay = Replay()
        for logged in records_in(file, redactor):
            replay.apply(logged.offset, logged.record)
        image = replay.image()
        orphans = orphan_topic_configs(image, _image_at(history[cluster], end_offset))
        left = {(orphan.kind, orphan.key) for orphan in orphans}
        held = {(e.kind, e.key): e.value for e in image.entities() if (e.kind, e.key) not in left}
        state = _state(history[cluster], end_offset)
        assert held == {key: value for key, (value, _) in state.items()}, name
        compared += 1
    assert compared >= 3


def _image_at(rows: list[Row], end_offset: int) -> Image:
    """Enough of it to know which topics and configs there are."""
    from replica.metadata.image.state import State as Tables

    tables = Tables()
    for (entity, key), (value, _) in _state(rows, end_offset).items():
        if entity == "topic":
            tables.topics.put(key, json.loads(value)["name"], 0)
        elif entity == "config":
            tables.configs.put(tuple(json.loads(key)), json.loads(value)["value"], 0)
    return Image(tables.tables())


@pytest.mark.parametrize("cluster", FOLDERS)
def test_records_of_the_losing_branch_are_in_no_state_and_superseded_changes(
    history: dict[str, list[Row]], changes: dict[str, list[Row]], cluster: str
) -> None:
    fork = GHOSTS[cluster]
    assert not [row for row in history[cluster] if "ghost" in row["name"] + row["value"]]
    lost = [row for row in changes[cluster] if row["commitment"] == "superseded"]
    assert sorted({row["change"] for row in lost}) == ["partition_created", "topic_created"]
    assert all(row["name"].startswith("ghost-") for row in lost)
    assert len(lost) == 20  # of 22 records two are NO_OPs
    assert {row["offset"] for row in lost} == set(range(fork, fork + 20))
    others = [row for row in changes[cluster] if row["commitment"] != "superseded"]
    assert not [row for row in others if "ghost" in row["name"]]


@pytest.mark.parametrize("cluster", FOLDERS)
def test_each_version_of_an_entity_is_told_by_changes_and_the_other_way_round(
    history: dict[str, list[Row]], changes: dict[str, list[Row]], cluster: str
) -> None:
    agreed = [row for row in changes[cluster] if row["commitment"] != "superseded"]
    assert {row["change"] for row in agreed} <= {one.name for one in CHANGES}
    told = {(row["entity"], row["key"], row["offset"]) for row in agreed}
    written = {(row["entity"], row["key"], row["record_offset"]) for row in history[cluster]}
    removed = {(row["entity"], row["key"], row["valid_to_offset"]) for row in history[cluster]} - {
        (entity, key, None) for entity, key, _ in written
    }
    assert told <= written | removed
    keys = [(row["offset"], row["leader_epoch"], row["entity"], row["key"], row["change"])
            for row in changes[cluster]]  # fmt: skip
    assert len(set(keys)) == len(keys)


def test_metadata_version_is_told_by_its_release(changes: dict[str, list[Row]]) -> None:
    found = {
        cluster: [row["new"] for row in rows if row["change"] == "metadata_version_changed"]
        for cluster, rows in changes.items()
    }
    assert found == {DYNAMIC: ['"4.1-IV1"'], STATIC: ['"3.7-IV4"']}


@pytest.fixture(scope="module")
def inputs(spark: SparkSession, built_lake: Path) -> dict[str, DataFrame]:
    lake = Lake(built_lake)
    records = read(spark, lake, bronze.LOG_RECORDS)
    return {
        "branch": branch_records(read(spark, lake, silver.COMMITTED_LOG), records),
        "snapshots": read(spark, lake, bronze.SNAPSHOTS),
        "snapshot_records": read(spark, lake, bronze.SNAPSHOT_RECORDS),
        "tails": records.withColumns(
            {name: F.lit(None).cast(kind) for name, kind in _TAIL.items()}
        ).where("false"),
    }


_TAIL = {"tail_id": "string", "position": "long", "commitment": "string"}


def test_a_record_goes_to_the_bucket_that_owns_its_key(inputs: dict[str, DataFrame]) -> None:
    columns = {"source": F.lit("2"), "position": F.col("offset")}
    rows = spread(inputs["branch"].withColumns(columns), 7)
    record = "cluster_id", "offset", "is_control", "record_type", "record_version", "payload"
    found = rows.groupBy(*record, "value").agg(F.collect_list("bucket").alias("buckets"))
    for row in found.collect():
        value = None if row["value"] is None else bytes(row["value"])
        fields = row.is_control, row.record_type, row.record_version, row.payload, value
        own = bucket_of(key_of(stored_record(*fields)), 7)
        assert own in row.buckets
        assert len(row.buckets) in (1, 7)


@pytest.mark.slow
def test_without_the_head_and_in_any_number_of_parts_it_is_the_same_from_a_snapshot_on(
    inputs: dict[str, DataFrame], history: dict[str, list[Row]]
) -> None:
    """The branch from 300 on, with a hole: 600 to 620 of one cluster are gone."""
    hole = f"cluster_id = '{DYNAMIC}' AND offset BETWEEN 600 AND 620"
    headless = {**inputs, "branch": inputs["branch"].where(f"offset >= 300 AND NOT ({hole})")}
    written = agreed_replay(**headless, buckets=5).persist()
    rows = [row.asDict() for row in metadata_history(written).collect()]
    told = [row.asDict() for row in metadata_changes(written).collect()]
    written.unpersist()
    begins = {STATIC: (519, 1900), DYNAMIC: (792, 3000)}
    for cluster, offsets in begins.items():
        mine = [row for row in rows if row["cluster_id"] == cluster]
        assert {row["valid_from_offset"] for row in mine if row["record_offset"] is None} == {
            offsets[0] - 1
        }
        assert _state(mine, offsets[0] - 1) == {}
        for end_offset in offsets:
            found = {key: value for key, (value, _) in _state(mine, end_offset).items()}
            whole = _state(history[cluster], end_offset)
            orphans = found.keys() - whole.keys()
            assert {kind for kind, _ in orphans} <= {"config"}
            assert {key: value for key, value in found.items() if key not in orphans} == {
                key: value for key, (value, _) in whole.items()
            }
        assert min(row["offset"] for row in told if row["cluster_id"] == cluster) >= offsets[0]
