"""Bronze tables of invented quorums, for the layers above: a test says what each capture saw, and
gets the rows.

Every cluster is a scenario. All scenarios go through Spark together, and a test asks for the rows
of its cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.keys import REPLICA_KEYS
from replica.model.keys import ZERO_UUID

START = datetime(2026, 1, 1, tzinfo=UTC)
VOTERS = (1, 2, 3)
Voter = int | tuple[int, str]
_Replica = tuple[str, int, str]


@dataclass(frozen=True)
class Batch:
    """A batch. leader: makes its first record a LEADER_CHANGE. voters: makes it a KRAFT_VOTERS
    record; a voter is an id, or an id and a directory."""

    base: int
    last: int
    epoch: int
    crc: int = 7
    leader: int | None = None
    voters: tuple[Voter, ...] | None = None


@dataclass(frozen=True)
class Capture:
    """The content of a replica's directory at `minute`. log_start: by default that of the first
    batch."""

    cluster: str
    node: int
    minute: int
    batches: tuple[Batch, ...] = ()
    checkpoint: tuple[tuple[int, int], ...] | None = None
    log_start: int | None = None
    quorum_epoch: int | None = None
    snapshots: tuple[tuple[int, int], ...] = ()
    snapshot_voters: tuple[Voter, ...] = ()
    static_voters: tuple[int, ...] | None = None
    configured_voters: tuple[int, ...] = ()
    leader: int = -1
    voted: int = -1
    directory: str = ZERO_UUID
    log_bytes: int = 0
    group: str = field(default="")

    @property
    def at(self) -> datetime:
        # no two replicas are captured at the same moment
        return START + timedelta(minutes=self.minute, seconds=self.node)

    @property
    def capture_group(self) -> str:
        return self.group or f"{self.cluster}@{self.minute}"

    @property
    def capture_id(self) -> str:
        return f"{self.cluster}/{self.node}/{abs(hash(replace(self, minute=0, group='')))}"

    @property
    def key(self) -> _Replica:
        return self.cluster, self.node, self.directory

    @property
    def replica(self) -> dict[str, Any]:
        return dict(zip(REPLICA_KEYS, self.key, strict=True))


def epoch(number: int, leader: int, start: int, end: int) -> tuple[Batch, Batch]:
    """The batches of a leader epoch: its LEADER_CHANGE at `start`, and the other records up to
    `end`."""
    return Batch(start, start, number, leader=leader), Batch(start + 1, end - 1, number)


def bronze_values(captures: Iterable[Capture]) -> dict[Contract, list[dict[str, Any]]]:
    """The rows of bronze's tables, without the columns that no test sets; payloads are plain
    values."""
    seen = list(captures)
    groups = list(dict.fromkeys(capture.capture_group for capture in seen))
    return {
        bronze.CAPTURES: [
            _capture(groups.index(capture.capture_group) + 1, capture) for capture in seen
        ],
        bronze.LOG_BATCHES: [_batch(seen, *key) for key in _batches(seen)],
        bronze.LOG_RECORDS: [row for key in _batches(seen) for row in _records(*key)],
        bronze.SNAPSHOTS: [_snapshot(seen, *key) for key in _snapshots(seen)],
        bronze.SNAPSHOT_RECORDS: [row for key in _snapshots(seen) for row in _voters_of(*key)],
        bronze.REPLICA_STATE: list(
            {capture.capture_id: _state(capture) for capture in seen}.values()
        ),
    }


def frame(spark: SparkSession, contract: Contract, rows: Sequence[dict[str, Any]]) -> DataFrame:
    """A DataFrame of the contract. VARIANT columns are given as plain values; other columns may be
    missing."""
    variants = [f.name for f in contract.schema if f.dataType.simpleString() == "variant"]
    schema = StructType(
        [
            StructField(f.name, StringType() if f.name in variants else f.dataType)
            for f in contract.schema
        ]
    )
    cells = [
        tuple(
            json.dumps(row[name]) if name in variants and row.get(name) else row.get(name)
            for name in schema.names
        )
        for row in rows
    ]
    made = spark.createDataFrame(cells, schema)
    return contract.select(made.withColumns({name: F.parse_json(name) for name in variants}))


def _capture(number: int, capture: Capture) -> dict[str, Any]:
    first = capture.batches[0].base if capture.batches else None
    start = capture.log_start if capture.log_start is not None else (first or 0)
    end = capture.batches[-1].last + 1 if capture.batches else start
    return {
        **capture.replica,
        "capture_id": capture.capture_id,
        "capture_group": capture.capture_group,
        "captured_at": capture.at,
        "ingest_seq": number,
        "source": "made up",
        "log_start_offset": start,
        "log_end_offset": end,
        "first_offset": first,
        "files": [
            {"path": f"__cluster_metadata-0/{start:020d}.log", "size_bytes": capture.log_bytes}
        ],
    }


def _captures_of(seen: Sequence[Capture], replica: _Replica) -> list[Capture]:
    mine = [capture for capture in seen if capture.key == replica]
    return sorted(mine, key=lambda capture: capture.at)


def _batches(seen: Sequence[Capture]) -> list[tuple[_Replica, Batch]]:
    return list({(capture.key, b): None for capture in seen for b in capture.batches})


def _batch(seen: Sequence[Capture], replica: _Replica, batch: Batch) -> dict[str, Any]:
    spans: list[dict[str, datetime]] = []
    was_held = False
    truncated_at: datetime | None = None
    for capture in _captures_of(seen, replica):
        is_held = batch in capture.batches
        if is_held and was_held:
            spans[-1]["to"] = capture.at
        elif is_held:
            spans.append({"from": capture.at, "to": capture.at})
        elif spans and truncated_at is None and batch.base >= (capture.log_start or 0):
            truncated_at = capture.at
        was_held = is_held
    return {
        **_key(replica, batch),
        "last_offset": batch.last,
        "is_control": batch.leader is not None or batch.voters is not None,
        "record_count": batch.last - batch.base + 1,
        "size_bytes": 100,
        "position": 0,
        "crc_valid": True,
        "base_timestamp": START,
        "max_timestamp": START + timedelta(seconds=batch.last),
        "file": "00000000000000000000.log",
        "first_seen": spans[0]["from"],
        "last_seen": spans[-1]["to"],
        "truncated_at": truncated_at,
        "in_log": spans,
    }


def _key(replica: _Replica, batch: Batch) -> dict[str, Any]:
    return {
        **dict(zip(REPLICA_KEYS, replica, strict=True)),
        "base_offset": batch.base,
        "leader_epoch": batch.epoch,
        "crc": batch.crc,
    }


def _records(replica: _Replica, batch: Batch) -> list[dict[str, Any]]:
    found: list[tuple[str, dict[str, Any]]] = []
    if batch.leader is not None:
        ids = [{"voterId": voter} for voter in VOTERS]
        found.append(
            (
                "LEADER_CHANGE",
                {"version": 0, "leaderId": batch.leader, "voters": ids, "grantingVoters": ids[:2]},
            )
        )
    if batch.voters is not None:
        found.append(("KRAFT_VOTERS", _voters_json(batch.voters)))
    return [
        {
            **_key(replica, batch),
            "offset": batch.base + place,
            "timestamp": START + timedelta(seconds=batch.base),
            "is_control": True,
            "record_type": record_type,
            "record_version": 0,
            "payload": payload,
        }
        for place, (record_type, payload) in enumerate(found)
    ]


def _voters_json(voters: Sequence[Voter]) -> dict[str, Any]:
    return {
        "version": 0,
        "voters": [
            {
                "voterId": voter,
                "voterDirectoryId": directory,
                "endpoints": [{"name": "CONTROLLER", "host": "localhost", "port": 9000 + voter}],
                "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
            }
            for voter, directory in (
                (each, ZERO_UUID) if isinstance(each, int) else each for each in voters
            )
        ],
    }


def _snapshots(
    seen: Sequence[Capture],
) -> list[tuple[_Replica, tuple[int, int], tuple[Voter, ...]]]:
    return list(
        {
            (capture.key, snapshot, capture.snapshot_voters): None
            for capture in seen
            for snapshot in capture.snapshots
        }
    )


def _snapshot_key(replica: _Replica, snapshot: tuple[int, int]) -> dict[str, Any]:
    return {
        **dict(zip(REPLICA_KEYS, replica, strict=True)),
        "end_offset": snapshot[0],
        "epoch": snapshot[1],
        "content_sha256": f"{replica[0]}{snapshot}",
    }


def _snapshot(
    seen: Sequence[Capture],
    replica: _Replica,
    snapshot: tuple[int, int],
    voters: tuple[Voter, ...],
) -> dict[str, Any]:
    holders = [capture for capture in _captures_of(seen, replica) if snapshot in capture.snapshots]
    return {
        **_snapshot_key(replica, snapshot),
        "file": "a.checkpoint",
        "size_bytes": 100,
        "state": "complete",
        "is_whole": True,
        "record_count": 2,
        "last_contained_log_timestamp": START + timedelta(seconds=snapshot[0] - 1),
        "first_seen": holders[0].at,
        "last_seen": holders[-1].at,
        "captures": sorted({capture.capture_id for capture in holders}),
    }


def _voters_of(
    replica: _Replica, snapshot: tuple[int, int], voters: tuple[Voter, ...]
) -> list[dict[str, Any]]:
    if not voters:
        return []
    return [
        {
            **_snapshot_key(replica, snapshot),
            "index": 1,
            "timestamp": START,
            "is_control": True,
            "record_type": "KRAFT_VOTERS",
            "record_version": 0,
            "payload": _voters_json(voters),
        }
    ]


def _state(capture: Capture) -> dict[str, Any]:
    entries = capture.checkpoint
    return {
        "capture_id": capture.capture_id,
        **capture.replica,
        "quorum_version": None if capture.quorum_epoch is None else 0,
        "leader_id": capture.leader,
        "leader_epoch": capture.quorum_epoch,
        "voted_id": capture.voted,
        "current_voters": None if capture.static_voters is None else list(capture.static_voters),
        "configured_voters": [
            {"voter_id": voter, "host": f"c{voter}", "port": 9093}
            for voter in capture.configured_voters
        ],
        "leader_epochs": None
        if entries is None
        else [{"epoch": number, "start_offset": start} for number, start in entries],
        "index_entries": 0,
        "index_mismatches": 0,
    }
