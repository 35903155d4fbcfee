"""Finds what a release of Kafka can't read in a directory.

A starting node reads its newest snapshot and the log from the snapshot's end on, and a controller
also reads bootstrap.checkpoint. Only a node with an empty disk, to which the leader sends its whole
log, reads earlier records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from replica.doctor.check.catalogue import files
from replica.doctor.check.examined import Examined
from replica.doctor.check.group import JudgedDirectory
from replica.doctor.check.record_findings import batches_with
from replica.doctor.check.rule import Finding, by_severity
from replica.errors import DataError
from replica.format.compression import Inflation
from replica.format.control import ControlMessage, KRaftVersion, decode_control, type_name
from replica.format.directory import SegmentFile, SnapshotFile
from replica.format.file_names import FileKind
from replica.format.record import Record
from replica.metadata.changes.readers import Reader
from replica.metadata.changes.unread import (
    BOOTSTRAP,
    Unread,
    UnreadPlace,
    unread_level,
    unread_quorum_state,
    unread_type,
)
from replica.metadata.codec import decode
from replica.metadata.record import MetadataRecord, UnknownRecord
from replica.metadata.records import RECORDS, RECORDS_BY_NAME
from replica.model.control import KRAFT_VERSION
from replica.words import counted

_FEATURE_LEVEL = "FEATURE_LEVEL_RECORD"


def unread_by(reader: Reader, examined: Examined) -> tuple[UnreadPlace, ...]:
    """What the reader's release can't read in a directory, as far as its files can be read: the
    first place of each kind."""
    return first_of_each(_places(reader, examined))


def first_of_each(places: Iterable[UnreadPlace]) -> tuple[UnreadPlace, ...]:
    """The first place of each kind, with the number of places of this kind. If a node reads some of
    them at its start, only these count."""
    found: dict[tuple[Unread, bool], UnreadPlace] = {}
    for one in places:
        key = one.unread, one.at_start
        known = found.get(key)
        found[key] = one if known is None else replace(known, count=known.count + 1)
    return tuple(
        one for (unread, at_start), one in found.items() if at_start or (unread, True) not in found
    )


def judged_for(reader: Reader, member: JudgedDirectory) -> JudgedDirectory:
    """The directory with the findings about what the release can't read in it."""
    if not member.partition.is_metadata:
        return member
    findings = sorted((*member.findings, *_findings(reader, member.examined)), key=by_severity)
    return replace(member, findings=tuple(findings))


def _findings(reader: Reader, examined: Examined) -> Iterator[Finding]:
    """Findings about what the reader's release can't read. They name files relative to the node's
    log directory."""
    for one in unread_by(reader, examined):
        rule = files.UNREADABLE_BY_RELEASE if one.stops else files.PARTLY_READ_BY_RELEASE
        message = f"{one.unread.subject}: {one.unread.why}"
        if one.unread.is_kept:
            message += "; Kafka refuses to lower it"
        if one.count > 1:
            message += f"; {counted(one.count, 'record')}"
        if not one.at_start:
            message += (
                "; the newest snapshot is newer, so that only a node with an empty disk reads it"
            )
        yield rule.at(one.file, message, position=one.position, offset=one.offset, epoch=one.epoch)


def _places(reader: Reader, examined: Examined) -> Iterator[UnreadPlace]:
    directory = examined.directory
    state = directory.quorum_state
    unread = None if state is None else unread_quorum_state(reader, state.version)
    if unread is not None:
        yield UnreadPlace(unread, examined.path_of(FileKind.QUORUM_STATE))
    newest = max(examined.usable_snapshots, default=None, key=lambda one: one[0])
    start = 0 if newest is None else newest[0].offset
    if newest is not None:
        yield from (replace(one, offset=None) for one in _in_file(reader, examined, newest[1]))
    if directory.bootstrap is not None:
        yield from _of_bootstrap(reader, examined, directory.bootstrap)
    for segment in directory.segments:
        for one in _in_file(reader, examined, segment):
            yield replace(one, at_start=one.offset is not None and one.offset >= start)


def _of_bootstrap(reader: Reader, examined: Examined, file: SnapshotFile) -> Iterator[UnreadPlace]:
    """What the release can't read in bootstrap.checkpoint, with which an empty log begins."""
    is_empty = next(examined.batches, None) is None
    for one in _in_file(reader if is_empty else reader.of_bootstrap(), examined, file):
        why = f"{one.unread.subject}, {one.unread.why}"
        unread = replace(one.unread, subject=BOOTSTRAP, why=why)
        yield replace(one, unread=unread, offset=None)


def _in_file(
    reader: Reader, examined: Examined, file: SegmentFile | SnapshotFile
) -> Iterator[UnreadPlace]:
    content = examined.content_of(file)
    inflation = Inflation(content.size)
    for batch in batches_with(file, content, sought_types(reader)):
        header = batch.header
        for record in content.whole_records(batch, inflation):
            unread = unread_record(reader, record, is_control=header.is_control)
            if unread is not None:
                yield UnreadPlace(
                    unread,
                    file.file.path,
                    offset=record.offset,
                    position=batch.position,
                    epoch=header.leader_epoch,
                )


def sought_types(reader: Reader) -> frozenset[str]:
    """The types of metadata records that the release can't read, or can't read in every version."""
    newer = (one.name for one in RECORDS if one.newest > reader.records.get(one.name, -1))
    return frozenset((_FEATURE_LEVEL, *newer))


def unread_record(reader: Reader, record: Record, *, is_control: bool) -> Unread | None:
    """What the release can't read in a record; None if the release can read the record. None for a
    record that can't be decoded, too: the rule undecodable-record reports it."""
    try:
        if is_control:
            return _of_control(reader, decode_control(record.key, record.value))
        return _of_metadata(reader, decode(record.value or b""))
    except DataError:
        return None


def _of_control(reader: Reader, message: ControlMessage) -> Unread | None:
    name = type_name(message)
    if isinstance(message, KRaftVersion):
        return unread_level(reader, KRAFT_VERSION, message.kraft_version)
    return unread_type(reader, name, message.version, reader.controls.get(name))


def _of_metadata(reader: Reader, record: MetadataRecord | UnknownRecord) -> Unread | None:
    if isinstance(record, UnknownRecord):
        name = record.type if record.type in RECORDS_BY_NAME else f"type {record.api_key}"
        return unread_type(reader, name, record.version, reader.records.get(name))
    if record.type == _FEATURE_LEVEL:
        feature, level = record.fields["name"], record.fields["featureLevel"]
        assert isinstance(feature, str)
        assert isinstance(level, int)
        return unread_level(reader, feature, level)
    return unread_type(reader, record.type, record.version, reader.records.get(record.type))
