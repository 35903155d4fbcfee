"""The tables about the quorum, of the recorded clusters: held to Kafka's own dump of their logs."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from pipelines.tables import quorum
from pipelines.tables.contract import Contract
from tests.pipelines.lake_rows import names_of_captures, rows_of

DYNAMIC, STATIC = "Lr3UIdBxT-GFPYE5uprmrg", "gT_wj4dEReaNt2vnLWy9Aw"
WHOLE_LOGS = {
    DYNAMIC: "kafka-4.1.1-dynamic/final/3/__cluster_metadata-0/",
    STATIC: "kafka-3.7.2-static/final/1/__cluster_metadata-0/",
}
"""Replicas that hold the whole agreed branch."""


@pytest.fixture(scope="module")
def dumped(data: Path) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """What Kafka printed of each whole log: lines by cluster and kind."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    with gzip.open(data / "kafka-dump-log.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            for cluster, folder in WHOLE_LOGS.items():
                if line["file"].startswith(folder) and line["file"].endswith(".log"):
                    found[cluster][line["kind"]].append(line)
    return found


def _rows(lake: Path, contract: Contract) -> dict[str, list[Any]]:
    """The table's rows by cluster; `name`: of the capture, where it has one."""
    names = names_of_captures(lake)
    by_cluster: dict[str, list[Any]] = defaultdict(list)
    for row in rows_of(lake, contract):
        if "capture_group" in contract.column_names:
            row.name = names[row.capture_group]
        by_cluster[row.cluster_id].append(row)
    return by_cluster


@pytest.mark.parametrize(
    ("cluster", "old", "new", "parted", "end"),
    [(DYNAMIC, 5, 6, 1526, 2712), (STATIC, 7, 8, 750, 1435)],
)
def test_the_split_shows_two_leaders_and_who_is_behind(
    built_lake: Path, cluster: str, old: int, new: int, parted: int, end: int
) -> None:
    rows = _rows(built_lake, quorum.REPLICA_STATUS)[cluster]
    assert all(row.round_name == row.name for row in rows)
    split = {row.node_id: row for row in rows if row.name == "split"}
    roles = {node: (row.role, row.leader_id, row.leader_epoch) for node, row in split.items()}
    assert roles == {
        1: ("follower", 3, new),
        2: ("leader", 2, old),
        3: ("leader", 3, new),
        11: ("observer", 2, old),
        12: ("observer", 3, new),
    }
    for node, row in split.items():
        is_ghost = node in (2, 11)
        assert row.own_records == (22 if is_ghost else 0)
        assert row.agreed_end_offset == row.high_watermark == (parted if is_ghost else end)
        assert row.lag_records == (end - parted if is_ghost else 0)
        assert (row.lag_ms > 10_000) == is_ghost
        if not is_ghost:
            assert row.evidence_holders == [1, 3, 12]
            assert (row.evidence_offset, row.evidence_epoch) == (end - 1, new)


def test_the_proven_high_watermarks_are_no_lower_than_what_kafka_reported(
    built_lake: Path, data: Path
) -> None:
    """story.json has kafka-metadata-quorum's answer from before the nodes were stopped."""
    rows = _rows(built_lake, quorum.REPLICA_STATUS)
    for cluster, folder in WHOLE_LOGS.items():
        story = json.loads((data / folder.split("/")[0] / "story.json").read_text())
        reported = int(story["story"][-1].split("'HighWatermark': '")[1].split("'")[0])
        final = [row for row in rows[cluster] if row.name == "final"]
        assert all(row.is_latest for row in final)
        assert all(reported <= row.high_watermark <= row.log_end_offset for row in final)


def test_elections_and_votes_are_those_of_the_leader_change_records(
    built_lake: Path, dumped: dict[str, dict[str, list[dict[str, Any]]]]
) -> None:
    elections = _rows(built_lake, quorum.ELECTIONS)
    votes = _rows(built_lake, quorum.VOTES)
    # epochs that nobody won: 4; 1, 2, 4 and 6
    for cluster, leaderless in ((DYNAMIC, 1), (STATIC, 4)):
        changes = [r for r in dumped[cluster]["record"] if r["type"] == "LeaderChange"]
        (hour,) = elections[cluster]
        assert (hour.elections, hour.leaderless_epochs) == (len(changes), leaderless)
        assert hour.leaders == sorted({change["data"]["leaderId"] for change in changes})
        granted = {
            (change["epoch"], voter["voterId"], change["data"]["leaderId"])
            for change in changes
            for voter in change["data"]["grantingVoters"]
        }
        assert {(r.epoch, r.voter_id, r.candidate_id) for r in votes[cluster]} == granted
        assert all(row.is_elected and not row.is_double for row in votes[cluster])
    by_state = [(r.epoch, r.voter_id) for r in votes[DYNAMIC] if "quorum_state" in r.sources]
    assert by_state == [(5, 3), (6, 1)]


def test_all_replicas_that_know_the_newest_voters_agree(built_lake: Path) -> None:
    beliefs = _rows(built_lake, quorum.VOTER_BELIEFS)
    found = Counter((r.source, r.agrees) for r in beliefs[STATIC] if r.name == "final")
    assert found == {
        ("quorum_state", True): 5,
        ("log", True): 5,
        ("meta_properties", True): 3,
        ("meta_properties", None): 2,
    }
    final = [row for row in beliefs[DYNAMIC] if row.name == "final"]
    assert [row for row in final if row.agrees is False] == []
    # node 11's only snapshot is from before voter 1 was given a new disk, which its log tells
    (older,) = (row for row in final if (row.node_id, row.source) == (11, "snapshot"))
    assert (older.offset, older.agrees) == (792, None)


def test_log_growth_counts_the_records_and_bytes_that_kafka_dumped(
    built_lake: Path, dumped: dict[str, dict[str, list[dict[str, Any]]]]
) -> None:
    growth = _rows(built_lake, quorum.LOG_GROWTH)
    for cluster, lines in dumped.items():
        records = {row.record_type: row.records for row in growth[cluster]}
        counted = Counter(line["type"] for line in lines["record"])
        assert records == {_in_capitals(kind): count for kind, count in counted.items()}
        in_bytes = sum(row.bytes for row in growth[cluster])
        written = sum(line["size"] for line in lines["batch"])
        assert abs(in_bytes - written) <= len(records), "each row is rounded"


def test_the_sizes_are_those_of_the_batches_that_kafka_dumped(
    built_lake: Path, dumped: dict[str, dict[str, list[dict[str, Any]]]]
) -> None:
    rows = _rows(built_lake, quorum.BATCH_SIZES)
    for cluster, lines in dumped.items():
        (row,) = rows[cluster]
        sizes = sorted(line["size"] for line in lines["batch"])
        assert (row.batches, row.bytes, row.max_bytes) == (len(sizes), sum(sizes), sizes[-1])
        for part, found in ((0.5, row.p50_bytes), (0.95, row.p95_bytes), (0.99, row.p99_bytes)):
            assert found == sizes[math.ceil(part * len(sizes)) - 1]
        largest = max(lines["batch"], key=lambda line: line["size"])
        assert row.largest_offset == largest["base_offset"]
        assert row.max_records == max(line["count"] for line in lines["batch"])


def test_the_static_controllers_snapshots_are_1394_records_apart(
    built_lake: Path, dumped: dict[str, dict[str, list[dict[str, Any]]]]
) -> None:
    rows = _rows(built_lake, quorum.SNAPSHOT_CADENCE)
    second = [row for row in rows[STATIC] if row.previous_end_offset is not None]
    between = sum(
        line["size"] for line in dumped[STATIC]["batch"] if 519 <= line["base_offset"] < 1913
    )
    assert [row.node_id for row in second] == [1, 3, 12]
    for row in second:
        assert (row.previous_end_offset, row.end_offset, row.records_since) == (519, 1913, 1394)
        assert (row.ms_since, row.log_bytes_since, row.reached) == (34_468, between, "neither")
    assert [row.end_offset for row in rows[DYNAMIC]] == [2571, 1496, 2571, 792, 2598]


def test_the_head_goes_only_where_a_newer_snapshot_stays(built_lake: Path) -> None:
    rows = _rows(built_lake, quorum.RETENTION_FORECAST)
    starts = {c: {r.node_id: r.next_log_start_offset for r in rows[c]} for c in WHOLE_LOGS}
    assert starts == {
        # 2 and 3 have the bootstrap snapshot too
        DYNAMIC: {1: None, 2: 1496, 3: 2571, 11: None, 12: None},
        STATIC: {1: 1913, 2: None, 3: 1913, 11: None, 12: None},
    }
    for row in (*rows[DYNAMIC], *rows[STATIC]):
        earlier = min(row.bytes_reached_at, row.ms_reached_at)
        assert row.head_goes_at == (None if row.next_log_start_offset is None else earlier)


def _in_capitals(kind: str) -> str:
    """Kafka's dump names control records like classes."""
    names = {"LeaderChange": "LEADER_CHANGE", "KRaftVersion": "KRAFT_VERSION"}
    return names.get(kind, "KRAFT_VOTERS" if kind == "KRaftVoters" else kind)
