"""Bronze's rows of one cluster, made of rows of the sources. Each directory is one capture, and all
captures are in one capture group."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructField, StructType

from pipelines.cluster.cluster_tables import BATCHES, HeldTables
from pipelines.cluster.rows import EPOCH
from pipelines.gold.inputs import Silver
from pipelines.silver.log_runs import log_runs
from pipelines.sources.kraft_log import OWNER_COLUMNS
from pipelines.sources.kraft_replica import REPLICA_SCHEMA
from pipelines.sources.replica_rows import replica_row
from pipelines.tables import bronze
from pipelines.tables.contract import data_type
from pipelines.tables.keys import BATCH_KEYS, REPLICA_KEYS, SNAPSHOT_KEYS
from replica.errors import FileSystemError, UsageError
from replica.model.keys import ReplicaId

Row = dict[str, Any]

LOG, SNAPSHOT, REPLICA = "log", "snapshot", "replica"
"""The source of a row of ROWS."""
_OF_BATCH = ("last_offset", "record_count", "size_bytes", "position", "file", "is_control")
_COLUMNS = {
    **OWNER_COLUMNS,
    "what": "string", "file": "string", "position": "bigint",
    "base_offset": "bigint", "last_offset": "bigint", "leader_epoch": "int", "crc": "bigint",
    "record_count": "int", "size_bytes": "bigint", "offset": "bigint",
    "end_offset": "bigint", "epoch": "int", "index": "bigint",
    "timestamp": "timestamp", "is_control": "boolean", "record_type": "string",
    "record_version": "int", "payload": "variant", "value": "binary", "error": "string",
}  # fmt: skip
ROWS = StructType(
    [
        *(StructField(name, data_type(kind)) for name, kind in _COLUMNS.items()),
        StructField("replica", REPLICA_SCHEMA),
    ]
)
"""Rows of a cluster from all sources: what the tasks of the frames' functions get. A column that
its source doesn't have is NULL; `replica` is a whole row of kraft_replica."""

_GROUP = ""
"""The name of the one capture group."""


def _cluster_id(rows: pa.Table) -> str:
    """The id of the one cluster whose rows these are. Raises UsageError where it is NULL."""
    found = rows["cluster_id"][0].as_py()
    if found is None:
        raise UsageError(
            f"{rows['directory'][0].as_py()}: there is no meta.properties that names cluster and "
            'node; say whose it is: .option("replica", "CLUSTER:NODE")'
        )
    return str(found)


def cluster_of(rows: pa.Table, *, with_findings: bool) -> Silver:
    """The input from which the tables of one cluster are made.

    rows: rows with the columns ROWS. with_findings: whether the caller wants findings. Then the
    records of a directory without a row of kraft_replica are read.

    Raises UsageError where neither meta.properties nor an option names the cluster of the rows,
    where two directories are of one replica, and where a directory that has to be read doesn't
    exist.
    """
    cluster_id = _cluster_id(rows)
    of = {what: rows.filter(pc.equal(rows["what"], what)) for what in (LOG, SNAPSHOT, REPLICA)}
    replicas = [*_replicas(rows, of[REPLICA], with_findings=with_findings)]
    _refuse_twice(replicas)
    contents = _contents(of[SNAPSHOT])
    of_directories = {
        bronze.CAPTURES: (_capture(row) for row in replicas),
        bronze.SNAPSHOTS: (one for row in replicas for one in _snapshots(row, contents)),
        bronze.REPLICA_STATE: (_keyed(row, row) for row in replicas),
        bronze.FINDINGS: (_keyed(row, one) for row in replicas for one in row["findings"] or ()),
    }
    batches = _batches(of[LOG])
    tables = {
        **{
            contract: pa.Table.from_pylist([*found], contract.arrow_schema)
            for contract, found in of_directories.items()
        },
        bronze.LOG_BATCHES: batches,
        bronze.LOG_RECORDS: _readable(of[LOG], bronze.LOG_RECORDS.column_names),
        bronze.SNAPSHOT_RECORDS: _snapshot_records(of[SNAPSHOT], replicas, contents),
    }
    return Silver(HeldTables(cluster_id, tables), log_runs(batches))


def _replicas(rows: pa.Table, given: pa.Table, *, with_findings: bool) -> Iterator[Row]:
    """A row of kraft_replica for each directory, ascending by their names. given: the rows that the
    caller has. Raises UsageError where another directory can't be read."""
    known = {row["directory"]: row for row in given["replica"].to_pylist()}
    owners = rows.select([*OWNER_COLUMNS]).group_by([*OWNER_COLUMNS]).aggregate([]).to_pylist()
    for owner in sorted(owners, key=itemgetter("directory")):
        if owner["directory"] in known:
            yield known[owner["directory"]]
            continue
        replica = ReplicaId(**{name: owner[name] for name in REPLICA_KEYS})
        try:
            yield replica_row(owner["directory"], replica, with_findings=with_findings)
        except (FileSystemError, UsageError) as error:
            hint = 'give the frame of spark.read.format("kraft_replica") as `replicas`'
            raise UsageError(f"{error}; {hint}") from error


def _refuse_twice(replicas: Iterable[Row]) -> None:
    seen: dict[tuple[Any, ...], str] = {}
    for row in replicas:
        key = tuple(row[name] for name in REPLICA_KEYS)
        other = seen.setdefault(key, row["directory"])
        if other != row["directory"]:
            raise UsageError(
                f"{other} and {row['directory']} are captures of the same replica (node "
                f"{row['node_id']}): load one capture at a time, or keep one of them with "
                ".where(\"directory LIKE '...%'\")"
            )


def _keyed(row: Row, more: Row) -> Row:
    """The values of `more` with the keys of a row of kraft_replica: capture_id, which is the
    directory here, and the columns of the replica."""
    keys = {"capture_id": row["directory"], **{name: row[name] for name in REPLICA_KEYS}}
    return more | keys


def _capture(row: Row) -> Row:
    offsets = ("is_fragment", "log_start_offset", "log_end_offset")
    told = {
        "capture_group": _GROUP, "captured_at": EPOCH, "ingest_seq": 1, "round_name": None,
        "source": row["directory"],
    }  # fmt: skip
    return _keyed(row, told | {name: row[name] for name in offsets})


def _batches(log: pa.Table) -> pa.Table:
    """The columns BATCHES of each batch, once."""
    told = log.select([*BATCH_KEYS, *_OF_BATCH])
    told = told.group_by([*BATCH_KEYS]).aggregate([(name, "min") for name in _OF_BATCH])
    told = told.rename_columns([name.removesuffix("_min") for name in told.column_names])
    count, schema = told.num_rows, bronze.LOG_BATCHES.arrow_schema
    never = pa.nulls(count, schema.field("last_seen").type)
    span = schema.field("in_log").type.value_type
    begin = pa.array(np.zeros(count, np.int64)).cast(span.field("from").type)
    open_ended = pa.StructArray.from_arrays([begin, never.cast(begin.type)], fields=[*span])
    others = {
        "crc_valid": pa.array(np.ones(count, np.bool_)),
        "max_timestamp": never,
        "last_seen": never,
        "truncated_at": never,
        "in_log": pa.ListArray.from_arrays(
            pa.array(np.arange(count + 1, dtype=np.int32)), open_ended
        ),
    }
    for name, column in others.items():
        told = told.append_column(name, column)
    return told.select([*BATCHES])


def _readable(rows: pa.Table, names: Iterable[str]) -> pa.Table:
    """The records that could be read, with these columns."""
    return rows.filter(rows["error"].is_null()).select([*names])


_Contents = Mapping[tuple[Any, ...], str]
"""By the values of REPLICA_KEYS, end offset and epoch: a text for a snapshot's content."""


def _contents(snapshots: pa.Table) -> _Contents:
    """A text for the content of each snapshot: equal texts for snapshots whose records are
    equal."""
    keys = [*SNAPSHOT_KEYS[:-1]]
    order = [(name, "ascending") for name in (*keys, "index")]
    rows = snapshots.sort_by(order)
    shown = (rows[name].to_pylist() for name in ("index", "record_type", "payload", "value"))
    hashes: dict[tuple[Any, ...], Any] = {}
    of = zip(*(rows[name].to_pylist() for name in keys), strict=True)
    for key, cells in zip(of, zip(*shown, strict=True), strict=True):
        hashes.setdefault(key, hashlib.sha256()).update(repr(cells).encode())
    return {key: found.hexdigest() for key, found in hashes.items()}


def _snapshots(row: Row, contents: _Contents) -> Iterator[Row]:
    """The rows of bronze.snapshots of one directory."""
    for one in row["snapshots"]:
        key = (*(row[name] for name in REPLICA_KEYS), one["end_offset"], one["epoch"])
        is_complete = one["state"] == "complete"
        yield {
            **{name: row[name] for name in REPLICA_KEYS},
            **one,
            "content_sha256": contents.get(key, f"{row['directory']} {one['file']}"),
            "captures": [row["directory"]] if is_complete else [],
        }


def _snapshot_records(
    snapshots: pa.Table, replicas: Iterable[Row], contents: _Contents
) -> pa.Table:
    """Rows of bronze.snapshot_records: the rows of kraft_snapshot. Where the caller gave none, they
    are only the voters records that the rows of kraft_replica have."""
    kinds = bronze.SNAPSHOT_RECORDS.arrow_schema
    names = [name for name in kinds.names if name != "content_sha256"]
    if not contents:
        return pa.Table.from_pylist([*_voters_records(replicas)], kinds)
    rows = _readable(snapshots, names)
    keys = zip(*(rows[name].to_pylist() for name in SNAPSHOT_KEYS[:-1]), strict=True)
    hashes = pa.array([contents[key] for key in keys], pa.string())
    return rows.append_column("content_sha256", hashes).select(kinds.names)


def _voters_records(replicas: Iterable[Row]) -> Iterator[Row]:
    for row in replicas:
        for one in _snapshots(row, {}):
            for index, value in enumerate(one["voters"]):
                yield {
                    **{name: one[name] for name in SNAPSHOT_KEYS},
                    "index": index, "timestamp": None, "is_control": True,
                    "record_type": "KRAFT_VOTERS", "record_version": None,
                    "payload": None, "value": value,
                }  # fmt: skip
