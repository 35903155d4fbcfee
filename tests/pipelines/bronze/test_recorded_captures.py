"""What ingesting live, split and final of both recorded clusters leaves in the bronze tables."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from replica.metadata.redact import Redactor
from tests.pipelines.lake_rows import rows, rows_of

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

_IN_LOG = """
    SELECT r.* FROM bronze.log_records r
    WHERE EXISTS (
        SELECT 1 FROM bronze.log_batches b WHERE cardinality(b.in_log) > 0 AND {same}
    )
"""


@pytest.fixture(scope="module")
def kafka_lines(data: Path) -> list[dict[str, Any]]:
    """Kafka's own reading of the logs of the two clusters."""
    with gzip.open(data / "kafka-dump-log.jsonl.gz", "rt") as lines:
        parsed = [json.loads(line) for line in lines]
    return [line for line in parsed if line["file"].startswith(CLUSTERS)]


def test_every_capture_of_every_replica_has_its_row(recorded_lake: Path) -> None:
    captures = rows_of(recorded_lake, bronze.CAPTURES)
    counted = Counter((row.cluster_id, row.capture_group) for row in captures)
    assert sorted((cluster, count) for (cluster, _), count in counted.items()) == [
        (DYNAMIC, 4),
        (DYNAMIC, 5),
        (DYNAMIC, 5),
        (STATIC, 4),
        (STATIC, 5),
        (STATIC, 5),
    ]
    assert len({row.capture_id for row in captures}) == 28
    assert len(rows_of(recorded_lake, bronze.REPLICA_STATE)) == 28


def test_exactly_the_ghost_batches_are_marked_as_truncated(recorded_lake: Path) -> None:
    ghosts = rows_of(recorded_lake, bronze.LOG_BATCHES, "truncated_at IS NOT NULL")
    found = Counter((r.cluster_id, r.node_id, r.base_offset, r.last_offset) for r in ghosts)
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
    assert {r.removed_at for r in ghosts} == {None}


def test_exactly_the_deleted_segment_of_node_3_is_marked_as_removed(recorded_lake: Path) -> None:
    gone = rows_of(recorded_lake, bronze.LOG_BATCHES, "removed_at IS NOT NULL")
    assert len(gone) == 87
    assert {(r.cluster_id, r.node_id) for r in gone} == {(STATIC, 3)}
    assert min(r.base_offset for r in gone) == 0
    assert max(r.last_offset for r in gone) == 377
    assert all(
        r.file.endswith("live/3/__cluster_metadata-0/" + "0" * 20 + ".log.deleted") for r in gone
    )
    assert {tuple(r.in_log) for r in gone} == {()}, "a .log.deleted file is no part of the log"


def test_the_lake_holds_every_batch_that_kafka_reads(
    kafka_lines: list[dict[str, Any]], recorded_lake: Path
) -> None:
    """Those whose records are withheld have a CRC that Kafka's and the lake's key tell."""
    redactor = Redactor((recorded_lake / "_redaction.key").read_bytes())
    columns = ("cluster_id", "node_id", "base_offset", "leader_epoch")
    withheld = rows_of(recorded_lake, bronze.LOG_RECORDS, "value IS NULL")
    hidden = set(map(attrgetter(*columns), withheld))
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
    batches = rows_of(recorded_lake, bronze.LOG_BATCHES)
    in_log = [row for row in batches if row.in_log]
    assert set(map(attrgetter(*columns), in_log)) == expected
    assert len(in_log) == len(expected)
    assert {row.crc_valid for row in batches} == {True}


def test_the_lake_holds_every_record_that_kafka_reads(
    recorded_lake: Path, kafka_lines: list[dict[str, Any]]
) -> None:
    expected = {
        (*_node(line["file"]), line["offset"], line["epoch"]): line
        for line in kafka_lines
        if line["kind"] == "record" and line["file"].endswith(".log")
    }
    same = " AND ".join(f"r.{key} = b.{key}" for key in bronze.BATCH_KEYS)
    in_log = rows(recorded_lake, _IN_LOG.format(same=same))
    assert len(in_log) == len(expected)
    for row in in_log:
        line = expected[row.cluster_id, row.node_id, row.offset, row.leader_epoch]
        assert row.record_type == CONTROL_NAMES.get(line["type"], line["type"])
        at = round(row.timestamp.timestamp() * 1000)
        assert (row.record_version, at) == (line["version"], line["ts"])
        if row.record_type != "USER_SCRAM_CREDENTIAL_RECORD":
            assert row.payload == line["data"]


def test_the_lake_holds_every_snapshot_record_that_kafka_reads(
    recorded_lake: Path, kafka_lines: list[dict[str, Any]]
) -> None:
    expected = {
        (*_node(line["file"]), line["file"].rsplit("/")[-1].split(".")[0], line["offset"])
        for line in kafka_lines
        if line["kind"] == "record" and line["file"].endswith(".checkpoint")
    }
    found = {
        (row.cluster_id, row.node_id, f"{row.end_offset:020}-{row.epoch:010}", row.index)
        for row in rows_of(recorded_lake, bronze.SNAPSHOT_RECORDS)
    }
    assert found >= expected


@pytest.mark.parametrize("contract", [bronze.LOG_RECORDS, bronze.SNAPSHOT_RECORDS])
def test_no_secret_is_in_any_table(recorded_lake: Path, contract: Contract) -> None:
    scram = rows_of(recorded_lake, contract, "record_type = 'USER_SCRAM_CREDENTIAL_RECORD'")
    assert scram
    assert {row.value for row in scram} == {None}
    assert all(row.payload["storedKey"].startswith("***:") for row in scram)
    assert all(row.payload["name"] for row in scram), "what is no secret stays"


def test_a_snapshot_is_known_with_its_state_and_its_captures(recorded_lake: Path) -> None:
    of_node_12 = f"cluster_id = '{STATIC}' AND node_id = 12"
    by_end = {row.end_offset: row for row in rows_of(recorded_lake, bronze.SNAPSHOTS, of_node_12)}
    assert by_end[519].state == "deleted", "node 12 marked it deleted in final"
    assert by_end[1913].state == "complete"
    assert by_end[519].is_whole, "its bytes are as whole as before"
    assert len(by_end[519].captures) == 1, "complete in split only"


def test_undamaged_captures_leave_no_damage_rows(recorded_lake: Path) -> None:
    assert rows_of(recorded_lake, bronze.DAMAGE) == []
    assert rows_of(recorded_lake, bronze.REPLICA_STATE, "index_mismatches > 0") == []


def _node(file: str) -> tuple[str, int]:
    scenario, _, node, *_ = file.split("/")
    return (DYNAMIC if scenario.startswith("kafka-4.1.1") else STATIC), int(node)
