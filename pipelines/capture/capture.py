"""Reads one directory into a Capture: its files, its replica, and the places at which an ingest
reads the files again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from pipelines.capture.grouping import batch_of
from pipelines.capture.in_place import FileStamp, InPlace, InPlaceReader
from pipelines.capture.inputs import Input
from pipelines.capture.known import NOTHING_KNOWN, Base, KnownCaptures
from pipelines.capture.manifest import Manifest, manifest_of
from pipelines.capture.spool import BytesRead, Copying, Spool
from pipelines.lake.seal import OPEN, Seal
from replica.errors import UnreadableFileError
from replica.format import capture as capture_file
from replica.format.damage import Damage, DamageKind
from replica.format.directory import (
    DirectoryFile,
    MetadataDirectory,
    SegmentFile,
    SnapshotFile,
    read_directory,
)
from replica.format.discovery import DirectoryPath
from replica.format.file_names import classify
from replica.format.formatted import read_formatted
from replica.format.known_file import KnownFile
from replica.model.keys import ReplicaId
from replica.scan.file_room import FileRoom


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """Options of a capture of directories."""

    captured_at: datetime | None = None
    """The time of the captures, with a time zone; None where the caller names no time."""
    order: tuple[str, ...] = ()
    """The names of folders in --order, oldest first."""
    replica: ReplicaId | None = None
    """The replica that owns single files; None without --as."""
    known: KnownCaptures = NOTHING_KNOWN
    """Captures whose files needn't be read again."""
    seal: Seal = OPEN
    """Seals the hashes of files for the lake."""
    goes_on: bool = False
    """Whether a path that can't be read is left out, and is no error: as in ingest --follow."""


@dataclass(frozen=True, slots=True)
class JudgedCapture:
    """The findings of one capture."""

    capture_id: str
    rows: tuple[dict[str, Any], ...]
    """Rows of bronze.findings."""
    known: Mapping[str, KnownFile]
    """The files that the next ingest need not read again, by path."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One replica's directory as it was read, and where its files can be read again."""

    replica: ReplicaId
    directory: MetadataDirectory
    location: DirectoryPath
    copies: Copying | InPlace
    capture_id: str
    captured_at: datetime | None
    """The time at which the directory was read; None where that time is unknown, so that the
    time of the ingest is taken."""
    batch: str
    """Captures with the same batch were taken together."""
    base: Base | None = None
    """An earlier capture that holds the bytes which this capture did not read; None where it read
    all bytes."""
    round_name: str | None = None
    """The name in --order that the capture belongs to; None without --order."""
    seal: Seal = OPEN
    """The lake's seal, which gives the form in which the lake shows hashes."""
    judged: JudgedCapture | None = None
    """The findings of the rules, where the caller had them judged; None elsewhere."""

    def shown_hash(self, file: DirectoryFile) -> str:
        """The form in which the lake shows the hash of the file's content."""
        return self.seal.close(file.sha256)

    def shown_file(self, file: DirectoryFile | str) -> str:
        """The user's name of a file of this capture."""
        return self.location.shown_file(file if isinstance(file, str) else file.path)

    def copy_of(self, file: DirectoryFile) -> str:
        """The path of the file's copy in the spool. For a file that is read in its place, its own
        path or URI."""
        return str(self.copies.copy_of(file.path))

    def stamp_of(self, file: DirectoryFile) -> FileStamp | None:
        """The stamp by which a later read notices that the file was changed; None for a copy, which
        nothing changes."""
        return self.copies.stamp_of(file.path)

    def known(self) -> dict[str, KnownFile]:
        """The known facts, by path, about files that were not read as a whole."""
        files = {} if self.base is None else self.base.files
        found = (
            (file.path, files.get(capture_file.canonical(file.path))) for file in self._sparse()
        )
        return {path: known for path, known in found if known is not None}

    def _sparse(self) -> Iterator[DirectoryFile]:
        files: tuple[SegmentFile | SnapshotFile, ...]
        files = (*self.directory.segments, *self.directory.snapshots)
        yield from (one.file for one in files if one.scan.sparse_until)


def base_of(
    options: CaptureOptions, known: KnownCaptures, replica: ReplicaId | None
) -> Base | None:
    """The lake's newest capture of the replica, whose bytes need not be read again. None where the
    lake has none, and with --order, which may name older captures.

    replica: the replica in the directory's meta.properties; None where that can't be read, so that
    the replica in --as counts.
    """
    replica = replica or options.replica
    return None if options.order or replica is None else known.of(replica)


@dataclass(frozen=True, slots=True)
class CaptureOutcome:
    """The capture of a directory, or why there is none."""

    manifest: Manifest
    """What capture.json says, and its damages."""
    capture: Capture | None = None
    """The capture; None where there is none. Then one of the damages says why, or the capture is
    unfinished."""
    damages: tuple[Damage, ...] = ()


@dataclass(frozen=True)
class CaptureOf:
    """The work of capturing one directory."""

    location: DirectoryPath
    given: Input
    """The input below which the directory was found."""
    options: CaptureOptions
    base: Base | None
    """The result of base_of: the lake's newest capture of the replica; None where it can't be
    used."""
    count: BytesRead
    """Counts the bytes that are read."""
    spool: Spool | None = None
    """The spool that gets copies; None to read files in their place."""

    def capture(self) -> CaptureOutcome:
        """Reads the directory. Raises UsageError where it is no folder, or lies in no folder of
        --order; ChangedFileError where a file that is read in its place was changed meanwhile."""
        manifest = manifest_of(self.location)
        if manifest.is_unfinished:
            return CaptureOutcome(manifest)
        captured_at = manifest.captured_at or self.options.captured_at
        is_late = self.base and captured_at is not None and captured_at <= self.base.at
        base = None if is_late else self.base
        try:
            directory, files = self._read(base)
        except UnreadableFileError as error:
            why = Damage(0, 0, DamageKind.UNREADABLE, error.reason, self.location.shown)
            return CaptureOutcome(manifest, None, (why,))
        directory = manifest.verify(directory)
        replica = directory.replica or self.options.replica
        if replica is None:
            return CaptureOutcome(manifest, None, (_unidentified(self.location, directory),))
        # Since the capture `base`, the directory has come to belong to another replica.
        if base is not None and base.replica != replica:
            return replace(self, base=None).capture()
        return CaptureOutcome(manifest, self._capture(replica, directory, files, captured_at, base))

    def _read(self, base: Base | None) -> tuple[MetadataDirectory, Copying | InPlace]:
        """(the directory, where its files can be read again). base: the capture whose bytes are not
        read again; None to read all bytes."""
        path = self.location.path
        room = FileRoom.of_environment()
        known = {} if base is None else base.files
        about = self.count, known, _snapshot_ends(path) if known else (), room
        reader: Copying | InPlaceReader
        if self.spool is None:
            reader = InPlaceReader(*about)
        else:
            node_folder = os.path.dirname(os.path.abspath(path))
            copies, is_whole = self.spool.new_folder(), self.location.is_whole
            reader = Copying(*about, node_folder, copies, follow_links=not is_whole)
        scan = partial(room.scan, compact=True)
        if self.location.is_formatted:
            directory = read_formatted(path, reader)
        else:
            directory = read_directory(path, read=reader, scan=scan, resume=reader.resume)
        directory = self.given.mark(self.location, directory)
        return directory, reader if isinstance(reader, Copying) else reader.files(path)

    def _capture(
        self,
        replica: ReplicaId,
        directory: MetadataDirectory,
        files: Copying | InPlace,
        captured_at: datetime | None,
        base: Base | None,
    ) -> Capture:
        batch = batch_of(self.location, self.given.shown, self.options.order)
        seal = self.options.seal
        return Capture(
            replica,
            directory,
            self.location,
            files,
            capture_file.capture_id(replica, directory.files, seal.close),
            captured_at,
            batch,
            base,
            round_name=batch if self.options.order else None,
            seal=seal,
        )


def _snapshot_ends(path: str) -> tuple[int, ...]:
    try:
        names = [classify(name).snapshot for name in os.listdir(path)]
    except OSError:
        return ()
    return tuple({name.id.offset for name in names if name is not None and name.id is not None})


def _unidentified(location: DirectoryPath, directory: MetadataDirectory) -> Damage:
    about = [d for d in directory.damages if d.file == "meta.properties"]
    why = (
        f"its meta.properties can't be read ({about[0].detail})"
        if about
        else ("there is no meta.properties that names cluster and node")
    )
    detail = f"left out: {why}; name the replica with --as CLUSTER:NODE[:DIRECTORY]"
    return Damage(0, 0, DamageKind.UNIDENTIFIED, detail, location.shown)
