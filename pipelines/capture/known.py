"""The facts in a lake about a replica's files in its newest capture, read without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from pipelines.lake import Lake
from pipelines.lake.seal import OPEN, Seal, is_sealed
from pipelines.tables.keys import replica_of
from replica.errors import UsageError
from replica.format.file_names import classify
from replica.format.known_file import BatchPlace, KnownFile
from replica.model.keys import ReplicaId

_NEWEST = """
SELECT cluster_id, node_id, directory_id, capture_id, captured_at, files
FROM t JOIN (
  SELECT cluster_id AS cluster, node_id AS node, directory_id AS directory, max(captured_at) AS at
  FROM t GROUP BY cluster_id, node_id, directory_id) AS w
ON cluster_id = cluster AND node_id = node AND directory_id = directory AND captured_at = at
"""
_ANY_FILES = "SELECT files FROM t WHERE array_length(files) > 0 LIMIT 1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Base:
    """A replica's newest capture in the lake, on which the next capture is based: what is known
    from it is not read again."""

    replica: ReplicaId
    capture_id: str
    at: datetime
    """The captured_at of the capture."""
    files: Mapping[str, KnownFile]
    """The files that needn't be read again, by canonical path (replica.format.capture)."""
    has_deleted: bool
    """Whether the capture held .log.deleted files."""


@dataclass(frozen=True)
class KnownCaptures:
    """The newest captures in a lake's bronze.captures."""

    lake: Lake | None
    """The lake; None where nothing is known."""
    seal: Seal = OPEN
    """Opens the hashes of files that the lake sealed."""

    def of(self, replica: ReplicaId) -> Base | None:
        """The replica's newest capture; None where the lake has none. Raises UsageError where
        bronze.captures can't be read."""
        return self._bases.get(replica)

    @property
    def is_empty(self) -> bool:
        """Whether there is no capture."""
        return not self._bases

    @cached_property
    def _bases(self) -> dict[ReplicaId, Base]:
        rows = [] if self.lake is None else _captures(self.lake, _NEWEST)
        return dict(_base(row, self.seal) for row in rows)


NOTHING_KNOWN = KnownCaptures(None)


def seal_of(lake: Lake, key: bytes, *, keeps_secrets: bool) -> Seal:
    """The seal with which the lake keeps hashes, or will keep them where it has no capture yet.
    key: the lake's key. keeps_secrets: whether the new captures keep their secrets.

    Raises UsageError where the lake was sealed with another key, or where secrets would go into a
    lake that hides them.
    """
    rows = _captures(lake, _ANY_FILES)
    if not rows:
        return OPEN if keeps_secrets else Seal(key)
    sample = rows[0]["files"][0]["sha256"]
    if not is_sealed(sample):
        return OPEN
    if keeps_secrets:
        raise UsageError(
            f"{lake}: hides secrets, and --keep-secrets would show them: name another lake"
        )
    if Seal(key).open(sample) is None:
        raise UsageError(
            f"{lake}/_redaction.key: not the key that the lake was made with: restore it from a "
            "copy of the lake, or ingest the captures into a new lake"
        )
    return Seal(key)


def _captures(lake: Lake, query: str) -> list[dict[str, Any]]:
    """The rows that a query of bronze.captures gives; none where the lake has no such table. query:
    SQL, in which `t` is the table. Raises UsageError where the table can't be read."""
    folder = lake.table_uri("bronze.captures")
    if not lake.has_folder("bronze/captures/_delta_log"):
        return []
    from pipelines.lake.delta_rs import open_table, rows_of

    try:
        return rows_of(open_table(folder), query)
    except Exception as error:  # delta-rs raises Exception itself where a data file is missing.
        reason = " ".join(str(error).split())
        raise UsageError(
            f"{folder} can't be read ({reason}): restore it, or use a new lake"
        ) from error


def _base(row: Mapping[str, Any], seal: Seal) -> tuple[ReplicaId, Base]:
    known = {}
    for file in row["files"]:
        found = None if file["known"] is None else known_file(file, file["known"], seal)
        if found is not None:
            known[file["path"]] = found
    deleted = any(classify(file["path"].rsplit("/", 1)[-1]).deleted for file in row["files"])
    replica = replica_of(row)
    return replica, Base(replica, row["capture_id"], _aware(row["captured_at"]), known, deleted)


def _aware(value: int | datetime) -> datetime:
    if isinstance(value, int):
        return _EPOCH + timedelta(microseconds=value)
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def known_file(file: Mapping[str, Any], known: Mapping[str, Any], seal: Seal) -> KnownFile | None:
    """A known file. file: an element of bronze.captures.files. known: its field `known`. None where
    another key has sealed the file's hashes."""
    content = seal.open(file["sha256"])
    chunks, headers = seal.open(known["chunk_hash"]), seal.open(known["headers_hash"])
    if content is None or chunks is None or headers is None:
        return None
    return KnownFile(
        size_bytes=file["size_bytes"],
        content_hash=content,
        sound_bytes=known["sound_bytes"],
        next_offset=known["next_offset"],
        record_count=known["record_count"],
        chunk_hash=chunks,
        headers_hash=headers,
        landmarks=_places(known["landmarks"]),
        places=_places(known["places"]),
    )


def _places(rows: list[Mapping[str, Any]]) -> tuple[BatchPlace, ...]:
    return tuple(BatchPlace(r["position"], r["base_offset"], r["size_bytes"]) for r in rows)


def known_column(known: KnownFile, seal: Seal) -> dict[str, Any]:
    """The facts that `known_file` reads, in the form of bronze.captures.files.known."""
    return {
        "sound_bytes": known.sound_bytes,
        "next_offset": known.next_offset,
        "record_count": known.record_count,
        "chunk_hash": seal.close(known.chunk_hash),
        "headers_hash": seal.close(known.headers_hash),
        "landmarks": [place._asdict() for place in known.landmarks],
        "places": [place._asdict() for place in known.places],
    }
