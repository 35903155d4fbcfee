"""The paths that a user names, as local folders: URIs are downloaded, bundles are unpacked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pipelines.capture import private
from pipelines.capture.bundle import is_bundle, marked, unpack
from pipelines.capture.remote import RemoteFile, download, remote_files
from pipelines.capture.spool import Spool
from pipelines.object_store import is_uri, shown_uri
from replica.errors import UnreadableFileError, UsageError
from replica.format.damage import Damage, DamageKind
from replica.format.directory import MetadataDirectory
from replica.format.discovery import DirectoryPath, DiscoveredPath, discover
from replica.format.formatted import formatted_below


@dataclass(frozen=True, slots=True)
class Input:
    """A local path to search. Every message shows `shown` in its place."""

    path: str
    shown: str
    is_ours: bool = False
    """Whether the path is a copy that was made for this call."""
    damages: tuple[Damage, ...] = ()
    """The damages of the download or the bundle."""
    remote: tuple[RemoteFile, ...] = ()
    """The files below a URI that are read in place: `path` is then a local folder that has an empty
    file with the name of each. Empty for every other path."""

    def find(
        self, spool: Spool, damages: list[Damage], *, with_formatted: bool = False
    ) -> tuple[DiscoveredPath, ...]:
        """The directories and files to read, by the user's names. Folders that can't be listed
        become damages. with_formatted: whether log directories that were formatted and never
        started are among them. Raises UsageError where a path of the user holds nothing to read."""

        def unreadable(error: UnreadableFileError) -> None:
            shown = self._named(error.path)
            damages.append(Damage(0, 0, DamageKind.UNREADABLE, error.reason, shown))

        formatted = [*self._formatted(spool)] if with_formatted else []
        found: tuple[DiscoveredPath, ...] = ()
        try:
            found = discover([self.path], on_error=unreadable, skip=spool.not_examined())
        except UsageError:
            if not self.is_ours and not formatted:
                raise
            if not formatted:
                detail = "no metadata directory, segment or snapshot in it"
                damages.append(Damage(0, 0, DamageKind.NOT_KAFKA, detail, self.shown))
                return ()
        started = {os.path.dirname(os.path.abspath(one.path)) for one in found}
        fresh = [
            one for one in formatted if os.path.dirname(os.path.abspath(one.path)) not in started
        ]
        named = (replace(one, shown=self._named(one.shown)) for one in (*found, *fresh))
        return tuple(marked(one, self.damages) for one in named)

    def _formatted(self, spool: Spool) -> Iterator[DirectoryPath]:
        skipped = tuple(os.path.join(os.path.realpath(one), "") for one in spool.not_examined())
        for one in formatted_below(self.path):
            if not os.path.join(os.path.realpath(one.shown), "").startswith(skipped):
                yield one.as_directory()

    def _named(self, label: str) -> str:
        if not self.is_ours:
            return label
        relative = os.path.relpath(label, self.path)
        return self.shown if relative == "." else f"{self.shown}/{relative}"

    def mark(self, location: DirectoryPath, directory: MetadataDirectory) -> MetadataDirectory:
        """The directory, with the damages of its download or bundle added to its own. Without them
        a log that a bundle cut would look like one that Kafka truncated."""
        folder = os.path.basename(os.path.abspath(location.path))
        withheld = []
        for damage in self.damages:
            inside = damage.file.removeprefix(location.shown + "/")
            if damage.file == self.shown and damage.kind is DamageKind.CONTENT:
                detail = f"what follows may be missing: {damage.detail}"
                file = directory.segments[-1].file.path if directory.segments else folder
                withheld.append(Damage(0, 0, DamageKind.UNREADABLE, detail, file))
            elif damage.kind in _WITHHOLDS and inside != damage.file:
                detail = damage.detail
                withheld.append(Damage(0, 0, DamageKind.UNREADABLE, detail, f"{folder}/{inside}"))
        return replace(directory, damages=(*directory.damages, *withheld))


_WITHHOLDS = (DamageKind.CONTENT, DamageKind.UNREADABLE)


def inputs(
    paths: Sequence[str], spool: Spool, damages: list[Damage], *, in_place: bool = False
) -> Iterator[Input]:
    """The local folder or file of each path, after a download or unpacking. in_place: whether the
    files of a directory at a URI are read there. Then they are listed and not downloaded. damages:
    gets the damages of downloads and bundles. Raises UsageError or UnreadableFileError for a bad
    URI."""
    for path in paths:
        files = remote_files(path) if in_place and is_uri(path) else []
        if files and files[0].relative:
            yield _named(path, tuple(files), spool)
        elif is_uri(path):
            yield from _downloaded(path, spool, damages)
        elif is_bundle(path):
            yield from _unpacked(Input(path, path), spool, damages)
        else:
            yield Input(path, path)


def _named(uri: str, files: tuple[RemoteFile, ...], spool: Spool) -> Input:
    """The input for a URI whose files are read in place: a folder with an empty file for each of
    these files."""
    folder = spool.new_folder()
    for file in files:
        private.make_folder((folder / file.relative).parent)
        (folder / file.relative).touch(private.FILE_MODE)
    return Input(str(folder), shown_uri(uri), True, remote=files)


def _downloaded(uri: str, spool: Spool, damages: list[Damage]) -> Iterator[Input]:
    folder = str(spool.new_folder())
    downloaded = download(uri, folder)
    damages.extend(downloaded.damages)
    local = Input(downloaded.file or folder, shown_uri(uri), True, downloaded.damages)
    if is_bundle(local.path):
        yield from _unpacked(local, spool, damages)
    else:
        yield local


def _unpacked(bundle: Input, spool: Spool, damages: list[Damage]) -> Iterator[Input]:
    folder = str(spool.new_folder())
    unpacked = unpack(bundle.path, folder, shown=bundle.shown)
    damages.extend(unpacked.damages)
    if unpacked.files or not unpacked.damages:
        yield Input(folder, bundle.shown, True, unpacked.damages)
