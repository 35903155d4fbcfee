"""Findings about the ids that the members of a round claim: replica.check.membership on rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from pipelines.finding_rows import finding_row
from pipelines.tables.keys import replica_of
from replica.check.membership import GroupMember, judge_membership
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER, FileKind, FileName, classify
from replica.format.snapshot import SnapshotName
from replica.history.log import LogBatch
from replica.model.epochs import BOOTSTRAP_SNAPSHOT
from replica.model.keys import ReplicaKey


def told(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The findings of one round, as rows with the columns PLACED.

    A row of `rows` is a capture: capture_id, REPLICA_KEYS, source, paths (of its files), leader_id,
    leader_epoch and current_voters (of its quorum-state, or None), initial_voters (that its
    bootstrap snapshot names, or None), first_offset and entries (dicts of offset, base_offset,
    last_offset, leader_epoch, crc and size_bytes). first_offset and entries are None where the
    round has one cluster.
    """
    members = [(_member(row), row["capture_id"]) for row in rows]
    captures = dict(members)
    for member, found in judge_membership([member for member, _ in members]):
        yield {
            **asdict(member.replica),
            "capture_id": captures[member],
            **finding_row(found),
        }


def _member(row: dict[str, Any]) -> GroupMember:
    bootstrap = _path_of(row, _is_bootstrap_snapshot)
    return GroupMember(
        replica_of(row),
        row["source"],
        _shown(row, _path_of(row, _is_of(FileKind.META_PROPERTIES))),
        _shown(row, _path_of(row, _is_of(FileKind.QUORUM_STATE))),
        _shown(row, bootstrap),
        leader_id=row["leader_id"],
        leader_epoch=row["leader_epoch"],
        current_voters=tuple(row["current_voters"] or ()),
        initial_voters=frozenset(
            ReplicaKey(voter["voter_id"], voter["directory_id"])
            for voter in (row["initial_voters"] or () if bootstrap is not None else ())
        ),
        first_offset=row["first_offset"],
        entries=dict(_batches(row["entries"] or ())),
    )


def _batches(entries: Iterable[dict[str, Any]]) -> Iterator[tuple[int, LogBatch]]:
    for entry in entries:
        digest = entry["crc"], entry["size_bytes"]
        place = entry["base_offset"], entry["last_offset"], entry["leader_epoch"]
        yield entry["offset"], LogBatch(*place, digest)


def _is_of(kind: FileKind) -> Callable[[FileName], bool]:
    return lambda name: name.kind is kind


def _is_bootstrap_snapshot(name: FileName) -> bool:
    return name.snapshot == SnapshotName(BOOTSTRAP_SNAPSHOT)


def _path_of(row: dict[str, Any], is_it: Callable[[FileName], bool]) -> str | None:
    """The capture's file whose name fulfils the condition, relative to the node's log directory."""
    paths: list[str] = row["paths"]
    return next((path for path in paths if is_it(classify(os.path.basename(path)))), None)


def _shown(row: dict[str, Any], path: str | None) -> str:
    """The file as ingest was told it; the directory where the capture has no such file."""
    source: str = row["source"]
    if path is None:
        return source
    folders = (path.partition("/")[0] for path in row["paths"] if "/" in path)
    return DirectoryPath(next(folders, METADATA_FOLDER), source).shown_file(path)
