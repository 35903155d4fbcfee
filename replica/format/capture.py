"""A capture (the content of a replica's directory at one moment): its file capture.json and its
ids.

capture.json is in the folder of the directories that were captured together:

    {"version": 1, "captured_at": "2026-11-21T05:00:00.000Z",
     "files": [{"path": "node-1/meta.properties", "size_bytes": 97, "content_hash": "...",
                "modified_at": "2026-11-21T04:59:58.120Z"}]}

`files` may be absent, and so may each `modified_at`. If present, `files` lists all captured files,
by paths from the folder of capture.json. `"is_fragment": true` may follow captured_at: the
directory then holds only some consecutive records of the replica's log, and no other file. `"cut":
["node-1"]` may follow too: these folders are copies of incomplete archives, so files or ends of
files may be missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from replica import path_text
from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.directory import DirectoryFile
from replica.format.file_names import METADATA_FOLDER
from replica.format.text_file import text_of
from replica.model.keys import ReplicaId

FILE_NAME = "capture.json"
PART_NAME = f"{FILE_NAME}.part"
"""The name of capture.json while the capture is not finished."""
_FIRST_YEAR, _LAST_YEAR = 1970, 2261
_VERSION = 1
_ID_DIGITS = 32


@dataclass(frozen=True, slots=True)
class CapturedFile:
    """A file of a capture."""

    path: str
    """The path relative to the captured directory, with '/' between its parts."""
    size_bytes: int
    content_hash: str
    """The hash of replica.format.content_hash, 64 hex digits."""
    modified_at: str | None = field(default=None, compare=False)
    """The time of the node's last write to the file (mtime), in the form of captured_at; None if it
    is unknown. A copy of a file has another mtime."""


@dataclass(frozen=True, slots=True)
class CaptureInfo:
    """The content of capture.json."""

    captured_at: datetime
    """The time of the capture, in UTC."""
    files: tuple[CapturedFile, ...] = ()
    """The files of the capture; empty if capture.json doesn't list them."""
    is_fragment: bool = False
    """Whether the directory holds only a part of the log. The log may have held other records at
    that time."""
    cut: tuple[str, ...] = ()
    """The nodes' folders that come from an incomplete archive."""


def decode(data: bytes) -> CaptureInfo:
    """The content of the bytes of a capture.json. Raises DataError with the byte, which is 0 if a
    field is missing or wrong."""
    try:
        fields = json.loads(text_of(data))
    except (ValueError, RecursionError) as error:
        raise CorruptDataError("not JSON", getattr(error, "pos", 0)) from error
    if not isinstance(fields, dict) or not isinstance(fields.get("captured_at"), str):
        raise CorruptDataError("captured_at is missing or isn't a text", 0)
    version = fields.get("version")
    if type(version) is not int or version != _VERSION:
        raise UnsupportedDataError(f"version {_shortened(version)}, expected {_VERSION}", 0)
    is_fragment = fields.get("is_fragment", False)
    if not isinstance(is_fragment, bool):
        raise CorruptDataError("is_fragment is neither true nor false", 0)
    cut = fields.get("cut", [])
    if not (isinstance(cut, list) and all(isinstance(folder, str) for folder in cut)):
        raise CorruptDataError("cut is no list of folders", 0)
    files = tuple(_files(fields.get("files", [])))
    return CaptureInfo(capture_time(fields["captured_at"]), files, is_fragment, tuple(cut))


def _files(listed: object) -> Iterator[CapturedFile]:
    for one in listed if isinstance(listed, list) else [None]:
        match one:
            case {"path": str(path), "size_bytes": int(size), "content_hash": str(digest)}:
                if not path_text.is_below(path):
                    reason = f"files: {_shortened(path)} is no plain path below its folder"
                    raise CorruptDataError(reason, 0)
                modified = one.get("modified_at") if isinstance(one, dict) else None
                known = written_time(capture_time(modified)) if isinstance(modified, str) else None
                yield CapturedFile(path, size, digest, known)
            case _:
                reason = f"files: {_shortened(one)} lacks a path, size_bytes or content_hash"
                raise CorruptDataError(reason, 0)


def encode(info: CaptureInfo) -> bytes:
    """The bytes of a capture.json."""
    fields: dict[str, object] = {
        "version": _VERSION,
        "captured_at": written_time(info.captured_at),
    }
    if info.is_fragment:
        fields["is_fragment"] = True
    if info.cut:
        fields["cut"] = list(info.cut)
    if info.files:
        fields["files"] = [
            {name: value for name, value in asdict(file).items() if value is not None}
            for file in info.files
        ]
    return (json.dumps(fields, indent=2) + "\n").encode("ascii")


def written_time(moment: datetime) -> str:
    """The time in the form of capture.json."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """The time of an ISO-8601 text (UTC if it names no zone; it may end with ` UTC`, as kraftlake
    prints times) or of a number of ms since 1970 (UTC). Raises CorruptDataError for other texts."""
    text = text.removesuffix(" UTC")
    try:
        if text.isdigit():
            return datetime.fromtimestamp(int(text) / 1000, UTC)
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        reason = f"{_shortened(text)} is neither an ISO-8601 time nor a number of ms"
        raise CorruptDataError(reason, 0) from error


def capture_time(text: str) -> datetime:
    """The time of a capture, from a text for parse_time. Raises CorruptDataError, also for times
    before 1970 or after 2261: a lake's files hold times as int64 nanoseconds."""
    moment = parse_time(text)
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        reason = f"{_shortened(text)} lies outside of the years {_FIRST_YEAR} to {_LAST_YEAR}"
        raise CorruptDataError(reason, 0)
    return moment


def _shortened(value: object) -> str:
    return ascii(value)[:60]


def capture_id(
    replica: ReplicaId, files: Iterable[DirectoryFile], shown_hash: Callable[[str], str] = str
) -> str:
    """A hash (32 hex digits) of the replica and its files' names, sizes and shown content hashes.

    Equal content of the same replica has an equal id, independent of the place, the time, and the
    name of the partition's folder. shown_hash: a function from a content's hash to the text that
    may be shown for it. The id is made of these texts.
    """
    identity = [replica.cluster_id, replica.node_id, replica.directory_id]
    contents = sorted(
        [canonical(file.path), file.size_bytes, shown_hash(file.sha256)] for file in files
    )
    return _digest([identity, contents])


def canonical(path: str) -> str:
    """A file's path below the node's log directory, with the usual name of the partition's
    folder."""
    _, in_folder, rest = path.partition("/")
    return f"{METADATA_FOLDER}/{rest}" if in_folder else path


def group_id(cluster_id: str, capture_ids: Iterable[str], beside: Iterable[str] = ()) -> str:
    """A hash (32 hex digits) of the captures of one cluster that were taken together. beside:
    captures of other clusters that were taken with them and are part of the judgement."""
    others = sorted(set(beside))
    return _digest([cluster_id, sorted(set(capture_ids)), *([others] if others else ())])


def _digest(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_ID_DIGITS]
