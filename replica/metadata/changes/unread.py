"""Why a release of Kafka can't read a level, or a record of a type and version, and the places in a
directory that it can't read."""

from __future__ import annotations

from dataclasses import dataclass

from replica.metadata.changes.readers import Reader
from replica.metadata.changes.releases import METADATA_CHANGES, release_of
from replica.metadata.image.settings import METADATA_VERSION
from replica.metadata.records import RECORDS_BY_NAME
from replica.words import listed

BOOTSTRAP = "bootstrap.checkpoint"
"""The subject of an Unread about this file, if it is beside a log with records."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Records of one kind, or a file, that a release can't read or reads only in part."""

    subject: str
    """The feature, the type of the records, or the file."""
    why: str
    """What the release does with the subject, and why, in one line."""
    is_fatal: bool
    """Whether a node of the release stops at the subject. A node that only ignores fields
    continues."""
    is_kept: bool = False
    """Whether the subject is at a level that Kafka never lowers to one that the release knows."""


@dataclass(frozen=True, slots=True)
class UnreadPlace:
    """A place in a directory that a release can't read."""

    unread: Unread
    file: str
    """The path, relative to the node's log directory, of the unread file or of the first file with
    unread records."""
    at_start: bool = True
    """Whether a node reads this place when it starts. A starting node skips what the newest
    snapshot replaces."""
    offset: int | None = None
    """The offset of the first unread record of the log; None in snapshots, and for a file."""
    position: int | None = None
    """The byte of `file` at which the first unread record's batch begins; None for a file."""
    epoch: int | None = None
    """The leader epoch of the first unread record's batch; None for a file."""
    count: int = 1
    """The number of unread records."""

    @property
    def stops(self) -> bool:
        """Whether a node of the release that starts with this directory stops."""
        return self.at_start and self.unread.is_fatal


def unread_level(reader: Reader, feature: str, level: int) -> Unread | None:
    """Why the release can't replay a level of a feature; None if it can.

    A node that replays a level which its release doesn't support stops (Kafka:
    FeatureControlManager.replay; FeaturesDelta.replay on brokers).
    """
    if feature == METADATA_VERSION:
        if level in reader.levels:
            return None
        bound = reader.levels[-1] if level > reader.levels[-1] else reader.levels[0]
        side = "up to" if level > bound else "from"
        why = f"{release_of(level)}; Kafka {reader.release} knows levels {side} {release_of(bound)}"
        return Unread(feature, why, is_fatal=True, is_kept=why_kept(level, bound) is not None)
    newest = reader.features.get(feature, 0)
    if level <= newest:
        return None
    knows = f"knows levels up to {newest}" if newest else "doesn't know this feature"
    return Unread(feature, f"level {level}; Kafka {reader.release} {knows}", is_fatal=True)


def why_kept(now: int, wanted: int) -> str | None:
    """Why Kafka doesn't lower metadata.version from `now` to `wanted`; None if it does."""
    changes = [level for level in METADATA_CHANGES if wanted < level <= now]
    if not changes:
        return None
    names = listed([release_of(level) for level in changes], limit=3)
    lost = listed([METADATA_CHANGES[level] for level in changes])
    return f"{names} changed what records say, so that metadata could be lost ({lost})"


def unread_quorum_state(reader: Reader, version: int) -> Unread | None:
    """Why the release can't read a quorum-state of this version; None if it can."""
    if version <= reader.quorum_state:
        return None
    why = f"has version {version}; Kafka {reader.release} reads up to version "
    return Unread("quorum-state", f"{why}{reader.quorum_state}", is_fatal=True)


def unread_type(reader: Reader, name: str, version: int, newest: int | None) -> Unread | None:
    """Why the release can't read records of a type and version; None if it can. newest: the newest
    version that it knows; None if it doesn't know the type.

    Kafka stops at an unknown type. It reads a newer version of a type as the newest version that it
    knows: it ignores new tagged fields, and stops at any other new field (Kafka:
    AbstractApiMessageSerde, which refuses remaining bytes).
    """
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
