"""Which replicas one call looks at, and which of them belong together in a capture group.

A group is what one capture.json, or one name of `--order`, or else the whole call brings of one
cluster. Two looks at one replica in the same group would say nothing about their order, so that
is refused with the option that settles it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipelines.capture.bundle import is_bundle, unpack
from pipelines.capture.remote import download, is_uri
from pipelines.capture.spool import Copying, Spool
from replica.errors import DataError, KraftlakeError, UsageError
from replica.format import capture
from replica.format.damage import Damage, DamageKind
from replica.format.directory import FoundFile, MetadataDirectory, read_directory
from replica.format.discovery import DirectoryPath, FilePath, discover
from replica.format.file_names import METADATA_FOLDER, FileKind, classify
from replica.format.reading import MAX_STATE_BYTES, read_file
from replica.types import ZERO_UUID, ReplicaId

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Options:
    """captured_at: aware; order: folder names, oldest first; replica: who bare files are of."""

    captured_at: datetime | None = None
    order: tuple[str, ...] = ()
    replica: ReplicaId | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """One replica's directory as it was read, and where its copy lies.

    shown: the directory as the user named it. captured_at: None where the ingest time counts.
    batch: looks with an equal batch were taken together.
    """

    replica: ReplicaId
    directory: MetadataDirectory
    location: DirectoryPath
    copies: Copying
    capture_id: str
    captured_at: datetime | None
    batch: str

    def shown_file(self, file: FoundFile | str) -> str:
        """The user's name of a file of this look."""
        return self.location.shown_file(file if isinstance(file, str) else file.path)

    def copy_of(self, file: FoundFile) -> str:
        """Where the file's copy lies in the spool."""
        return str(self.copies.copy_of(file.path))


@dataclass(frozen=True, slots=True)
class Group:
    """Looks at replicas of one cluster, taken together."""

    cluster_id: str
    group_id: str
    looks: tuple[Look, ...]


@dataclass(frozen=True, slots=True)
class Looks:
    """rounds: groups to ingest one after another, oldest first; each holds one per cluster.

    damages: what belongs to no replica, its files named as the user would.
    """

    rounds: tuple[tuple[Group, ...], ...]
    damages: tuple[Damage, ...]


def look_at(paths: Sequence[str], options: Options, spool: Spool) -> Looks:
    """Read everything below the paths once, copying it into the spool.

    Raises UsageError where nothing names a replica, or the order of captures is open.
    """
    damages: list[Damage] = []
    looks = list(_all_looks(paths, options, spool, damages))
    if not looks:
        reason = f": {damages[0].file}: {damages[0].detail}" if damages else ""
        raise UsageError(f"nothing to ingest{reason}")
    batches: dict[str, dict[ReplicaId, Look]] = {}
    for look in looks:
        together = batches.setdefault(look.batch, {})
        other = together.setdefault(look.replica, look)
        if other.capture_id != look.capture_id:
            raise _ambiguous(other, look)
    ordered = sorted(batches, key=lambda batch: _age(batch, batches[batch].values(), options))
    rounds = tuple(tuple(_groups(batches[batch].values())) for batch in ordered)
    return Looks(rounds, tuple(damages))


def _age(batch: str, looks: Iterable[Look], options: Options) -> tuple[int, datetime]:
    place = options.order.index(batch) if batch in options.order else 0
    times = [look.captured_at for look in looks if look.captured_at is not None]
    return place, min(times, default=datetime.max.replace(tzinfo=UTC))


def _groups(looks: Iterable[Look]) -> Iterator[Group]:
    clusters: dict[str, list[Look]] = {}
    for look in looks:
        clusters.setdefault(look.replica.cluster_id, []).append(look)
    for cluster_id, members in sorted(clusters.items()):
        group_id = capture.group_id(cluster_id, [look.capture_id for look in members])
        yield Group(cluster_id, group_id, tuple(sorted(members, key=lambda look: look.replica)))


def _ambiguous(one: Look, other: Look) -> UsageError:
    names = _differing_parts(one.location.shown, other.location.shown)
    example = ",".join(names) if names else "NAME,NAME"
    return UsageError(
        f"{one.location.shown} and {other.location.shown} are captures of the same replica (node "
        f"{one.replica.node_id}): say which is older, such as --order {example} (folder names, "
        "oldest first)"
    )


def _differing_parts(one: str, other: str) -> list[str]:
    pairs = zip(Path(one).parts, Path(other).parts, strict=False)
    return next(([a, b] for a, b in pairs if a != b), [])


def _all_looks(
    paths: Sequence[str], options: Options, spool: Spool, damages: list[Damage]
) -> Iterator[Look]:
    for path in paths:
        if is_uri(path):
            folder = str(spool.new_folder())
            download(path, folder)
            yield from _looks_below(folder, path.rstrip("/"), options, spool, damages)
        elif is_bundle(path):
            folder = str(spool.new_folder())
            unpacked = unpack(path, folder)
            damages.extend(unpacked.damages)
            if unpacked.files:
                yield from _looks_below(folder, path, options, spool, damages)
        else:
            yield from _looks_below(path, path, options, spool, damages)


def _looks_below(
    path: str, shown: str, options: Options, spool: Spool, damages: list[Damage]
) -> Iterator[Look]:
    """The looks below one local path; `shown` stands for `path` in every name."""
    single: list[FilePath] = []
    for found in discover([path]):
        label = _relabel(found.shown, path, shown)
        if isinstance(found, FilePath):
            single.append(replace(found, shown=label))
            continue
        look = _look(replace(found, shown=label), shown, options, spool, damages)
        if look is not None:
            yield look
    if single:
        yield from _look_at_files(single, options, spool, damages)


def _relabel(label: str, path: str, shown: str) -> str:
    if path == shown:
        return label
    relative = os.path.relpath(label, path)
    return shown if relative == "." else f"{shown}/{relative}"


def _look(
    location: DirectoryPath, argument: str, options: Options, spool: Spool, damages: list[Damage]
) -> Look | None:
    node_folder = os.path.dirname(os.path.abspath(location.path))
    copies = Copying(node_folder, spool.new_folder())
    directory = read_directory(location.path, read=copies)
    replica_id = directory.replica or options.replica
    if replica_id is None:
        damages.append(_unidentified(location, directory))
        return None
    captured_at = _capture_time(node_folder, location, damages) or options.captured_at
    return Look(
        replica_id,
        directory,
        location,
        copies,
        capture.capture_id(replica_id, directory.files),
        captured_at,
        _batch_of(location, argument, node_folder, options),
    )


def _unidentified(location: DirectoryPath, directory: MetadataDirectory) -> Damage:
    about = [d for d in directory.damages if d.file == "meta.properties"]
    why = (
        f"its meta.properties can't be read ({about[0].detail})"
        if about
        else ("there is no meta.properties that names cluster and node")
    )
    detail = f"left out: {why}; name the replica with --as CLUSTER:NODE[:DIRECTORY]"
    return Damage(0, 0, DamageKind.UNIDENTIFIED, detail, location.shown)


def _batch_of(location: DirectoryPath, argument: str, node_folder: str, options: Options) -> str:
    """What tells the group: the name in --order, else the folder of capture.json, else nothing."""
    if not options.order:
        return _capture_file(node_folder) or ""
    parts = Path(argument).parts[-1:] + Path(os.path.relpath(location.shown, argument)).parts
    named = [part for part in parts if part in options.order]
    if not named:
        names = ",".join(options.order)
        raise UsageError(f"--order {names}: {location.shown} lies in none of these folders")
    return named[-1]


def _capture_file(node_folder: str) -> str | None:
    """The capture.json in the node's folder, or in the one above beside its siblings."""
    for folder in (node_folder, os.path.dirname(node_folder)):
        path = os.path.join(folder, capture.FILE_NAME)
        if os.path.lexists(path):
            return path
    return None


def _capture_time(
    node_folder: str, location: DirectoryPath, damages: list[Damage]
) -> datetime | None:
    path = _capture_file(node_folder)
    if path is None:
        return None
    try:
        return capture.decode(read_file(path, MAX_STATE_BYTES)).captured_at
    except (DataError, KraftlakeError) as error:
        position = getattr(error, "position", None) or 0
        reason = getattr(error, "reason", str(error))
        shown = os.path.join(location.shown_node, os.path.relpath(path, node_folder))
        damage = Damage(position, 0, DamageKind.CONTENT, reason, os.path.normpath(shown))
        if damage not in damages:
            damages.append(damage)
        return None


def _look_at_files(
    files: list[FilePath], options: Options, spool: Spool, damages: list[Damage]
) -> Iterator[Look]:
    """Single files that the user named, put together as one directory of the --as replica."""
    known = []
    for file in files:
        if classify(os.path.basename(file.path)).kind is FileKind.OTHER:
            damages.append(Damage(0, 0, DamageKind.NOT_KAFKA, _why_not(file), file.shown))
        else:
            known.append(file)
    if not known:
        return
    if options.replica is None:
        raise UsageError(
            f"{known[0].shown}: a single file does not say whose it is: add "
            "--as CLUSTER:NODE[:DIRECTORY]"
        )
    source = spool.new_folder() / METADATA_FOLDER
    source.mkdir()
    for file in known:
        target = source / os.path.basename(file.path)
        if not target.exists():
            os.symlink(os.path.abspath(file.path), target)
    shown = os.path.dirname(known[0].shown) or "."
    look = _look(DirectoryPath(str(source), shown), shown, options, spool, damages)
    if look is not None:
        yield look


def _why_not(file: FilePath) -> str:
    if file.name.kind is FileKind.SEGMENT:
        return "a segment by its bytes; to ingest it, name it by its base offset: <20 digits>.log"
    return "no Kafka log, snapshot or state file, by its name and its first bytes"


def parse_replica(text: str) -> ReplicaId:
    """CLUSTER:NODE[:DIRECTORY] of --as; UsageError otherwise."""
    parts = text.split(":")
    if len(parts) not in (2, 3) or not parts[0] or not parts[1].isdigit():
        raise UsageError(f"--as {text}: expected CLUSTER:NODE[:DIRECTORY], such as MkU3OEVB:1")
    return ReplicaId(parts[0], int(parts[1]), parts[2] if len(parts) == 3 else ZERO_UUID)


def next_free(moment: datetime, taken: set[datetime]) -> datetime:
    """`moment`, or the first microsecond after it that is not taken.

    Captures of one replica are ordered by (captured_at, ingest order); giving each a time of its
    own makes captured_at alone that order.
    """
    while moment in taken:
        moment += _TICK
    return moment
