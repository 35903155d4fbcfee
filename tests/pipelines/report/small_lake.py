"""Small lakes from invented rows: real Delta tables by the contracts, written without Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from pipelines.lake import Lake
from pipelines.lake.schema_version import write_schema_version
from pipelines.tables.bronze import BRONZE
from pipelines.tables.contract import Contract
from pipelines.tables.gold import GOLD, METADATA_CHANGES
from pipelines.tables.silver import SILVER
from replica.metadata.variant import encode_variant

CLUSTER = "cluster-A"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_NAMED = {contract.name: contract for contract in (*BRONZE, *SILVER, *GOLD, METADATA_CHANGES)}
_VARIANT = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
_SIMPLE = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", "UTC"),
    "variant": _VARIANT,
}
_EMPTY: dict[str, Any] = {"string": "", "int": 0, "bigint": 0, "boolean": False, "timestamp": START}

Rows = dict[str, list[Mapping[str, Any]]]


def at(seconds: float) -> datetime:
    """A time as seconds from START."""
    return START + timedelta(seconds=seconds)


def variant(payload: Any) -> dict[str, bytes]:
    """A VARIANT in the tables' form."""
    value, metadata = encode_variant(payload)
    return {"metadata": metadata, "value": value}


def arrow_type(ddl: str) -> pa.DataType:
    """Arrow's type for Spark's DDL of a contract, without the session that `Column.data_type`
    needs."""
    if ddl in _SIMPLE:
        return _SIMPLE[ddl]
    kind, inner = re.fullmatch(r"(array|struct|map)<(.*)>", ddl, re.DOTALL).groups()  # type: ignore[union-attr]
    if kind == "array":
        return pa.list_(arrow_type(inner))
    parts = list(_parts(inner))
    if kind == "map":
        return pa.map_(*(arrow_type(part) for part in parts))
    return pa.struct([(name, arrow_type(of)) for name, of in (p.split(":", 1) for p in parts)])


def _parts(text: str) -> Iterable[str]:
    """The text, split at commas outside of brackets."""
    depth, start = 0, 0
    for place, char in enumerate(text):
        depth += {"<": 1, ">": -1}.get(char, 0)
        if char == "," and not depth:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def write_lake(root: Path, rows: Rows, *, leave_out: Iterable[str] = ()) -> Path:
    """Writes all tables of a built lake with these rows (gold.metadata_changes only where `rows`
    has it). Columns that a row lacks are empty."""
    names = _NAMED.keys() - {METADATA_CHANGES.name} | rows.keys()
    for name in sorted(names - set(leave_out)):
        contract = _NAMED[name]
        fields = [
            pa.field(column.name, arrow_type(str(column.type)), column.nullable)
            for column in contract.columns
        ]
        whole = [_whole(contract, row) for row in rows.get(name, [])]
        table = pa.Table.from_pylist(whole, schema=pa.schema(fields))
        write_deltalake(str(root / name.replace(".", "/")), table)
    write_schema_version(Lake(root))
    return root


def _whole(contract: Contract, row: Mapping[str, Any]) -> dict[str, Any]:
    unknown = row.keys() - set(contract.column_names)
    assert not unknown, f"{contract.name} has no {unknown}"
    found: dict[str, Any] = {"cluster_id": CLUSTER}
    for column in contract.columns:
        empty = [] if str(column.type).startswith("array") else _EMPTY.get(str(column.type))
        found[column.name] = row.get(
            column.name, found.get(column.name, None if column.nullable else empty)
        )
    if contract.name == "gold.verdicts" and "headline" not in row:
        found["headline"] = next((one["text"] for one in found["facts"]), "No fault found.")
    return {name: found[name] for name in contract.column_names}


def replica(node: int) -> dict[str, Any]:
    """The columns that name a replica."""
    return {"cluster_id": CLUSTER, "node_id": node, "directory_id": f"directory-of-node-{node}"}


def capture(node: int, group: int, start: int = 0, end: int = 10, **more: Any) -> dict[str, Any]:
    """A row of bronze.captures: the node in capture group 1, 2, ..."""
    return {
        **replica(node),
        "capture_id": f"capture-{node}-{group}",
        "capture_group": f"group-{group}",
        "captured_at": at(100 * group),
        "has_own_time": True,
        "ingest_seq": group,
        "source": f"nodes/{group}/{node}",
        "log_start_offset": start,
        "log_end_offset": end,
        "first_offset": start if end > start else None,
        **more,
    }


def epoch(node: int, group: int, number: int, start: int, end: int, leader: int) -> dict[str, Any]:
    """A row of silver.leader_epochs."""
    return {
        **replica(node),
        "capture_id": f"capture-{node}-{group}",
        "epoch": number,
        "start_offset": start,
        "end_offset": end,
        "leader_id": leader,
        "in_batches": True,
    }


def held(node: int, offset: int, number: int, groups: tuple[int, int], **more: Any) -> Rows:
    """A batch of one record, and the record, held from the first to the last capture group."""
    key = {**replica(node), "base_offset": offset, "leader_epoch": number, "crc": 1000 + number}
    record = {name: more.pop(name) for name in ("record_type", "payload") if name in more}
    first, last = (at(100 * group) for group in groups)
    batch = {
        **key,
        "last_offset": offset,
        "record_count": 1,
        "crc_valid": True,
        "base_timestamp": at(offset),
        "max_timestamp": at(offset),
        "first_seen": first,
        "last_seen": last,
        "in_log": [{"from": first, "to": last}],
        **more,
    }
    told = {
        **key,
        "offset": offset,
        "timestamp": at(offset),
        "record_type": record.get("record_type", "NO_OP_RECORD"),
        "record_version": 0,
        "payload": variant(record.get("payload", {})),
    }
    return {"bronze.log_batches": [batch], "bronze.log_records": [told]}


def together(*parts: Rows) -> Rows:
    """The rows of several parts, by table."""
    found: Rows = {}
    for part in parts:
        for name, rows in part.items():
            found.setdefault(name, []).extend(rows)
    return found
