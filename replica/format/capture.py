"""A capture: one look at a replica's directory at one moment; capture.json and the ids.

capture.json lies beside the directories of the replicas that were looked at together:

    {"version": 1, "captured_at": "2026-11-21T05:00:00.000Z"}
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.directory import FoundFile
from replica.format.file_names import METADATA_FOLDER
from replica.format.text_file import text_of
from replica.types import ReplicaId

FILE_NAME = "capture.json"
_VERSION = 1
_ID_DIGITS = 32


@dataclass(frozen=True, slots=True)
class CaptureInfo:
    """What capture.json says. captured_at: aware, UTC."""

    captured_at: datetime


def decode(data: bytes) -> CaptureInfo:
    """Raises DataError naming the byte, or byte 0 where a field is missing or wrong."""
    try:
        fields = json.loads(text_of(data))
    except (ValueError, RecursionError) as error:
        raise CorruptDataError("not JSON", getattr(error, "pos", 0)) from error
    if not isinstance(fields, dict) or not isinstance(fields.get("captured_at"), str):
        raise CorruptDataError("captured_at is missing or no text", 0)
    version = fields.get("version")
    if type(version) is not int or version != _VERSION:
        raise UnsupportedDataError(f"version {_shortened(version)}, expected {_VERSION}", 0)
    return CaptureInfo(parse_time(fields["captured_at"]))


def encode(info: CaptureInfo) -> bytes:
    """The file's bytes."""
    text = info.captured_at.astimezone(UTC).isoformat(timespec="milliseconds")
    fields = {"version": _VERSION, "captured_at": text.replace("+00:00", "Z")}
    return (json.dumps(fields, indent=2) + "\n").encode("ascii")


def parse_time(text: str) -> datetime:
    """ISO-8601 (UTC where it names no zone) or ms since the epoch; CorruptDataError otherwise."""
    try:
        if text.isdigit():
            return datetime.fromtimestamp(int(text) / 1000, UTC)
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        reason = f"{_shortened(text)} is no ISO-8601 time and no number of ms"
        raise CorruptDataError(reason, 0) from error


def _shortened(value: object) -> str:
    return ascii(value)[:60]


def capture_id(replica: ReplicaId, files: Iterable[FoundFile]) -> str:
    """32 hex digits over the replica and its files' names, sizes and content hashes.

    Equal content of the same replica has an equal id, wherever and whenever it is read, and
    whatever the partition's folder is called there.
    """
    identity = [replica.cluster_id, replica.node_id, replica.directory_id]
    contents = sorted([canonical(file.path), file.size_bytes, file.sha256] for file in files)
    return _digest([identity, contents])


def canonical(path: str) -> str:
    """A file's path below the node's log directory, whatever the partition's folder is called."""
    _, in_folder, rest = path.partition("/")
    return f"{METADATA_FOLDER}/{rest}" if in_folder else path


def group_id(cluster_id: str, capture_ids: Iterable[str]) -> str:
    """32 hex digits over the captures of one cluster that were looked at together."""
    return _digest([cluster_id, sorted(set(capture_ids))])


def _digest(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_ID_DIGITS]
