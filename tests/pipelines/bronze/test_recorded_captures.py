"""What ingesting live, split and final of both recorded clusters leaves in the bronze tables."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.delta import Lake, read
from pipelines.tables import bronze
from replica.metadata.redact import Redactor

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"
CLUSTERS = ("kafka-3.7.2-static/", "kafka-4.1.1-dynamic/")
CONTROL_NAMES = {
    "LeaderChange": "LEADER_CHANGE",
    "KRaftVersion": "KRAFT_VERSION",
    "KRaftVoters": "KRAFT_VOTERS",
    "SnapshotHeader": "SNAPSHOT_HEADER",
    "SnapshotFooter": "SNAPSHOT_FOOTER",
}

_OF_A_BATCH = ("base_offset", "epoch", "crc")

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(spark: SparkSession, recorded_lake: Path) -> dict[str, DataFrame]:
    lake = Lake(recorded_lake)
    return {contract.table_name: read(spark, lake, contract) for contract in bronze.BRONZE}


@pytest.fixture(scope="module")
def kafka_lines(data: Path) -> list[dict[str, Any]]:
    """Kafka's own reading of the logs of the two clusters."""
    with gzip.open(data / "kafka-dump-log.jsonl.gz", "rt") as lines:
        parsed = [json.loads(line) for line in lines]
    return [line for line in parsed if line["file"].startswith(CLUSTERS)]


def test_every_capture_of_every_replica_has_its_row(tables: dict[str, DataFrame]) -> None:
    rows = tables["captures"].groupBy("cluster_id", "capture_group").count().collect()
    assert sorted((row.cluster_id, row["count"]) for row in rows) == [
        (DYNAMIC, 4),
        (DYNAMIC, 5),
        (DYNAMIC, 5),
        (STATIC, 4),
        (STATIC, 5),
        (STATIC, 5),
    ]
    assert tables["captures"].select("capture_id").distinct().count() == 28
    assert tables["replica_state"].count() == 28


def test_exactly_the_ghost_batches_are_marked_as_truncated(tables: dict[str, DataFrame]) -> None:
    rows = tables["log_batches"].where("truncated_at IS NOT NULL").collect()
    found = Counter((r.cluster_id, r.node_id, r.base_offset, r.last_offset) for r in rows)
    assert {(cluster, node) for cluster, node, _, _ in found} == {
        (DYNAMIC, 2),
        (DYNAMIC, 11),
        (STATIC, 2),
        (STATIC, 11),
    }
    for cluster, first, end in ((DYNAMIC, 1526, 1548), (STATIC, 750, 772)):
        for node in (2, 11):
            spans = sorted(key[2:] for key in found if key[:2] == (cluster, node))
            assert spans[0][0] == first
            assert spans[-1][1] == end - 1
            assert all(after[0] == before[1] + 1 for before, after in pairwise(spans))
    assert {r.removed_at for r in rows} == {None}


def test_exactly_the_deleted_segment_of_node_3_is_marked_as_removed(
    tables: dict[str, DataFrame],
) -> None:
    rows = tables["log_batches"].where("removed_at IS NOT NULL").collect()
    assert len(rows) == 87
    assert {(r.cluster_id, r.node_id) for r in rows} == {(STATIC, 3)}
    assert min(r.base_offset for r in rows) == 0
    assert max(r.last_offset for r in rows) == 377
    assert all(
        r.file.endswith("live/3/__cluster_metadata-0/" + "0" * 20 + ".log.deleted") for r in rows
    )
    assert {tuple(r.in_log) for r in rows} == {()}, "a .log.deleted file is no part of the log"


def test_the_lake_holds_every_batch_that_kafka_reads(
    tables: dict[str, DataFrame], kafka_lines: list[dict[str, Any]], recorded_lake: Path
) -> None:
    """Those whose records are withheld have a CRC that Kafka's and the lake's key tell."""
    redactor = Redactor((recorded_lake / "_redaction.key").read_bytes())
    columns = ("cluster_id", "node_id", "base_offset", "leader_epoch")
    hidden = set(
        map(tuple, tables["log_records"].where("value IS NULL").select(*columns).collect())
    )
    assert len(hidden) > 5

    def shown(line: dict[str, Any]) -> tuple[Any, ...]:
        node, base, epoch, crc = _node(line["file"]), *(line[n] for n in _OF_A_BATCH)
        if (*node, base, epoch) in hidden:
            crc = redactor.batch_crc(base, crc)
        return (*node, base, line["last_offset"], epoch, crc)

    expected = {
        shown(line)
        for line in kafka_lines
        if line["kind"] == "batch" and line["file"].endswith(".log")
    }
    columns = ("cluster_id", "node_id", "base_offset", "last_offset", "leader_epoch", "crc")
    in_log = tables["log_batches"].where("size(in_log) > 0").select(*columns).collect()
    assert {tuple(row) for row in in_log} == expected
    assert len(in_log) == len(expected)
    assert tables["log_batches"].where("NOT crc_valid").count() == 0


def test_the_lake_holds_every_record_that_kafka_reads(
    tables: dict[str, DataFrame], kafka_lines: list[dict[str, Any]]
) -> None:
    expected = {
        (*_node(line["file"]), line["offset"], line["epoch"]): line
        for line in kafka_lines
        if line["kind"] == "record" and line["file"].endswith(".log")
    }
    rows = (
        tables["log_records"]
        .join(
            tables["log_batches"].where("size(in_log) > 0"),
            on=list(bronze.BATCH_KEYS),
            how="left_semi",
        )
        .selectExpr(
            "cluster_id",
            "node_id",
            "offset",
            "leader_epoch",
            "record_type",
            "record_version",
            "to_json(payload) AS payload",
            "unix_millis(timestamp) AS at",
        )
        .collect()
    )
    assert len(rows) == len(expected)
    for row in rows:
        line = expected[row.cluster_id, row.node_id, row.offset, row.leader_epoch]
        assert row.record_type == CONTROL_NAMES.get(line["type"], line["type"])
        assert (row.record_version, row.at) == (line["version"], line["ts"])
        if row.record_type != "USER_SCRAM_CREDENTIAL_RECORD":
            assert json.loads(row.payload) == line["data"]


def test_the_lake_holds_every_snapshot_record_that_kafka_reads(
    tables: dict[str, DataFrame], kafka_lines: list[dict[str, Any]]
) -> None:
    expected = {
        (*_node(line["file"]), line["file"].rsplit("/")[-1].split(".")[0], line["offset"])
        for line in kafka_lines
        if line["kind"] == "record" and line["file"].endswith(".checkpoint")
    }
    rows = tables["snapshot_records"].selectExpr(
        "cluster_id", "node_id", "format_string('%020d-%010d', end_offset, epoch)", "index"
    )
    assert {tuple(row) for row in rows.collect()} >= expected


def test_no_secret_is_in_any_table(tables: dict[str, DataFrame]) -> None:
    for name in ("log_records", "snapshot_records"):
        scram = tables[name].where("record_type = 'USER_SCRAM_CREDENTIAL_RECORD'")
        rows = scram.selectExpr(
            "value", "payload:storedKey::string AS key", "payload:name::string AS name"
        ).collect()
        assert rows
        assert {row.value for row in rows} == {None}
        assert all(row.key.startswith("***:") for row in rows)
        assert all(row.name for row in rows), "what is no secret stays"


def test_a_snapshot_is_known_with_its_state_and_its_captures(tables: dict[str, DataFrame]) -> None:
    rows = tables["snapshots"].where(f"cluster_id = '{STATIC}' AND node_id = 12").collect()
    by_end = {row.end_offset: row for row in rows}
    assert by_end[519].state == "deleted", "node 12 marked it deleted in final"
    assert by_end[1913].state == "complete"
    assert by_end[519].is_whole, "its bytes are as whole as before"
    assert len(by_end[519].captures) == 1, "complete in split only"


def test_undamaged_captures_leave_no_damage_rows(tables: dict[str, DataFrame]) -> None:
    assert tables["damage"].count() == 0
    assert tables["replica_state"].where("index_mismatches > 0").count() == 0


def _node(file: str) -> tuple[str, int]:
    scenario, _, node, *_ = file.split("/")
    return (DYNAMIC if scenario.startswith("kafka-4.1.1") else STATIC), int(node)
