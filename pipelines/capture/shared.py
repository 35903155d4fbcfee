"""Directories that every task can reach: tasks read them in their place.

A task finds the replica of a directory, reads and hashes its files, and applies the rules. It has a
temporary copy of a directory in an object store, on its own machine. The task's result has the
files' names, sizes, hashes and batches, so no other process reads the files to know them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from pipelines.capture.capture import (
    Capture,
    CaptureOf,
    CaptureOptions,
    CaptureOutcome,
    JudgedCapture,
    base_of,
)
from pipelines.capture.grouping import replica_at
from pipelines.capture.in_place import ChangedFileError, FileStamp, InPlace, PlacedFile
from pipelines.capture.inputs import Input
from pipelines.capture.known import NOTHING_KNOWN, Base, KnownCaptures
from pipelines.capture.manifest import Manifest
from pipelines.capture.private import make_folder
from pipelines.capture.remote import RemoteFile, copy_files, read_remote
from pipelines.capture.spool import BytesRead
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Grain, Stage
from replica.doctor.check.partition import PartitionFolder, partition_at
from replica.errors import DataError, UnreadableFileError
from replica.format import meta_properties
from replica.format.damage import Damage, DamageKind
from replica.format.directory import DirectoryFile, MetadataDirectory, SegmentFile
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER
from replica.format.reading import MAX_STATE_BYTES
from replica.model.keys import ReplicaId
from replica.scan.compact import CompactBatches


@dataclass(frozen=True)
class Sharing:
    """The way in which directories that every task can reach are captured."""

    runner: Runner
    """The runner of the tasks."""
    judge: Callable[[Capture], JudgedCapture]
    """Gives the findings of the rules about a capture."""


@dataclass(frozen=True)
class SharedDirectory:
    """A directory that a task captures."""

    location: DirectoryPath
    given: Input
    """The input below which the directory was found."""
    remote: tuple[RemoteFile, ...] = ()
    """The directory's files in an object store, and the files beside it; none for a local
    directory."""
    base: Base | None = None
    """The lake's newest capture of the replica; None where there is none, or where this directory
    isn't known to follow it."""

    @staticmethod
    def of(location: DirectoryPath, given: Input) -> SharedDirectory:
        """The directory in a form that any process can open. given: the input below which it was
        found."""
        path = os.path.abspath(location.path)
        below = os.path.relpath(path, os.path.abspath(given.path)) if given.remote else ""
        remote = tuple(file for file in given.remote if _belongs(file, below))
        return SharedDirectory(replace(location, path=path), replace(given, remote=()), remote)


def _belongs(file: RemoteFile, below: str) -> bool:
    """Whether the file is one of the directory `below` the URI, or lies in one of the two folders
    above it."""
    folder, relative = os.path.normpath(below), os.path.dirname(file.relative) or "."
    above = os.path.dirname(folder) or "."
    inside = folder == "." or relative == folder or relative.startswith(f"{folder}/")
    return inside or relative in (above, os.path.dirname(above) or ".")


@dataclass(frozen=True)
class SharedCapture:
    """The result of the task that captured one directory."""

    looked: CaptureOutcome
    left_out: str | None = None
    """Why a lake has no tables for the directory; None where it has tables."""
    bytes_read: int = 0
    """The number of bytes that were read of the directory's files."""


def captures_in_place(
    directories: Sequence[SharedDirectory],
    options: CaptureOptions,
    sharing: Sharing,
    known: KnownCaptures,
) -> list[SharedCapture]:
    """The capture of each directory, in the order of the directories. One task captures each
    directory. Raises UsageError where a directory lies in none of the folders that --order names.
    """
    with_bases = _with_bases(directories, options, sharing, known)
    function = partial(_capture, options=replace(options, known=NOTHING_KNOWN), judge=sharing.judge)
    stage: Stage[SharedDirectory, SharedCapture] = Stage(
        "capture", Grain.DIRECTORY, function, in_threads=True
    )
    return sharing.runner.run(stage, with_bases)


def _with_bases(
    directories: Sequence[SharedDirectory],
    options: CaptureOptions,
    sharing: Sharing,
    known: KnownCaptures,
) -> Sequence[SharedDirectory]:
    """The directories, each with the newest capture of its replica as `base`. The directories of a
    replica that has several get none: only the oldest of them follows that capture."""
    if options.order or known.is_empty:
        return directories
    stage: Stage[SharedDirectory, ReplicaId | None] = Stage(
        "identify", Grain.DIRECTORY, _replica_of, in_threads=True
    )
    replicas = sharing.runner.run(stage, directories)
    counts = Counter(replicas)
    return [
        replace(one, base=base_of(options, known, replica) if counts[replica] == 1 else None)
        for one, replica in zip(directories, replicas, strict=True)
    ]


def _replica_of(one: SharedDirectory) -> ReplicaId | None:
    """The directory's replica; None where no meta.properties names it. Runs in a task."""
    if not one.remote:
        return replica_at(one.location.path)
    for file in one.remote:
        if file.name == meta_properties.FILE_NAME:
            try:
                end = min(MAX_STATE_BYTES, file.size_bytes or 0)
                return meta_properties.decode(read_remote(file.uri, 0, end)).replica
            except (UnreadableFileError, DataError):
                continue
    return None


def left_out_because(shown: str, partition: PartitionFolder) -> str | None:
    """The reason for which a lake has no tables for a partition; None where it has tables."""
    if partition.is_metadata:
        return None
    return (
        f"{shown}: {partition.what}; a lake holds metadata logs alone: name a node's "
        f"{METADATA_FOLDER} (`kraftlake check`, `dump` and `diff` read this one)"
    )


def _capture(
    one: SharedDirectory, *, options: CaptureOptions, judge: Callable[[Capture], JudgedCapture]
) -> SharedCapture:
    """Captures a directory. Runs in a task."""
    shown, count = one.location.shown, BytesRead()
    try:
        with _local(one) as (here, files):
            left_out = left_out_because(shown, partition_at(here.location.path))
            if left_out is not None:
                return SharedCapture(CaptureOutcome(Manifest()), left_out)
            at = CaptureOf(here.location, here.given, options, one.base, count)
            looked = at.capture()
            if looked.capture is not None:
                capture = _judged(looked.capture, judge)
                looked = replace(looked, capture=_moved(capture, here, one, files))
    except ChangedFileError as error:
        return _nothing(
            DamageKind.CHANGED, f"{os.path.basename(error.path)}: {error.reason}", shown
        )
    except UnreadableFileError as error:
        return _nothing(DamageKind.UNREADABLE, error.reason, shown)
    return SharedCapture(looked, bytes_read=count.read)


def _nothing(kind: DamageKind, why: str, shown: str) -> SharedCapture:
    return SharedCapture(
        CaptureOutcome(Manifest(), None, (Damage(0, 0, kind, f"left out: {why}", shown),))
    )


def _judged(capture: Capture, judge: Callable[[Capture], JudgedCapture]) -> Capture:
    """The capture with the findings of the rules. A capture that the lake has was judged before."""
    is_known = capture.base is not None and capture.base.capture_id == capture.capture_id
    return capture if is_known else replace(capture, judged=judge(capture))


@contextmanager
def _local(one: SharedDirectory) -> Iterator[tuple[SharedDirectory, dict[str, PlacedFile]]]:
    """The directory as a local directory. For a directory in an object store also each of its
    files, by the path of the local copy. Raises ChangedFileError where the directory is gone, or
    where a file in the store was changed meanwhile."""
    if not one.remote:
        if not os.path.isdir(one.location.path):
            raise ChangedFileError(one.location.path, "listed, but gone when it was looked at")
        yield one, {}
        return
    with TemporaryDirectory(prefix="kraftlake-") as folder:
        root = Path(folder, os.path.basename(one.given.path))
        make_folder(root)
        files = {
            str(root / (file.relative or file.name)): PlacedFile(file.uri, FileStamp.of(file.uri))
            for file in one.remote
        }
        damages = tuple(copy_files(one.given.shown, one.remote, str(root)))
        below = os.path.relpath(one.location.path, one.given.path)
        path = os.path.normpath(root / below)
        make_folder(Path(path))
        given = replace(one.given, path=str(root), damages=damages)
        yield replace(one, location=replace(one.location, path=path), given=given), files
        for file in files.values():
            file.stamp.check(file.path)


def _moved(
    capture: Capture, here: SharedDirectory, one: SharedDirectory, files: dict[str, PlacedFile]
) -> Capture:
    """The capture in a form that any process can use: with the places of the original files, and
    without what only the task needs."""
    assert isinstance(capture.copies, InPlace), "nothing was copied into the spool"
    placed = {
        relative: files.get(file.path, file) for relative, file in capture.copies.files.items()
    }
    return replace(
        capture,
        location=one.location,
        copies=InPlace(placed),
        batch=capture.batch.replace(here.given.path, one.given.path) if files else capture.batch,
        directory=_small(replace(capture.directory, path=one.location.path)),
    )


def _small(directory: MetadataDirectory) -> MetadataDirectory:
    """The directory with its batches as columns, and without the hashes of chunks."""

    def smaller(segment: SegmentFile) -> SegmentFile:
        scan = replace(segment.scan, batches=CompactBatches.of(segment.scan.batches))
        return SegmentFile(_without_chain(segment.file), scan)

    return replace(
        directory,
        segments=tuple(map(smaller, directory.segments)),
        deleted_segments=tuple(map(smaller, directory.deleted_segments)),
        files=tuple(map(_without_chain, directory.files)),
    )


def _without_chain(file: DirectoryFile) -> DirectoryFile:
    return replace(file, chain=None)
