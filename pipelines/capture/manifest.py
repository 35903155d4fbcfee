"""Reads capture.json beside a directory: the time of the capture, and whether the copy is still
whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from pipelines.capture.grouping import file_beside
from pipelines.object_store import is_uri
from replica.errors import DataError, UnreadableFileError
from replica.format import capture
from replica.format.capture import CapturedFile, CaptureInfo
from replica.format.damage import Damage, DamageKind
from replica.format.directory import DirectoryFile, MetadataDirectory
from replica.format.discovery import DirectoryPath, DiscoveredPath, FilePath
from replica.format.file_names import FileKind, classify
from replica.format.reading import MAX_STATE_BYTES, read_own_file


@dataclass(frozen=True, slots=True)
class Manifest:
    """The facts about a directory's capture."""

    info: CaptureInfo | None = None
    """The content of capture.json; None where no capture.json can be read."""
    folder: str = ""
    """The place of the directory's node in the capture, "" for the capture's root."""
    damages: tuple[Damage, ...] = ()
    """A damage where capture.json can't be read, or the capture is unfinished; else none."""
    is_unfinished: bool = False
    """Whether the capture was interrupted, so that the directory must be left out."""
    is_fragment: bool = False
    """Whether the directory holds only a part of the log: its capture.json says so, or it is made
    of single files."""

    def is_cut(self, location: DirectoryPath) -> bool:
        """Whether the directory may lack the end of the node's log: the capture was made of an
        archive that breaks off, or the end of the log's last segment is missing."""
        if self.info is not None and self.folder in self.info.cut:
            return True
        folder = os.path.abspath(location.path)
        segments = {
            path: captured.size_bytes
            for path, captured in self._captured(os.path.basename(folder))
            if classify(os.path.basename(path)).kind is FileKind.SEGMENT
        }
        if not segments:
            return False
        last = max(segments)
        return _size(os.path.join(os.path.dirname(folder), last)) < segments[last]

    @property
    def captured_at(self) -> datetime | None:
        """The time of the capture; None where no capture.json names it."""
        return None if self.info is None else self.info.captured_at

    def verify(self, directory: MetadataDirectory) -> MetadataDirectory:
        """The directory with its is_fragment, and with a Damage for each captured file that is
        missing or differs. Without both, bytes that were lost while the capture was copied would
        look as if Kafka had truncated or deleted them."""
        return replace(
            directory,
            damages=(*directory.damages, *self._lost(directory)),
            is_fragment=self.is_fragment,
        )

    def modified_at(self, location: DirectoryPath) -> dict[str, str | None]:
        """When each captured file of this directory, or beside it, was last written, by its
        absolute path; None where capture.json has no such time."""
        node_folder = os.path.dirname(os.path.abspath(location.path))
        log_folder = os.path.basename(os.path.abspath(location.path))
        return {
            os.path.join(node_folder, inside): file.modified_at
            for inside, file in self._captured(log_folder)
        }

    def _lost(self, directory: MetadataDirectory) -> Iterator[Damage]:
        found = {file.path: file for file in directory.files}
        log_folder = os.path.basename(os.path.abspath(directory.path))
        for path, captured in self._captured(log_folder):
            here = found.get(path)
            if here is None:
                detail = f"captured with {captured.size_bytes} bytes, but not in this copy"
                yield Damage(0, 0, DamageKind.UNREADABLE, detail, path)
            elif (here.size_bytes, here.sha256) != (captured.size_bytes, captured.content_hash):
                yield Damage(0, 0, DamageKind.UNREADABLE, _difference(here, captured), path)

    def _captured(self, log_folder: str) -> Iterator[tuple[str, CapturedFile]]:
        """(path below the node's folder, file) of each captured file of the log directory, and of
        each one beside it. log_folder: the name of the log directory."""
        prefix = f"{self.folder}/" if self.folder else ""
        for file in self.info.files if self.info else ():
            inside = file.path.removeprefix(prefix)
            parts = inside.split("/")
            if file.path.startswith(prefix) and (len(parts) == 1 or parts[0] == log_folder):
                yield inside, file


def _difference(here: DirectoryFile, captured: CapturedFile) -> str:
    if here.size_bytes == captured.size_bytes:
        return f"not the {here.size_bytes} bytes that were captured, by their hash"
    return f"{here.size_bytes} bytes, not the {captured.size_bytes} that were captured"


def manifest_of(location: DirectoryPath) -> Manifest:
    """The capture.json in the node's folder or in the folder above it. The Manifest
    has no `info` where there is no such file. Where the file can't be read, it has no `info`, and
    `damages` says why."""
    node_folder = os.path.dirname(os.path.abspath(location.path))
    path = file_beside(location, capture.FILE_NAME)
    if path is None:
        part = file_beside(location, capture.PART_NAME)
        if part is None:
            return Manifest(is_fragment=not location.is_whole)
        return _unfinished(_shown(part, node_folder, location))
    folder = os.path.relpath(node_folder, os.path.dirname(path)).replace(os.sep, "/")
    shown = _shown(path, node_folder, location)
    try:
        info = capture.decode(read_own_file(path, MAX_STATE_BYTES))
        return Manifest(info, "" if folder == "." else folder, is_fragment=info.is_fragment)
    except DataError as error:
        damage = Damage(error.position or 0, 0, DamageKind.CONTENT, error.reason, shown)
    except UnreadableFileError as error:
        damage = Damage(0, 0, DamageKind.UNREADABLE, error.reason, shown)
    return Manifest(damages=(damage,))


def marked_as_cut(found: DiscoveredPath) -> DiscoveredPath:
    """A directory or file, marked as cut where its capture.json shows that it lacks something."""
    if isinstance(found, FilePath) or found.is_cut or not manifest_of(found).is_cut(found):
        return found
    return replace(found, is_cut=True)


def _size(path: str) -> int:
    """The size of a file in bytes; 0 where the operating system doesn't give it."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _unfinished(shown: str) -> Manifest:
    detail = "left out: an interrupted capture; run the same `kraftlake capture` again"
    damage = Damage(0, 0, DamageKind.UNREADABLE, detail, shown)
    return Manifest(damages=(damage,), is_unfinished=True)


def _shown(path: str, node_folder: str, location: DirectoryPath) -> str:
    shown = os.path.join(location.shown_node, os.path.relpath(path, node_folder))
    return shown if is_uri(shown) else os.path.normpath(shown)
