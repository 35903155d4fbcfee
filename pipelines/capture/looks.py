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
from typing import TypeAlias

from pipelines.capture.grouping import ambiguous, refuse_unused, replica_at
from pipelines.capture.in_place import InPlace
from pipelines.capture.inputs import Input, inputs
from pipelines.capture.known import NOTHING_KNOWN, KnownCaptures
from pipelines.capture.look import CaptureOptions, Look, LookAt, Looked, base_of
from pipelines.capture.private import make_folder
from pipelines.capture.shared import (
    SharedDirectory,
    Sharing,
    left_out_because,
    looks_in_place,
)
from pipelines.capture.spool import Spool
from replica.doctor.check.partition import PartitionFolder, partition_at, partition_of_file
from replica.errors import KraftlakeError, UsageError
from replica.format import capture
from replica.format.damage import Damage, DamageKind
from replica.format.discovery import DirectoryPath, FilePath
from replica.format.file_names import METADATA_FOLDER, FileKind, classify
from replica.model.keys import ReplicaId

_TICK = timedelta(microseconds=1)
_LATER = "it is read once it is there again"


@dataclass(frozen=True, slots=True)
class CaptureGroup:
    """Looks at replicas of one cluster, taken together."""

    cluster_id: str
    group_id: str
    looks: tuple[Look, ...]


Round: TypeAlias = tuple[CaptureGroup, ...]
"""Groups that were captured together, one for each cluster. There is a group."""


@dataclass(frozen=True, slots=True)
class Looks:
    """The looks of one call. rounds: in the order of ingestion, oldest first. damages: those of
    files that belong to no replica, by the user's names. left_out: a sentence about each partition
    that is no metadata log, and each path that a follower can't read now."""

    rounds: tuple[Round, ...]
    damages: tuple[Damage, ...]
    left_out: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to ingest, not even damage."""
        return not self.rounds and not self.damages

    def passes(self) -> Iterator[tuple[Round, ...]]:
        """The rounds in their order, in passes. Rounds of one pass are ingested side by side: no
        cluster has captures in two of them, so none changes what another one does.

        A pass has neighbouring rounds only. So a killed ingest leaves the rounds that come first,
        and the next one gives the others the numbers that they would have had.
        """
        together: list[Round] = []
        clusters: set[str] = set()
        for round_ in self.rounds:
            mine = {group.cluster_id for group in round_}
            if not clusters.isdisjoint(mine):
                yield tuple(together)
                together, clusters = [], set()
            together.append(round_)
            clusters |= mine
        if together:
            yield tuple(together)


def look_at(
    paths: Sequence[str], options: CaptureOptions, spool: Spool, sharing: Sharing | None = None
) -> Looks:
    """Read everything below the paths once, and copy it into the spool. sharing: how directories
    are looked at in their place instead; bundles and single files are copied all the same.

    Where nothing can be read there are only damages. Raises UsageError for a path without anything
    to read below it, where all partitions are other than metadata logs, and where the order of
    captures is unknown.
    """
    damages: list[Damage] = []
    looking = _Looking(options, spool, damages, sharing)
    looks = _whole_where_several(looking, [*_without_other_disks(looking.looks(paths))])
    if looking.left_out and not looks and not damages and not options.goes_on:
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


def _rounds(batches: Iterable[Iterable[Look]]) -> tuple[Round, ...]:
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
    sharing: Sharing | None = None
    seen: set[str] = field(default_factory=set)
    """Real paths of directories: several of the user's paths may lead to the same one."""
    left_out: list[str] = field(default_factory=list)
    of_manifests: set[Damage] = field(default_factory=set)
    """Damages of a capture.json, which may stand beside several directories."""

    def looks(self, paths: Sequence[str]) -> Iterator[tuple[Look, Input]]:
        single: list[FilePath] = []
        shared: list[tuple[DirectoryPath, Input]] = []
        for found, given in self._found(paths):
            if isinstance(found, FilePath):
                single.append(found)
                continue
            real = os.path.realpath(found.path)
            if real in self.seen:
                continue
            self.seen.add(real)
            if found.is_formatted:  # its one file is small, so it is copied wherever it lies
                yield from self.look(found, given, NOTHING_KNOWN)
            elif self._is_shared(given):
                shared.append((found, given))
            elif self._is_metadata(found.shown, partition_at(found.path)):
                yield from self.look(found, given, self.options.known)
        yield from self._look_in_place(shared, self.options.known)
        yield from self._look_at_files(single)

    def _found(self, paths: Sequence[str]) -> Iterator[tuple[DirectoryPath | FilePath, Input]]:
        """What lies at and below the paths."""
        in_place = self.sharing is not None
        for path in paths:
            unlisted: list[Damage] = [] if self.options.goes_on else self.damages
            try:
                for given in inputs([path], self.spool, self.damages, in_place=in_place):
                    for found in given.find(self.spool, unlisted, with_formatted=True):
                        yield found, given
            except KraftlakeError as error:
                if not self.options.goes_on:
                    raise
                self.left_out.append(f"{error}; {_LATER}")
            if self.options.goes_on:
                self.left_out.extend(f"{one.file}: {one.detail}; {_LATER}" for one in unlisted)

    def _is_shared(self, given: Input) -> bool:
        """Whether what lies below the input is looked at in its place: it is no bundle's."""
        return self.sharing is not None and (bool(given.remote) or not given.is_ours)

    def _is_metadata(self, shown: str, partition: PartitionFolder) -> bool:
        """Whether a lake has tables for the partition. Where it has none, a sentence about the
        partition is noted."""
        why_not = left_out_because(shown, partition)
        self.left_out.extend([] if why_not is None else [why_not])
        return why_not is None

    def look(
        self, location: DirectoryPath, given: Input, known: KnownCaptures
    ) -> Iterator[tuple[Look, Input]]:
        """The look at a directory. Where there is none, the reason is noted among the damages."""
        base = base_of(self.options, known, replica_at(location.path))
        spool = self.spool
        looking = LookAt(location, given, self.options, base, spool.bytes_read, spool)
        yield from self._noted(looking.look(), given)

    def again(self, look: Look, given: Input) -> Iterator[tuple[Look, Input]]:
        """The same look, which reads all bytes."""
        if not isinstance(look.copies, InPlace):
            return self.look(look.location, given, NOTHING_KNOWN)
        return self._look_in_place([(look.location, given)], NOTHING_KNOWN)

    def _look_in_place(
        self, found: Sequence[tuple[DirectoryPath, Input]], known: KnownCaptures
    ) -> Iterator[tuple[Look, Input]]:
        if self.sharing is None or not found:
            return
        directories = [SharedDirectory.of(location, given) for location, given in found]
        looks = looks_in_place(directories, self.options, self.sharing, known)
        for (_, given), shared in zip(found, looks, strict=True):
            self.spool.bytes_read.read += shared.bytes_read
            self.left_out.extend([] if shared.left_out is None else [shared.left_out])
            yield from self._noted(shared.looked, given)

    def _noted(self, looked: Looked, given: Input) -> Iterator[tuple[Look, Input]]:
        of_manifest = looked.manifest.damages
        self.damages.extend(one for one in of_manifest if one not in self.of_manifests)
        self.of_manifests.update(of_manifest)
        self.damages.extend(looked.damages)
        if looked.look is not None:
            yield looked.look, given

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
            found.extend(looking.again(look, given))
        else:
            found.append((look, given))
    return found


def _without_other_disks(looks: Iterable[tuple[Look, Input]]) -> Iterator[tuple[Look, Input]]:
    """The looks, without those at the other log directories of a node whose metadata log was looked
    at: a broker has several disks, and a metadata log on one of them."""
    every = [*looks]
    started = {
        (look.replica.cluster_id, look.replica.node_id)
        for look, _ in every
        if not look.location.is_formatted
    }
    for look, given in every:
        node = look.replica.cluster_id, look.replica.node_id
        if not (look.location.is_formatted and node in started):
            yield look, given


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
