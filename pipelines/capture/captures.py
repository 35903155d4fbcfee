"""Reads all directories and files below the user's paths, and puts their captures into capture
groups and rounds.

A group has the captures of one cluster that belong to one capture.json, to one name of --order, or
else to the call. Two captures of one replica in the same group would be in unknown order, so they
are refused, and the error names the option that gives the order.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeAlias

from pipelines.capture.capture import Capture, CaptureOf, CaptureOptions, CaptureOutcome, base_of
from pipelines.capture.grouping import ambiguous_order, refuse_unused, replica_at
from pipelines.capture.in_place import InPlace
from pipelines.capture.inputs import Input, inputs
from pipelines.capture.known import NOTHING_KNOWN, KnownCaptures
from pipelines.capture.private import make_folder
from pipelines.capture.shared import (
    SharedDirectory,
    Sharing,
    captures_in_place,
    left_out_because,
)
from pipelines.capture.spool import Spool
from replica.doctor.check.partition import PartitionFolder, partition_at, partition_of_file
from replica.errors import KraftlakeError, UsageError
from replica.format import capture as capture_file
from replica.format.damage import Damage, DamageKind
from replica.format.discovery import DirectoryPath, FilePath
from replica.format.file_names import METADATA_FOLDER, FileKind, classify
from replica.model.keys import ZERO_UUID, ReplicaId

_TICK = timedelta(microseconds=1)
_LATER = "it is read once it is there again"


@dataclass(frozen=True, slots=True)
class CaptureGroup:
    """Captures of replicas of one cluster, taken together."""

    cluster_id: str
    group_id: str
    captures: tuple[Capture, ...]


Round: TypeAlias = tuple[CaptureGroup, ...]
"""Groups that were captured together, one for each cluster, and at least one."""


@dataclass(frozen=True, slots=True)
class Captures:
    """The captures of one call."""

    rounds: tuple[Round, ...]
    """The rounds in the order of ingestion, oldest first."""
    damages: tuple[Damage, ...]
    """The damages of files that belong to no replica, by the user's names."""
    left_out: tuple[str, ...] = ()
    """A sentence about each partition that is no metadata log, and about each path that an ingest
    --follow can't read now."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to ingest, not even damage."""
        return not self.rounds and not self.damages

    def passes(self) -> Iterator[tuple[Round, ...]]:
        """The rounds in their order, in passes. Rounds of one pass are ingested side by side: no
        cluster has captures in two of them, so no round changes the result of another.

        A pass has neighbouring rounds only. So a killed ingest has done the first rounds, and the
        next ingest gives the other rounds the numbers that they would have had.
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


def capture_paths(
    paths: Sequence[str], options: CaptureOptions, spool: Spool, sharing: Sharing | None = None
) -> Captures:
    """Reads everything below the paths once, and copies it into the spool. sharing: how directories
    are read in their place, without a copy; bundles and single files are copied in any case.

    Where nothing can be read, the result has only damages. Raises UsageError for a path without
    anything to read below it, where no partition is a metadata log, and where the order of captures
    is unknown.
    """
    damages: list[Damage] = []
    looking = _Capturing(options, spool, damages, sharing)
    captures = _whole_where_several(looking, [*_without_other_disks(looking.captures(paths))])
    if looking.left_out and not captures and not damages and not options.goes_on:
        raise UsageError(looking.left_out[0])
    spool.bytes_read.held = sum(
        file.size_bytes for capture, _ in captures for file in capture.directory.files
    )
    batches: dict[str, dict[ReplicaId, Capture]] = {}
    placed: dict[tuple[ReplicaId, str | datetime | None], Capture] = {}
    for capture, _ in captures:
        batches.setdefault(capture.batch, {}).setdefault(capture.replica, capture)
        place = capture.batch if options.order else capture.captured_at
        other = placed.setdefault((capture.replica, place), capture)
        if other.capture_id != capture.capture_id:
            raise ambiguous_order(
                other.location.shown, capture.location.shown, capture.replica.node_id
            )
    refuse_unused(options.order, batches)
    ordered = sorted(batches, key=lambda batch: _age(batch, batches[batch].values(), options))
    rounds = _rounds([batches[batch].values() for batch in ordered])
    return Captures(rounds, tuple(damages), tuple(looking.left_out))


def _rounds(batches: Iterable[Iterable[Capture]]) -> tuple[Round, ...]:
    """A round of capture groups for each batch. batches: captures that were made together. A group
    with the same content as an earlier group is left out: it is the same capture again."""
    known: set[str] = set()
    rounds = []
    for batch in batches:
        groups = tuple(group for group in _groups(batch) if group.group_id not in known)
        known.update(group.group_id for group in groups)
        rounds.append(groups)
    return tuple(groups for groups in rounds if groups)


def _age(batch: str, captures: Iterable[Capture], options: CaptureOptions) -> tuple[int, datetime]:
    place = options.order.index(batch) if batch in options.order else 0
    times = [capture.captured_at for capture in captures if capture.captured_at is not None]
    return place, min(times, default=datetime.max.replace(tzinfo=UTC))


def _groups(captures: Iterable[Capture]) -> Iterator[CaptureGroup]:
    clusters: dict[str, list[Capture]] = {}
    for capture in captures:
        clusters.setdefault(capture.replica.cluster_id, []).append(capture)
    disks = {cluster_id: _disks_of(members) for cluster_id, members in clusters.items()}
    for cluster_id, members in sorted(clusters.items()):
        mine = disks[cluster_id]
        beside = (
            capture.capture_id
            for other, others in clusters.items()
            if other != cluster_id and mine.may_be_mixed_with(disks[other])
            for capture in others
        )
        ids = (capture.capture_id for capture in members)
        yield CaptureGroup(
            cluster_id,
            capture_file.group_id(cluster_id, ids, beside),
            tuple(sorted(members, key=lambda capture: capture.replica)),
        )


class _Disks(NamedTuple):
    """The directories of one cluster that were captured together: their nodes, their directory ids,
    and whether one of them was formatted and never started."""

    nodes: frozenset[int]
    directory_ids: frozenset[str]
    is_formatted: bool

    def may_be_mixed_with(self, other: _Disks) -> bool:
        """Whether the directories of two clusters may have been mixed up: the clusters have
        directories of different nodes, or share a directory id, or one has a directory that never
        started. Then findings about one cluster rest on the captures of the other, too. So where
        one cluster has changed, both are new groups: a round with the changed cluster alone would
        know less than the round before it."""
        return (
            self.nodes != other.nodes
            or self.is_formatted
            or other.is_formatted
            or not self.directory_ids.isdisjoint(other.directory_ids)
        )


def _disks_of(captures: Sequence[Capture]) -> _Disks:
    return _Disks(
        frozenset(capture.replica.node_id for capture in captures),
        frozenset(capture.replica.directory_id for capture in captures) - {ZERO_UUID},
        any(capture.location.is_formatted for capture in captures),
    )


@dataclass(frozen=True)
class _Capturing:
    """One call: its options, and its results so far."""

    options: CaptureOptions
    spool: Spool
    damages: list[Damage]
    sharing: Sharing | None = None
    seen: set[str] = field(default_factory=set)
    """Real paths of directories: several of the user's paths may lead to the same one."""
    left_out: list[str] = field(default_factory=list)
    of_manifests: set[Damage] = field(default_factory=set)
    """Damages of a capture.json, which may lie beside several directories."""

    def captures(self, paths: Sequence[str]) -> Iterator[tuple[Capture, Input]]:
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
                yield from self.capture(found, given, NOTHING_KNOWN)
            elif self._is_shared(given):
                shared.append((found, given))
            elif self._is_metadata(found.shown, partition_at(found.path)):
                yield from self.capture(found, given, self.options.known)
        yield from self._capture_in_place(shared, self.options.known)
        yield from self._capture_files(single)

    def _found(self, paths: Sequence[str]) -> Iterator[tuple[DirectoryPath | FilePath, Input]]:
        """The directories and files at and below the paths."""
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
        """Whether tasks read the files below the input in their places. The files of a bundle are
        copied."""
        return self.sharing is not None and (bool(given.remote) or not given.is_ours)

    def _is_metadata(self, shown: str, partition: PartitionFolder) -> bool:
        """Whether a lake has tables for the partition. Where it has none, a sentence about the
        partition is noted."""
        why_not = left_out_because(shown, partition)
        self.left_out.extend([] if why_not is None else [why_not])
        return why_not is None

    def capture(
        self, location: DirectoryPath, given: Input, known: KnownCaptures
    ) -> Iterator[tuple[Capture, Input]]:
        """The capture of a directory, with its input. Where there is no capture, nothing is given,
        and the reason is noted among the damages."""
        base = base_of(self.options, known, replica_at(location.path))
        spool = self.spool
        looking = CaptureOf(location, given, self.options, base, spool.bytes_read, spool)
        yield from self._noted(looking.capture(), given)

    def again(self, capture: Capture, given: Input) -> Iterator[tuple[Capture, Input]]:
        """The same capture, made by reading all bytes."""
        if not isinstance(capture.copies, InPlace):
            return self.capture(capture.location, given, NOTHING_KNOWN)
        return self._capture_in_place([(capture.location, given)], NOTHING_KNOWN)

    def _capture_in_place(
        self, found: Sequence[tuple[DirectoryPath, Input]], known: KnownCaptures
    ) -> Iterator[tuple[Capture, Input]]:
        if self.sharing is None or not found:
            return
        directories = [SharedDirectory.of(location, given) for location, given in found]
        captures = captures_in_place(directories, self.options, self.sharing, known)
        for (_, given), shared in zip(found, captures, strict=True):
            self.spool.bytes_read.read += shared.bytes_read
            self.left_out.extend([] if shared.left_out is None else [shared.left_out])
            yield from self._noted(shared.looked, given)

    def _noted(self, looked: CaptureOutcome, given: Input) -> Iterator[tuple[Capture, Input]]:
        of_manifest = looked.manifest.damages
        self.damages.extend(one for one in of_manifest if one not in self.of_manifests)
        self.of_manifests.update(of_manifest)
        self.damages.extend(looked.damages)
        if looked.capture is not None:
            yield looked.capture, given

    def _capture_files(self, files: list[FilePath]) -> Iterator[tuple[Capture, Input]]:
        """Captures of single files that the user named. The files of a folder make one directory,
        of the replica in --as. Raises UsageError where --as is missing."""
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
            yield from self.capture(location, given, self.options.known)


def _whole_where_several(
    looking: _Capturing, captures: list[tuple[Capture, Input]]
) -> list[tuple[Capture, Input]]:
    """The captures. Each capture of a replica that was captured more than once is repeated, and
    reads all bytes. The reason: only the oldest of these captures follows the lake's newest
    capture, and the oldest is known only later."""
    counts = Counter(capture.replica for capture, _ in captures)
    found: list[tuple[Capture, Input]] = []
    for capture, given in captures:
        if counts[capture.replica] > 1 and capture.base is not None:
            found.extend(looking.again(capture, given))
        else:
            found.append((capture, given))
    return found


def _without_other_disks(
    captures: Iterable[tuple[Capture, Input]],
) -> Iterator[tuple[Capture, Input]]:
    """The captures. Where a node's metadata log was captured, the captures of its other log
    directories are left out: a broker has several disks, and a metadata log on one of them."""
    every = [*captures]
    started = {
        (capture.replica.cluster_id, capture.replica.node_id)
        for capture, _ in every
        if not capture.location.is_formatted
    }
    for capture, given in every:
        node = capture.replica.cluster_id, capture.replica.node_id
        if not (capture.location.is_formatted and node in started):
            yield capture, given


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
