"""What a release of Kafka can't read of a directory.

A node that starts reads its newest snapshot and the log from the end of that snapshot on, and a
controller also bootstrap.checkpoint. What lies before is read only by a node with an empty disk,
to which the leader sends its whole log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
from replica.format.snapshot import BOOTSTRAP_NAME
from replica.metadata.changes.readers import Reader
from replica.metadata.changes.releases import release_of
from replica.metadata.codec import decode
from replica.metadata.image.settings import METADATA_VERSION
from replica.metadata.record import MetadataRecord, UnknownRecord
from replica.metadata.records import RECORDS, RECORDS_BY_NAME
from replica.model.control import KRAFT_VERSION
from replica.words import counted, listed

_FEATURE_LEVEL = "FEATURE_LEVEL_RECORD"


@dataclass(frozen=True, slots=True)
class Unread:
    """What a release can't read, or doesn't read whole: records of one kind, or a file."""

    subject: str
    """The feature, the type of the records, or the file."""
    why: str
    """One line that says what the release does with it, and why."""
    is_fatal: bool
    """Whether a node of the release ends there. It goes on where it only leaves fields out."""


@dataclass(frozen=True, slots=True)
class UnreadPlace:
    """Where a directory has what a release can't read."""

    unread: Unread
    file: str
    """The first file that has it, relative to the node's log directory."""
    at_start: bool = True
    """Whether a node that starts reads it: it is not behind the newest snapshot."""
    offset: int | None = None
    """The offset of the first such record of the log; None in snapshots, and for a file."""
    position: int | None = None
    """The byte of the file at which the batch of that record begins; None for a file."""
    epoch: int | None = None
    """The epoch of that batch; None for a file."""
    count: int = 1
    """How many such records there are."""

    @property
    def stops(self) -> bool:
        """Whether a node of the release that starts with this directory ends."""
        return self.at_start and self.unread.is_fatal


def unread_by(reader: Reader, examined: Examined) -> tuple[UnreadPlace, ...]:
    """What the reader's release can't read of a directory, as far as its files can be read: of each
    kind the first place. What a node reads at its start stands for what it doesn't."""
    found: dict[tuple[Unread, bool], UnreadPlace] = {}
    for one in _places(reader, examined):
        key = one.unread, one.at_start
        known = found.get(key)
        found[key] = one if known is None else replace(known, count=known.count + 1)
    return tuple(
        one for (unread, at_start), one in found.items() if at_start or (unread, True) not in found
    )


def judged_for(reader: Reader, member: JudgedDirectory) -> JudgedDirectory:
    """The directory with the findings about what the release can't read of it."""
    if not member.partition.is_metadata:
        return member
    findings = sorted((*member.findings, *_findings(reader, member.examined)), key=by_severity)
    return replace(member, findings=tuple(findings))


def _findings(reader: Reader, examined: Examined) -> Iterator[Finding]:
    """The places as findings, which name files relative to the node's log directory."""
    for one in unread_by(reader, examined):
        rule = files.UNREADABLE_BY_RELEASE if one.stops else files.PARTLY_READ_BY_RELEASE
        message = f"{one.unread.subject}: {one.unread.why}"
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
    if state is not None and state.version > reader.quorum_state:
        why = f"has version {state.version}; Kafka {reader.release} reads up to version "
        unread = Unread("quorum-state", f"{why}{reader.quorum_state}", is_fatal=True)
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
    """What the release can't read of bootstrap.checkpoint, with which an empty log begins."""
    is_empty = next(examined.batches, None) is None
    for one in _in_file(reader if is_empty else reader.of_bootstrap(), examined, file):
        why = f"{one.unread.subject}, {one.unread.why}"
        unread = replace(one.unread, subject=BOOTSTRAP_NAME, why=why)
        yield replace(one, unread=unread, offset=None)


def _in_file(
    reader: Reader, examined: Examined, file: SegmentFile | SnapshotFile
) -> Iterator[UnreadPlace]:
    content = examined.content_of(file)
    inflation = Inflation(content.size)
    for batch in batches_with(file, content, _sought(reader)):
        header = batch.header
        for record in content.whole_records(batch, inflation):
            unread = _unread(reader, record, is_control=header.is_control)
            if unread is not None:
                yield UnreadPlace(
                    unread,
                    file.file.path,
                    offset=record.offset,
                    position=batch.position,
                    epoch=header.leader_epoch,
                )


def _sought(reader: Reader) -> frozenset[str]:
    """The types of metadata records of which the release may not read every one."""
    newer = (one.name for one in RECORDS if one.newest > reader.records.get(one.name, -1))
    return frozenset((_FEATURE_LEVEL, *newer))


def _unread(reader: Reader, record: Record, *, is_control: bool) -> Unread | None:
    """What the release can't read of a record; None where it reads it. The rule
    undecodable-record reports a record that doesn't decode."""
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
    return _of_type(reader, name, message.version, reader.controls.get(name))


def _of_metadata(reader: Reader, record: MetadataRecord | UnknownRecord) -> Unread | None:
    if isinstance(record, UnknownRecord):
        name = record.type if record.type in RECORDS_BY_NAME else f"type {record.api_key}"
        return _of_type(reader, name, record.version, reader.records.get(name))
    if record.type == _FEATURE_LEVEL:
        feature, level = record.fields["name"], record.fields["featureLevel"]
        assert isinstance(feature, str)
        assert isinstance(level, int)
        return unread_level(reader, feature, level)
    return _of_type(reader, record.type, record.version, reader.records.get(record.type))


def unread_level(reader: Reader, feature: str, level: int) -> Unread | None:
    """Why the release can't replay a level of a feature; None where it can.

    A node that replays a level which its release doesn't support ends (Kafka:
    FeatureControlManager.replay; FeaturesDelta.replay on brokers).
    """
    if feature == METADATA_VERSION:
        if level in reader.levels:
            return None
        bound = reader.levels[-1] if level > reader.levels[-1] else reader.levels[0]
        side = "up to" if level > bound else "from"
        why = f"{release_of(level)}; Kafka {reader.release} knows levels {side} {release_of(bound)}"
        return Unread(feature, why, is_fatal=True)
    newest = reader.features.get(feature, 0)
    if level <= newest:
        return None
    knows = f"knows levels up to {newest}" if newest else "doesn't know this feature"
    return Unread(feature, f"level {level}; Kafka {reader.release} {knows}", is_fatal=True)


def _of_type(reader: Reader, name: str, version: int, newest: int | None) -> Unread | None:
    """Kafka ends at a type that it doesn't know. It reads a newer version of a type as the newest
    that it knows: tagged fields of the newer one are left out, and any other field ends it (Kafka:
    AbstractApiMessageSerde, which refuses bytes that are left over)."""
    kafka = f"Kafka {reader.release}"
    if newest is None:
        return Unread(name, f"{kafka} doesn't know this type of record", is_fatal=True)
    if version <= newest:
        return None
    schema = RECORDS_BY_NAME.get(name)
    fields = schema.fields if schema is not None and version in schema.versions else ()
    added = [one for one in fields if one.since > newest]
    if added and all(one.tag is not None for one in added):
        left = listed([one.name for one in added])
        why = f"version {version}; {kafka} reads version {newest}, without the field {left}"
        return Unread(name, why, is_fatal=False)
    why = f"version {version}; {kafka} reads up to version {newest}"
    return Unread(name, why, is_fatal=True)
