"""Rows of the tables that get a few values from each directory. The driver makes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pipelines.bronze.captured import Captured, uncovered_by
from pipelines.capture.known import known_column
from replica.format.capture import canonical
from replica.format.directory import (
    IndexFile,
    MetadataDirectory,
    SegmentFile,
    SnapshotFile,
)
from replica.format.index import OffsetIndex, OffsetIndexEntry
from replica.format.known_file import KnownFile
from replica.format.snapshot import SnapshotState
from replica.format.timestamps import moment
from replica.scan.compact import column_of, next_offsets

Row = dict[str, Any]


def capture_row(captured: Captured, known: Mapping[str, KnownFile]) -> Row:
    """The row of bronze.captures. known: the files that the next ingest need not read again, by
    path."""
    directory = captured.capture.directory
    files = [
        {
            "path": canonical(file.path),
            "size_bytes": file.size_bytes,
            "sha256": captured.capture.shown_hash(file),
            "known": known_column(known[file.path], captured.capture.seal)
            if file.path in known
            else None,
        }
        for file in directory.files
    ]
    return {
        "capture_id": captured.capture.capture_id,
        "capture_group": captured.group_id,
        **asdict(captured.capture.replica),
        "captured_at": captured.at,
        "ingest_seq": captured.ingest_seq,
        "round_name": captured.capture.round_name,
        "has_own_time": captured.capture.captured_at is not None,
        "is_fragment": directory.is_fragment,
        "source": captured.capture.location.shown,
        "log_start_offset": directory.log_start_offset,
        "log_end_offset": directory.log_end_offset,
        "first_offset": directory.first_offset,
        "uncovered": [
            {"start": gap.start, "end": gap.end} for gap in uncovered_by(captured.capture)
        ],
        "files": files,
    }


def replica_state_row(captured: Captured) -> Row:
    """The row of bronze.replica_state."""
    capture = captured.capture
    return {
        "capture_id": capture.capture_id,
        **asdict(capture.replica),
        **state_values(capture.directory),
    }


def state_values(directory: MetadataDirectory) -> Row:
    """The columns of bronze.replica_state after its keys, from the small files of a directory."""
    state, meta = directory.quorum_state, directory.meta
    entries, mismatches = index_sanity(directory)
    epochs, configured = directory.leader_epochs, directory.configured_voters
    return {
        "quorum_version": state and state.version,
        "leader_id": state and state.leader_id,
        "leader_epoch": state and state.leader_epoch,
        "voted_id": state and state.voted_id,
        "voted_directory_id": state and state.voted_directory_id,
        "current_voters": list(state.current_voters) if state and state.version == 0 else None,
        "configured_voters": None if configured is None else [asdict(v) for v in configured],
        "leader_epochs": None
        if epochs is None
        else [{"epoch": entry.epoch, "start_offset": entry.start_offset} for entry in epochs],
        "meta_version": meta and meta.version,
        "meta_properties": meta and dict(meta.properties),
        "topic_id": directory.topic_id,
        "index_entries": entries,
        "index_mismatches": mismatches,
    }


def index_sanity(directory: MetadataDirectory) -> tuple[int, int]:
    """The number of entries in the .index files beside .log files, and the number of these entries
    that point at a place where no such batch is."""
    segments = {segment.base_offset: segment for segment in directory.segments}
    entries = mismatches = 0
    for base, content in _offset_indexes(directory.indexes):
        entries += len(content.entries)
        mismatches += _mismatches(content.entries, base, segments.get(base))
    return entries, mismatches


def _mismatches(entries: Sequence[OffsetIndexEntry], base: int, segment: SegmentFile | None) -> int:
    if segment is None or not segment.scan.batches:
        return len(entries)
    batches = segment.scan.batches
    positions = column_of(batches, "position")
    wanted = np.array([entry.position for entry in entries], np.int64)
    offsets = np.array([entry.relative_offset for entry in entries], np.int64) + base
    at = np.minimum(np.searchsorted(positions, wanted), len(positions) - 1)
    is_there = positions[at] == wanted
    first, behind = column_of(batches, "base_offset")[at], next_offsets(batches)[at]
    is_right = is_there & (first <= offsets) & (offsets < behind)
    # entries for bytes that were known were compared when those bytes were read
    was_compared = ~is_there & (wanted < segment.scan.sparse_until)
    return int((~is_right & ~was_compared).sum())


def _offset_indexes(indexes: Iterable[IndexFile]) -> Iterator[tuple[int, OffsetIndex]]:
    for index in indexes:
        if isinstance(index.content, OffsetIndex) and not index.file.name.deleted:
            yield index.file.name.base_offset or 0, index.content


def snapshot_row(captured: Captured, snapshot: SnapshotFile) -> Row:
    """A row of bronze.snapshots as this capture alone would have it."""
    is_complete = snapshot.state is SnapshotState.COMPLETE
    return {
        **asdict(captured.capture.replica),
        **snapshot_values(snapshot),
        "content_sha256": captured.capture.shown_hash(snapshot.file),
        "file": captured.capture.shown_file(snapshot.file),
        "first_seen": captured.at,
        "last_seen": captured.at,
        "captures": [captured.capture.capture_id] if is_complete else [],
    }


def snapshot_values(snapshot: SnapshotFile) -> Row:
    """The columns of bronze.snapshots that follow from a snapshot's own file, by name."""
    assert snapshot.id is not None, "bootstrap.checkpoint has no id and is no row"
    return {
        "end_offset": snapshot.id.offset,
        "epoch": snapshot.id.epoch,
        "size_bytes": snapshot.file.size_bytes,
        "state": snapshot.state.value,
        "is_whole": snapshot.is_whole,
        "last_contained_log_timestamp": moment(snapshot.content.last_contained_log_timestamp),
        "record_count": snapshot.content.record_count,
    }
