"""What the lake knows of a replica's files: by its newest capture, read without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from pipelines import lake_files
from pipelines.lake_paths import table_uri
from replica.errors import UsageError
from replica.format.file_names import classify
from replica.format.known_file import KnownFile, Place
from replica.types import ReplicaId

_NEWEST = """
SELECT cluster_id, node_id, directory_id, capture_id, captured_at, files
FROM (SELECT *, row_number() OVER (
        PARTITION BY cluster_id, node_id, directory_id ORDER BY captured_at DESC) AS age FROM c)
WHERE age = 1
"""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Base:
    """A replica's newest capture. at: its captured_at; files: what need not be read again, by
    canonical path (replica.format.capture); has_deleted: whether it held .log.deleted files."""

    replica: ReplicaId
    capture_id: str
    at: datetime
    files: Mapping[str, KnownFile]
    has_deleted: bool


@dataclass(frozen=True)
class KnownCaptures:
    """The newest captures of a lake's bronze.captures. lake: None knows nothing."""

    lake: str | None

    def of(self, replica: ReplicaId) -> Base | None:
        """The replica's, None where the lake has none. UsageError for a table that is no table."""
        return self._bases.get(replica)

    @cached_property
    def _bases(self) -> dict[ReplicaId, Base]:
        return {} if self.lake is None else _bases(self.lake)


NOTHING_KNOWN = KnownCaptures(None)


def _bases(lake: str) -> dict[ReplicaId, Base]:
    folder = table_uri(lake, "bronze.captures")
    if not lake_files.has_folder(lake, "bronze/captures/_delta_log"):
        return {}
    from deltalake import QueryBuilder

    from pipelines.delta_rs import open_table

    try:
        table = open_table(folder)
        rows = QueryBuilder().register("c", table).execute(_NEWEST).read_all()
    except Exception as error:  # delta-rs raises just that where a data file is gone
        reason = " ".join(str(error).split())
        raise UsageError(
            f"{folder} can't be read ({reason}): restore it, or use a new lake"
        ) from error
    return dict(_base(row) for row in _pylist(rows))


def _pylist(table: Any) -> list[dict[str, Any]]:
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def replica_of(row: Mapping[str, Any]) -> ReplicaId:
    """From a row of any table of replicas."""
    return ReplicaId(row["cluster_id"], row["node_id"], row["directory_id"])


def _base(row: Mapping[str, Any]) -> tuple[ReplicaId, Base]:
    known = {}
    for file in row["files"]:
        if file["known"] is not None:
            known[file["path"]] = known_file(file, file["known"])
    deleted = any(classify(file["path"].rsplit("/", 1)[-1]).deleted for file in row["files"])
    replica = replica_of(row)
    return replica, Base(replica, row["capture_id"], _aware(row["captured_at"]), known, deleted)


def _aware(value: int | datetime) -> datetime:
    if isinstance(value, int):
        return _EPOCH + timedelta(microseconds=value)
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def known_file(file: Mapping[str, Any], known: Mapping[str, Any]) -> KnownFile:
    """From an element of bronze.captures.files."""
    return KnownFile(
        size_bytes=file["size_bytes"],
        content_hash=file["sha256"],
        sound_bytes=known["sound_bytes"],
        next_offset=known["next_offset"],
        record_count=known["record_count"],
        chunk_hash=known["chunk_hash"],
        headers_hash=known["headers_hash"],
        landmarks=_places(known["landmarks"]),
        places=_places(known["places"]),
    )


def _places(rows: list[Mapping[str, Any]]) -> tuple[Place, ...]:
    return tuple(Place(r["position"], r["base_offset"], r["size_bytes"]) for r in rows)


def known_column(known: KnownFile) -> dict[str, Any]:
    """What `known_file` reads, as bronze.captures.files.known."""
    return {
        "sound_bytes": known.sound_bytes,
        "next_offset": known.next_offset,
        "record_count": known.record_count,
        "chunk_hash": known.chunk_hash,
        "headers_hash": known.headers_hash,
        "landmarks": [place._asdict() for place in known.landmarks],
        "places": [place._asdict() for place in known.places],
    }
