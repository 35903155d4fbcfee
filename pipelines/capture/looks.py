"""The replicas that one call looks at, and the capture groups of these looks.

A group has the looks of one cluster that belong to one capture.json, to one name of --order, or
else to the call. Two looks at one replica in the same group would be in unknown order, so they are
refused with the option that tells the order.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from pipelines.capture.grouping import ambiguous, batch_of, refuse_unused, replica_at
from pipelines.capture.inputs import Input, inputs
from pipelines.capture.known import NOTHING_KNOWN, Base, KnownCaptures
from pipelines.capture.manifest import manifest_of
from pipelines.capture.private import make_folder
from pipelines.capture.spool import Copying, Spool
from pipelines.lake.seal import OPEN, Seal
from replica.check.partition import PartitionFolder, partition_at, partition_of_file
from replica.errors import UnreadableFileError, UsageError
from replica.format import capture
from replica.format.damage import Damage, DamageKind
from replica.format.directory import (
    FoundFile,
    MetadataDirectory,
    SegmentFile,
    SnapshotFile,
    read_directory,
)
from replica.format.discovery import DirectoryPath, FilePath
from replica.format.file_names import METADATA_FOLDER, FileKind, classify
from replica.format.known_file import KnownFile
from replica.model.keys import ReplicaId
from replica.scan.file_room import FileRoom

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """Options of a look at directories. captured_at: the time of the captures, with a time zone;
    None where the caller names no time. order: folder names, oldest first. replica: the owner of
    single files. known: captures whose files needn't be read again. seal: the lake's seal."""

    captured_at: datetime | None = None
    order: tuple[str, ...] = ()
    replica: ReplicaId | None = None
    known: KnownCaptures = NOTHING_KNOWN
    seal: Seal = OPEN


@dataclass(frozen=True, slots=True)
class Look:
    """One replica's directory as it was read, and where its copy lies.

    captured_at: the time at which the directory was looked at; None where that time is unknown, so
    that the time of the ingest is taken. batch: looks with the same batch were taken together.
    base: an earlier capture that holds the bytes which this look did not read; None where it read
    all bytes. round_name: the name in --order that the look belongs to; None without --order. seal:
    the form in which the lake shows hashes.
    """

    replica: ReplicaId
    directory: MetadataDirectory
    location: DirectoryPath
    copies: Copying
    capture_id: str
    captured_at: datetime | None
    batch: str
    base: Base | None = None
    round_name: str | None = None
    seal: Seal = OPEN

    def shown_hash(self, file: FoundFile) -> str:
        """The form in which the lake shows the hash of the file's content."""
        return self.seal.close(file.sha256)

    def shown_file(self, file: FoundFile | str) -> str:
        """The user's name of a file of this look."""
        return self.location.shown_file(file if isinstance(file, str) else file.path)

    def copy_of(self, file: FoundFile) -> str:
        """The path of the file's copy in the spool."""
        return str(self.copies.copy_of(file.path))

    def known(self) -> dict[str, KnownFile]:
        """The known facts about files that were not read as a whole, by path."""
        files = {} if self.base is None else self.base.files
        found = ((file.path, files.get(capture.canonical(file.path))) for file in self._sparse())
        return {path: known for path, known in found if known is not None}

    def _sparse(self) -> Iterator[FoundFile]:
        files: tuple[SegmentFile | SnapshotFile, ...]
        files = (*self.directory.segments, *self.directory.snapshots)
        yield from (one.file for one in files if one.scan.sparse_until)


@dataclass(frozen=True, slots=True)
class CaptureGroup:
    """Looks at replicas of one cluster, taken together."""

    cluster_id: str
    group_id: str
    looks: tuple[Look, ...]


@dataclass(frozen=True, slots=True)
class Looks:
    """The looks of one call. rounds: groups to ingest one round after another, oldest first; a
    round has one group for each cluster. damages: those of files that belong to no replica, by the
    user's names. left_out: a sentence about each partition that is no metadata log."""

    rounds: tuple[tuple[CaptureGroup, ...], ...]
    damages: tuple[Damage, ...]
    left_out: tuple[str, ...] = ()


def look_at(paths: Sequence[str], options: CaptureOptions, spool: Spool) -> Looks:
    """Read everything below the paths once, and copy it into the spool.

    Where nothing can be read there are only damages. Raises UsageError for a path without anything
    to read below it, where all partitions are other than metadata logs, and where the order of
    captures is unknown.
    """
    damages: list[Damage] = []
    looking = _Looking(options, spool, damages)
    looks = _whole_where_several(looking, list(looking.looks(paths)))
    if looking.left_out and not looks and not damages:
        raise UsageError(looking.left_out[0])
    spool.bytes_read.held = sum(
        file.size_bytes for look, _ in looks for file in look.directory.files
    )
    batches: dict[str, dict[ReplicaId, Look]] = {}
    placed: dict[tuple[ReplicaId, str | datetime | None], Look] = {}
    for look, _ in looks:
        batches.setdefault(look.batch, {}).setdefault(look.replica, look)
        place = look.batch if options.order else look.captured_at
        other = placed.setdefault((look.replica, place), look)
        if other.capture_id != look.capture_id:
            raise ambiguous(other.location.shown, look.location.shown, look.replica.node_id)
    refuse_unused(options.order, batches)
    ordered = sorted(batches, key=lambda batch: _age(batch, batches[batch].values(), options))
    rounds = _rounds([batches[batch].values() for batch in ordered])
    return Looks(rounds, tuple(damages), tuple(looking.left_out))


def _rounds(batches: Iterable[Iterable[Look]]) -> tuple[tuple[CaptureGroup, ...], ...]:
    """The batches as groups. A group with the same content as an earlier one is left out: it is the
    same look again."""
    known: set[str] = set()
    rounds = []
    for batch in batches:
        groups = tuple(group for group in _groups(batch) if group.group_id not in known)
        known.update(group.group_id for group in groups)
        rounds.append(groups)
    return tuple(groups for groups in rounds if groups)


def _age(batch: str, looks: Iterable[Look], options: CaptureOptions) -> tuple[int, datetime]:
    place = options.order.index(batch) if batch in options.order else 0
    times = [look.captured_at for look in looks if look.captured_at is not None]
    return place, min(times, default=datetime.max.replace(tzinfo=UTC))


def _groups(looks: Iterable[Look]) -> Iterator[CaptureGroup]:
    clusters: dict[str, list[Look]] = {}
    for look in looks:
        clusters.setdefault(look.replica.cluster_id, []).append(look)
    for cluster_id, members in sorted(clusters.items()):
        group_id = capture.group_id(cluster_id, [look.capture_id for look in members])
        yield CaptureGroup(
            cluster_id, group_id, tuple(sorted(members, key=lambda look: look.replica))
        )


@dataclass(frozen=True)
class _Looking:
    """One call: its options, and its results so far."""

    options: CaptureOptions
    spool: Spool
    damages: list[Damage]
    seen: set[str] = field(default_factory=set)
    """Real paths of directories: several of the user's paths may lead to the same one."""
    left_out: list[str] = field(default_factory=list)
    of_manifests: set[Damage] = field(default_factory=set)
    """Damages of a capture.json, which may stand beside several directories."""

    def looks(self, paths: Sequence[str]) -> Iterator[tuple[Look, Input]]:
        single: list[FilePath] = []
        for given in inputs(paths, self.spool, self.damages):
            for found in given.find(self.spool, self.damages):
                if isinstance(found, FilePath):
                    single.append(found)
                    continue
                real = os.path.realpath(found.path)
                if real not in self.seen:
                    self.seen.add(real)
                    if self._is_metadata(found.shown, partition_at(found.path)):
                        yield from self.look(found, given, self.options.known)
        yield from self._look_at_files(single)

    def _is_metadata(self, shown: str, partition: PartitionFolder) -> bool:
        """Whether a lake has tables for the partition. Where it has none, a sentence about the
        partition is noted."""
        if not partition.is_metadata:
            self.left_out.append(
                f"{shown}: {partition.what}; a lake holds metadata logs alone: name a node's "
                f"{METADATA_FOLDER} (`kraftlake check`, `dump` and `diff` read this one)"
            )
        return partition.is_metadata

    def look(
        self, location: DirectoryPath, given: Input, known: KnownCaptures
    ) -> Iterator[tuple[Look, Input]]:
        """The look at a directory. Where there is none, the reason is noted among the damages."""
        manifest = manifest_of(location)
        self.damages.extend(one for one in manifest.damages if one not in self.of_manifests)
        self.of_manifests.update(manifest.damages)
        if manifest.is_unfinished:
            return
        node_folder = os.path.dirname(os.path.abspath(location.path))
        captured_at = manifest.captured_at or self.options.captured_at
        base = self._base(location, known, captured_at)
        folder = self.spool.new_folder()
        files = {} if base is None else base.files
        ends = _snapshot_ends(location.path) if files else ()
        room = FileRoom.of_environment()
        copies = Copying(
            node_folder,
            folder,
            self.spool.bytes_read,
            files,
            ends,
            room,
            follow_links=not location.is_whole,
        )
        try:
            directory = read_directory(
                location.path,
                read=copies,
                scan=partial(room.scan, compact=True),
                resume=copies.resume,
            )
            directory = given.mark(location, directory)
        except UnreadableFileError as error:
            damage = Damage(0, 0, DamageKind.UNREADABLE, error.reason, location.shown)
            self.damages.append(damage)
            return
        directory = manifest.verify(directory)
        replica_id = directory.replica or self.options.replica
        if replica_id is None:
            self.damages.append(_unidentified(location, directory))
            return
        # Since the capture `base`, the directory has come to belong to another replica.
        if base is not None and base.replica != replica_id:
            yield from self.look(location, given, NOTHING_KNOWN)
            return
        batch = batch_of(location, given.shown, self.options.order)
        look = Look(
            replica_id,
            directory,
            location,
            copies,
            capture.capture_id(replica_id, directory.files, self.options.seal.close),
            captured_at,
            batch,
            base,
            round_name=batch if self.options.order else None,
            seal=self.options.seal,
        )
        yield look, given

    def _base(
        self, location: DirectoryPath, known: KnownCaptures, captured_at: datetime | None
    ) -> Base | None:
        """The lake's newest capture of the replica, where that is the capture directly before this
        look; otherwise None."""
        if self.options.order:
            return None
        replica = replica_at(location.path) or self.options.replica
        base = None if replica is None else known.of(replica)
        if base is None or (captured_at is not None and captured_at <= base.at):
            return None
        return base

    def _look_at_files(self, files: list[FilePath]) -> Iterator[tuple[Look, Input]]:
        """Looks at single files that the user named. The files of a folder make one directory, of
        the replica in --as."""
        folders: dict[str, list[FilePath]] = {}
        for file in files:
            if classify(os.path.basename(file.path)).kind is FileKind.OTHER:
                damage = Damage(0, 0, DamageKind.NOT_KAFKA, _why_not(file), file.shown)
                self.damages.append(damage)
            elif self.options.replica is None:
                raise UsageError(
                    f"{file.shown}: a single file does not say whose it is: add "
                    "--as CLUSTER:NODE[:DIRECTORY]"
                )
            elif self._is_metadata(file.shown, partition_of_file(file.path)):
                folders.setdefault(os.path.dirname(file.shown) or ".", []).append(file)
        for shown, known in folders.items():
            source = self.spool.new_folder() / METADATA_FOLDER
            make_folder(source)
            for file in known:
                target = source / os.path.basename(file.path)
                if not os.path.lexists(target):  # Skipped where the same file was named twice.
                    os.symlink(os.path.abspath(file.path), target)
            location = DirectoryPath(str(source), shown, is_whole=False)
            given = Input(str(source), shown)
            yield from self.look(location, given, self.options.known)


def _whole_where_several(
    looking: _Looking, looks: list[tuple[Look, Input]]
) -> list[tuple[Look, Input]]:
    """The looks. Each look at a replica that was looked at more than once is repeated, and reads
    all bytes: only the oldest of these looks follows the lake's newest capture, and it is known
    later which one is the oldest."""
    counts = Counter(look.replica for look, _ in looks)
    found: list[tuple[Look, Input]] = []
    for look, given in looks:
        if counts[look.replica] > 1 and look.base is not None:
            found.extend(looking.look(look.location, given, NOTHING_KNOWN))
        else:
            found.append((look, given))
    return found


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


def _why_not(file: FilePath) -> str:
    if file.name.kind is FileKind.SEGMENT:
        return "to ingest a segment, name it by its base offset: <20 digits>.log"
    return "no Kafka log, snapshot or state file, by its name and its first bytes"


def next_free(moment: datetime, taken: set[datetime]) -> datetime:
    """`moment`, or the first microsecond after it that no capture has.

    Captures of one replica are ordered by (captured_at, ingest order). With distinct times,
    captured_at alone gives that order.
    """
    while moment in taken:
        moment += _TICK
    return moment
