"""Findings about bytes, frames, base offsets and whole files that the readers could not read."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from replica.doctor.check.catalogue import files, log, snapshots
from replica.doctor.check.examined import Examined
from replica.doctor.check.rule import Finding, Rule
from replica.format.batch import HEADER, decode_header
from replica.format.damage import Damage, DamageKind
from replica.format.directory import SegmentFile, SnapshotFile
from replica.format.file_names import LOG_KINDS, FileKind, classify
from replica.format.segment import SegmentScan
from replica.format.snapshot import SnapshotState

_OFFSETS = (DamageKind.OFFSET_GAP, DamageKind.OFFSET_MISMATCH)
_IN_LOGS = {
    DamageKind.CRC_MISMATCH: log.CRC_MISMATCH,
    DamageKind.FRAMING: log.FRAMING,
    DamageKind.ZERO_HOLE: log.ZERO_HOLE,
    DamageKind.UNSUPPORTED_MAGIC: log.UNSUPPORTED_MAGIC,
    DamageKind.TORN_TAIL: log.TORN_SEGMENT,
    DamageKind.OFFSET_GAP: log.OFFSET_GAP,
    DamageKind.OFFSET_MISMATCH: log.OFFSET_GOES_BACK,
}
_WHOLE_FILES = {
    DamageKind.UNREADABLE: files.UNREADABLE,
    DamageKind.CHANGED: files.CHANGED_WHILE_READ,
    DamageKind.NOT_KAFKA: files.NOT_KAFKA,
    DamageKind.HOSTILE_NAME: files.BUNDLE,
}
_BROKEN_CONTENT = {
    FileKind.META_PROPERTIES: files.META_PROPERTIES_BROKEN,
    FileKind.OFFSET_INDEX: files.INDEX_BROKEN,
    FileKind.TIME_INDEX: files.INDEX_BROKEN,
    FileKind.PRODUCER_SNAPSHOT: files.PRODUCER_SNAPSHOT_BROKEN,
    FileKind.QUORUM_STATE: files.STATE_FILE_BROKEN,
    FileKind.LEADER_EPOCH_CHECKPOINT: files.STATE_FILE_BROKEN,
    FileKind.PARTITION_METADATA: files.STATE_FILE_BROKEN,
    FileKind.QUORUM_PROPERTIES: files.NOT_KAFKA,
    FileKind.BOOTSTRAP: snapshots.SNAPSHOT_EMPTY,
    FileKind.SNAPSHOT: snapshots.SNAPSHOT_EMPTY,
}


def is_cut_off(examined: Examined, file: SegmentFile | SnapshotFile) -> bool:
    """Whether an incomplete copy breaks off in this file: its torn end is no fault of the node."""
    return examined.is_cut and any(
        damage.kind is DamageKind.TORN_TAIL for damage in file.scan.damages
    )


def log_damage(examined: Examined) -> Iterator[Finding]:
    """Findings about segments: bytes that aren't a batch, base offsets out of order, and segments
    that don't follow each other."""
    segments = examined.directory.segments
    starts = [_start(examined, segment) for segment in segments]
    for segment, start in zip(segments, starts, strict=True):
        has_number = segment.file.name.base_offset is not None
        misnamed = has_number and start != segment.base_offset
        if misnamed:
            message = f"the first batch is at offset {start}"
            path = segment.file.path
            yield log.SEGMENT_NAME.at(path, message, position=0, offset=start)
        is_last = segment is segments[-1]
        for damage in _joined(segment.scan.damages):
            if misnamed and damage.kind in _OFFSETS:
                continue
            if examined.is_cut and damage.kind is DamageKind.TORN_TAIL:
                continue
            torn = damage.kind is DamageKind.TORN_TAIL and is_last
            yield _finding(log.TORN_TAIL if torn else _IN_LOGS[damage.kind], segment, damage)
    if examined.directory.has_moved:
        return  # the missing segment may have been deleted while the directory was read
    for (before, after), start in zip(pairwise(segments), starts[1:], strict=True):
        end = before.end_offset
        # in an incomplete copy the records in between may be what it lacks
        if start < end or (start > end and not examined.is_cut):
            message = f"segment starts at {start}, the one before has end offset {end}"
            rule = log.OFFSET_GAP if start > end else log.OFFSET_GOES_BACK
            yield rule.at(after.file.path, message, position=0, offset=min(start, end))


def _start(examined: Examined, segment: SegmentFile) -> int:
    """The offset at which the segment starts: the base offset of the first batch, if the next
    batches follow it and the file's name is wrong; otherwise the offset in the name."""
    first = next(iter(segment.scan.damages), None)
    if first is None or first.position or first.kind not in _OFFSETS:
        return segment.base_offset
    if first.kind is DamageKind.OFFSET_GAP:
        return segment.scan.batches[0].header.base_offset
    header = decode_header(examined.content_of(segment).read(0, HEADER.size))
    behind = [b for b in segment.scan.batches if b.position == header.size_bytes]
    rejected = [d for d in segment.scan.damages if d.position == header.size_bytes]
    agree = behind and behind[0].header.base_offset == header.next_offset
    return header.base_offset if agree or rejected else segment.base_offset


def snapshot_damage(examined: Examined, snapshot: SnapshotFile) -> Iterator[Finding]:
    """Findings about the bytes of a complete snapshot. A .part or .deleted file may be incomplete,
    and so may a file in which a copy breaks off."""
    if snapshot.state is not SnapshotState.COMPLETE or is_cut_off(examined, snapshot):
        return
    if not snapshot.file.size_bytes:
        yield snapshots.SNAPSHOT_EMPTY.at(snapshot.file.path, "a snapshot of 0 bytes")
        return
    for damage in _joined(snapshot.scan.damages):
        yield _finding(_IN_LOGS[damage.kind], snapshot, damage)
    if snapshot.scan.zero_tail:
        message = f"{snapshot.scan.zero_tail} zero bytes at the end"
        position = snapshot.scan.end_position
        yield log.ZERO_HOLE.at(snapshot.file.path, message, position=position)


def file_damage(examined: Examined) -> Iterator[Finding]:
    """Findings about files that can't be decoded, that could not be read, or that an archive left
    out on purpose."""
    for damage in examined.directory.damages:
        kind = classify(os.path.basename(damage.file)).kind
        rule = _WHOLE_FILES.get(damage.kind)
        if rule is None and damage.kind not in _IN_LOGS and kind not in LOG_KINDS:
            rule = _BROKEN_CONTENT.get(kind, files.NOT_KAFKA)
        if rule is not None:
            position = damage.position if damage.kind is DamageKind.CONTENT else None
            yield rule.at(damage.file, damage.detail, position=position)


def changed_files(examined: Examined) -> Iterator[Finding]:
    """Findings about files that changed between the scan and the rules, so that the rules have read
    other bytes than the scan."""
    for path in examined.changed:
        message = "its bytes were changed while the directory was judged"
        yield files.CHANGED_WHILE_READ.at(path, message)


def bundle_damage(damages: Sequence[Damage]) -> Iterator[Finding]:
    """Findings about faults in unpacking an archive or listing a folder, before a directory could
    be read. They name files as the user does."""
    for damage in damages:
        rule = _WHOLE_FILES.get(damage.kind, files.BUNDLE)
        yield rule.at(damage.file, damage.detail)


def _joined(damages: Sequence[Damage]) -> Iterator[Damage]:
    """The damages, where a run of misplaced batches counts as one damage: a file at a wrong offset
    then causes one finding and not thousands."""
    run: list[Damage] = []
    for damage in damages:
        goes_on = run and run[-1].position + run[-1].length == damage.position
        if run and not (goes_on and damage.kind is DamageKind.OFFSET_MISMATCH):
            yield _as_one(run)
            run = []
        if damage.kind is DamageKind.OFFSET_MISMATCH:
            run.append(damage)
        else:
            yield damage
    if run:
        yield _as_one(run)


def _as_one(run: Sequence[Damage]) -> Damage:
    first = run[0]
    if len(run) == 1:
        return first
    length = run[-1].position + run[-1].length - first.position
    detail = f"{first.detail}; so do the {len(run) - 1} batches behind it"
    return Damage(first.position, length, first.kind, detail, first.file)


def _finding(rule: Rule, file: SegmentFile | SnapshotFile, damage: Damage) -> Finding:
    offset, epoch = _place(file.scan, damage.position)
    if offset is None and isinstance(file, SegmentFile):
        offset = file.base_offset  # no batch is before it in the segment
    return rule.at(
        file.file.path, damage.detail, position=damage.position, offset=offset, epoch=epoch
    )


def _place(scan: SegmentScan, position: int) -> tuple[int | None, int | None]:
    """(offset, epoch) of the batch at a byte. If no batch begins there: the offset that was
    expected there, and None. Both are None before the first batch."""
    following = bisect_right(scan.batches, position, key=lambda batch: batch.position)
    if not following:
        return None, None
    before = scan.batches[following - 1]
    if before.position == position:
        return before.header.base_offset, before.header.leader_epoch
    return before.header.next_offset, None
