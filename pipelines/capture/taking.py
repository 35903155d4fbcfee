"""Copies metadata directories of running nodes, with a hash of each file, to a folder or an object
store, for `kraftlake capture`.

A capture is a folder, local or in an object store:

    capture.json                      when, and every file's size and hash; written last
    node-1/meta.properties
    node-1/__cluster_metadata-0/...

Until capture.json is there, capture.json.part says what has arrived, so that a capture that was
interrupted is known as one, and goes on without sending the same bytes again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pipelines.capture.destination import CaptureDestination, destination_at
from pipelines.capture.grouping import replica_at
from pipelines.capture.manifest import marked_as_cut
from pipelines.object_store import is_uri, shown_uri
from replica import path_text
from replica.doctor.redacted.files import RedactedFiles
from replica.doctor.redacted.record_redactor import RecordRedactor
from replica.errors import CorruptDataError, DataError, UsageError
from replica.format import capture
from replica.format.byte_source import Source, blocks, byte_source
from replica.format.capture import CapturedFile, CaptureInfo
from replica.format.content_hash import ContentHash, content_hash
from replica.format.damage import Damage
from replica.format.directory import MetadataDirectory, read_directory
from replica.format.discovery import DirectoryPath, DiscoveredPath, FilePath, discover
from replica.format.file_names import METADATA_FOLDER, classify, is_metadata_folder
from replica.format.formatted import FormattedDirectory, formatted_below, read_formatted
from replica.format.reading import own_source
from replica.model.keys import ReplicaId
from replica.scan.segments import scan_ends

_JOURNAL_EVERY_BYTES = 16 * 1024 * 1024
"""The most bytes that an interrupted capture sends again, besides the file that it was sending."""


@dataclass(frozen=True, slots=True)
class CapturedDirectory:
    """One directory of a capture."""

    folder: str
    """The directory's path in the capture."""
    shown: str
    """The directory's path as the user named it."""
    files: int
    size_bytes: int
    sent_bytes: int
    """The number of bytes that were written now; the rest of size_bytes was written before."""
    has_moved: bool
    damages: tuple[Damage, ...]
    """The damages of the directory, with the user's names of files. The capture has the readable
    bytes of a damaged file."""


def directories(paths: Sequence[str]) -> tuple[DirectoryPath, ...]:
    """The metadata directories at or below local paths, and log directories that were formatted and
    never started.

    Raises UsageError where there is none, for a URI, for a single file, which is no node's
    directory, and for a fragment, because a capture says of all its directories that they are
    whole.
    """
    for path in paths:
        if is_uri(path):
            raise UsageError(
                f"{shown_uri(path)}: capture reads nodes' local folders; only -o may be a URI"
            )
    found: list[DiscoveredPath] = []
    formatted: list[FormattedDirectory] = []
    for path in paths:
        # Without its partitions, which a capture has not, a broker's further log directory would
        # look as if the broker had never started.
        below = [one for one in formatted_below(path) if not one.has_partitions]
        formatted += below
        try:
            found += discover([path])
        except UsageError:
            if not below:
                raise
    logs = checked_directories(found)
    started = {(one.cluster_id, one.node_id) for one in map(_owner, logs) if one is not None}
    never = (
        one for one in formatted if (one.replica.cluster_id, one.replica.node_id) not in started
    )
    return (*logs, *checked_directories([one.as_directory() for one in never]))


def _owner(one: DirectoryPath) -> ReplicaId | None:
    return replica_at(one.path)


def checked_directories(found: Sequence[DiscoveredPath]) -> tuple[DirectoryPath, ...]:
    """The directories, each once. Raises UsageError for a single file and for a fragment of a log,
    as `directories` does."""
    for one in found:
        if isinstance(one, FilePath):
            raise UsageError(f"{one.shown}: a single file; name the directory that holds it")
        if one.is_fragment:
            raise UsageError(
                f"{one.shown}: a fragment of a log in a recorder's archive: ingest it, or copy its "
                "folder as it is: its capture.json has the time at which it was kept"
            )
    marked = map(marked_as_cut, found)
    unique = {os.path.realpath(one.path): one for one in marked if isinstance(one, DirectoryPath)}
    return tuple(unique.values())


def take(
    found: Sequence[DirectoryPath],
    destination: str,
    progress: Callable[[CapturedDirectory], None] = lambda taken: None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    redactor: RecordRedactor | None = None,
    modified_at: Mapping[str, str | None] | None = None,
) -> tuple[CapturedDirectory, ...]:
    """Copy the directories to the destination, a folder or a URI of pyarrow.fs.

    The directories are neither locked nor changed. progress: is called after each directory. now:
    gives the time of the capture. redactor: makes the copies (replica.doctor.redacted.files); None
    copies all bytes as they are. modified_at: when files were last written, by absolute path, where
    these are copies themselves. Raises UsageError where the destination holds a finished capture or
    other files, or is a folder of another user, or lies in a node's log directory;
    UnreadableFileError where a directory can't be listed; UnwritableFileError where the destination
    refuses.
    """
    with destination_at(destination) as place:
        redacted = None if redactor is None else RedactedFiles(redactor, own_source)
        target = _Target(place, shown_uri(destination), now(), redacted, modified_at or {})
        target.resume()
        taken = []
        for folder, one in _named(found):
            taken.append(target.copy(folder, one))
            progress(taken[-1])
        target.finish()
    return tuple(taken)


def _named(found: Iterable[DirectoryPath]) -> Iterator[tuple[str, DirectoryPath]]:
    """Each directory with a distinct name: by its node's id, or by the name of its folder."""
    used: set[str] = set()
    for one in found:
        stem = _stem(one)
        names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(used) + 2))
        name = next(name for name in names if name not in used)
        used.add(name)
        yield name, one


def _stem(one: DirectoryPath) -> str:
    replica = replica_at(one.path)
    if replica is not None:
        return f"node-{replica.node_id}"
    above = os.path.dirname(os.path.abspath(one.path))
    return path_text.folder_name(os.path.basename(above), "node")


@dataclass
class _Target:
    """The place of one capture."""

    place: CaptureDestination
    shown: str
    at: datetime
    redacted: RedactedFiles | None = None
    modified_at: Mapping[str, str | None] = field(default_factory=dict)
    arrived: dict[str, CapturedFile] = field(default_factory=dict)
    """The files that have arrived, by path below the place."""
    wanted: dict[str, CapturedFile] = field(default_factory=dict)
    """The files that the capture will have."""
    _seen: set[str] = field(default_factory=set)
    """Paths of files that this call has written, or found there with their content."""
    _unsaved_bytes: int = 0
    _cut: list[str] = field(default_factory=list)
    """The folders of directories whose archive, or earlier capture, breaks off."""

    def resume(self) -> None:
        """Read the journal of an interrupted capture, if there is one. Raises UsageError where the
        place holds anything else."""
        if self.place.read(capture.FILE_NAME) is not None:
            raise UsageError(f"{self.shown}: holds a finished capture; name another folder")
        journal = self.place.read(capture.PART_NAME)
        if journal is not None:
            self.arrived = {file.path: file for file in self._journaled(journal)}
        elif not self.place.is_empty():
            raise UsageError(f"{self.shown}: not empty, and no capture; name another folder")
        self._save()

    def _journaled(self, journal: bytes) -> tuple[CapturedFile, ...]:
        """The files that a journal names. Raises UsageError for a journal that no capture
        writes."""
        try:
            files = capture.decode(journal).files
            for file in files:
                if "/" not in file.path:
                    reason = f"files: {file.path!a} is no path of a node's file"
                    raise CorruptDataError(reason, 0)
        except DataError as error:
            raise UsageError(
                f"{self.shown}/{capture.PART_NAME}: {error.reason}: name another folder"
            ) from error
        return files

    def copy(self, folder: str, one: DirectoryPath) -> CapturedDirectory:
        node_folder = os.path.dirname(os.path.abspath(one.path))
        sending = _Sending(self, folder, node_folder, *_log_folder(one))
        if one.is_formatted:
            directory = read_formatted(one.path, sending)
        else:
            directory = read_directory(one.path, read=sending, scan=scan_ends, hashed=False)
        if one.is_cut:
            self._cut.append(folder)
        kept = {sending.name_of(file.path) for file in directory.files}
        for path in sorted(sending.copied.keys() - kept):
            # The file belongs to a capture that was repeated, because the node deleted the file
            # meanwhile.
            self.wanted.pop(path)
        return CapturedDirectory(
            folder=folder,
            shown=one.shown,
            files=len(kept),
            size_bytes=sum(sending.copied[path] for path in kept),
            sent_bytes=sending.sent_bytes,
            has_moved=directory.has_moved,
            damages=_damages(directory, one),
        )

    def put(self, file: CapturedFile, data: Source) -> int:
        """Send a file. Returns the number of bytes sent: 0 where the same content arrived before.
        file: describes `data`. If the node changes the file meanwhile, the capture has the bytes
        that were sent."""
        self.wanted[file.path] = file
        if self.arrived.get(file.path) == file and self._is_there(file):
            return 0
        if self.arrived.pop(file.path, None) is not None:
            self._save()  # Otherwise the journal would vouch for bytes that are being replaced.
        sent = ContentHash(classify(os.path.basename(file.path)))
        self.place.write(file.path, sent.passing(blocks(data)))
        file = replace(file, size_bytes=sent.size, content_hash=sent.digest)
        self._seen.add(file.path)
        self.arrived[file.path] = self.wanted[file.path] = file
        self._unsaved_bytes += sent.size
        if self._unsaved_bytes >= _JOURNAL_EVERY_BYTES:
            self._save()
        return sent.size

    def finish(self) -> None:
        """Remove files that the capture no longer needs, and note that the capture is complete."""
        for path in sorted(set(self.arrived) - set(self.wanted)):
            self.place.delete(path)
        files = tuple(self.wanted[path] for path in sorted(self.wanted))
        info = CaptureInfo(self.at, files, cut=tuple(self._cut))
        self.place.replace(capture.FILE_NAME, capture.encode(info))
        self.place.delete(capture.PART_NAME)

    def _save(self) -> None:
        files = tuple(self.arrived[path] for path in sorted(self.arrived))
        self.place.replace(capture.PART_NAME, capture.encode(CaptureInfo(self.at, files)))
        self._unsaved_bytes = 0

    def _is_there(self, file: CapturedFile) -> bool:
        """Whether the destination holds the file. A line of the journal doesn't prove it."""
        if file.path not in self._seen and self.place.holds(file):
            self._seen.add(file.path)
        return file.path in self._seen


@dataclass
class _Sending:
    """The `read` port of read_directory. It sends the bytes that it reads to the capture."""

    target: _Target
    folder: str
    node_folder: str
    log_folder: str
    copied_as: str
    sent_bytes: int = 0
    copied: dict[str, int] = field(default_factory=dict)
    """The bytes of each copy, by its path in the capture."""

    def __call__(self, path: str, limit: int) -> Source:
        data = own_source(path, limit)
        name = self.name_of(os.path.relpath(path, self.node_folder).replace(os.sep, "/"))
        redacted = self.target.redacted
        copy = data if redacted is None else redacted.content(path, data)
        digest = content_hash(classify(os.path.basename(path)), copy)
        file = CapturedFile(name, byte_source(copy).size, digest, self._modified_at(path))
        self.sent_bytes += self.target.put(file, copy)
        self.copied[name] = self.target.wanted[name].size_bytes
        return data

    def _modified_at(self, path: str) -> str | None:
        """When the file was last written; None where the time is unknown."""
        known = self.target.modified_at
        if (absolute := os.path.abspath(path)) in known:
            return known[absolute]
        try:
            moment = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
            capture.capture_time(text := capture.written_time(moment))
        except (OSError, ValueError, OverflowError, DataError):
            return None
        return text

    def name_of(self, inside: str) -> str:
        """The path of a file in the capture, from its path below the node's folder."""
        first, slash, rest = inside.partition("/")
        if slash and first == self.log_folder:
            return f"{self.folder}/{self.copied_as}/{rest}"
        return f"{self.folder}/{inside}"


def _log_folder(one: DirectoryPath) -> tuple[str, str]:
    """(the name of a directory, the name of its copy). Where a folder is a metadata directory only
    because the user named it, the copy gets a name by which it is found."""
    name = os.path.basename(os.path.abspath(one.path))
    return name, name if is_metadata_folder(one.path) else METADATA_FOLDER


def _damages(directory: MetadataDirectory, one: DirectoryPath) -> tuple[Damage, ...]:
    return tuple(damage.in_file(one.shown_file(damage.file)) for damage in directory.damages)
