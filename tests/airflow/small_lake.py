"""The tables of a lake that the gate reads, made by delta-rs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from pipelines.lake import Lake
from pipelines.lake.schema_version import write_schema_version

AT = datetime(2026, 11, 21, 5, tzinfo=UTC)
_CAPTURE = {
    "capture_id": "new",
    "cluster_id": "c",
    "node_id": 1,
    "directory_id": "d",
    "is_fragment": False,
}
_RESULT = {"table_name": "bronze.log_batches", "meaning": "a batch has an epoch"}


def write_small_lake(
    lake: Path,
    *,
    damaged: str | None = None,
    kind: str = "crc-mismatch",
    broken: str | None = None,
    level: str = "healthy",
) -> None:
    """Writes the tables. damaged: the capture with a damage of the given kind, `new` or `old`; None
    for no damage. broken: the action of an expectation that the newest run found broken. level: the
    level of the cluster's verdict."""
    old = {**_CAPTURE, "capture_id": "old", "captured_at": AT.replace(hour=4), "ingest_seq": 1}
    damage = {"capture_id": damaged, "file": "nodes/1/0.log", "kind": kind, "detail": "x"}
    results = [_judged(AT.replace(hour=4), "stop"), _judged(AT, broken)]
    tables = {
        "bronze/captures": [{**_CAPTURE, "captured_at": AT, "ingest_seq": 2}, old],
        "bronze/damage": [damage],
        "gold/quality_results": results,
        "gold/verdicts": [_verdict(level)],
    }
    lake.mkdir(parents=True, exist_ok=True)
    write_schema_version(Lake(lake))
    for name, rows in tables.items():
        write_deltalake(str(lake / name), pa.Table.from_pylist(rows), mode="overwrite")


def _judged(at: datetime, broken: str | None) -> dict[str, Any]:
    outcome = {"success": broken is None, "unexpected_rows": 0 if broken is None else 3}
    return {**_RESULT, "at": at, "action": broken or "quarantine", **outcome}


def _verdict(level: str) -> dict[str, Any]:
    said = {"level": level, "headline": "The logs conflict.", "next_steps": ["Start no node."]}
    gap = {"what": "voter 2", "why": "its directory was not given", "next_step": ""}
    return {"cluster_id": "c", **said, "not_judged": [gap], "at": AT, "captured_at": AT}
