"""Unpacks Kafka's files of a .tar(.gz, .zst and so on) or .zip bundle into a folder; the bundle may
be hostile.

Only Kafka's kinds of files are written, and only below the destination. An absolute name loses its
leading /, as with tar and unzip. A member whose name points elsewhere (..), a link, and bytes
beyond the limits become a Damage; the other members are unpacked.
"""

from __future__ import annotations

import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO

from pipelines.capture.archive_members import ArchiveMember, tar_members, zip_members
from pipelines.capture.private import (
    make_folder,
    new_file,
    room_for_strangers,
    write_with_holes,
)
from replica import path_text
from replica.format import capture
from replica.format.damage import Damage, DamageKind
from replica.format.discovery import DirectoryPath, DiscoveredPath, FilePath
from replica.format.file_names import FileKind, classify
from replica.format.listing import size_limit

SUFFIXES = (
    ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2", ".tbz",
    ".tar.zst", ".tzst", ".zip",
)  # fmt: skip
MAX_MEMBERS = 200_000
MAX_FOLDERS = 10_000
"""The most folders with Kafka's kinds of files: enough for 5,000 nodes."""
MAX_TOTAL_BYTES = 64 * 1024**3
"""The most unpacked bytes of one bundle; half of the free disk space where that is less."""
MAX_ZERO_BYTES = 8 * 1024**3
"""The most zeros of one bundle that are unpacked as holes, which take no space on the disk. A
preallocated file has many zeros, and a sparse member of an archive may claim any number of them."""
_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
    EOFError, OSError, RuntimeError, ValueError, LookupError, ArithmeticError,
)  # fmt: skip
"""What the standard library raises for damaged archives; RuntimeError for an encrypted member."""


def is_bundle(path: str) -> bool:
    """Whether there is a file at the path, with the suffix of a bundle."""
    return path.endswith(SUFFIXES) and os.path.isfile(path)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The result of unpacking a bundle."""

    folder: str
    """The folder that has the files."""
    files: int
    """The number of files."""
    damages: tuple[Damage, ...]
    """The damages. Each names its file as <bundle>/<member>, or is about the bundle as a whole."""


def marked(found: DiscoveredPath, damages: Iterable[Damage]) -> DiscoveredPath:
    """A directory of a bundle, marked as cut where the bundle may lack some of the directory's
    files; a single file stays as it is. damages: the damages of the bundle, with names of files as
    the user knows them."""
    if isinstance(found, FilePath):
        return found
    return replace(found, is_cut=any(_hides(damage, found) for damage in damages))


def _hides(damage: Damage, directory: DirectoryPath) -> bool:
    """Whether a damage of a bundle may have kept files of Kafka from the directory."""
    name = PurePosixPath(damage.file)
    is_member = not name.name.endswith(SUFFIXES)
    if damage.kind is DamageKind.NOT_KAFKA:
        return False
    if not is_member:
        return True
    return _is_wanted(name.name) and name.is_relative_to(directory.shown_node)


def unpack(
    bundle: str, folder: str, *, max_bytes: int = MAX_TOTAL_BYTES, shown: str | None = None
) -> Unpacked:
    """Unpack the Kafka files of a bundle below `folder`, which exists. No content of the bundle
    makes this raise. shown: the user's name of the bundle, where that isn't its path."""
    room = min(max_bytes, room_for_strangers(folder))
    unpacking = _Unpacking(shown or bundle, folder, room, min(max_bytes, MAX_ZERO_BYTES))
    members = zip_members if bundle.endswith(".zip") else tar_members
    try:
        for member in members(bundle):
            if not unpacking.take(member):
                break
    except _BROKEN as error:
        unpacking.damage("", DamageKind.CONTENT, f"the bundle breaks off: {_one_line(error)}")
    return Unpacked(folder, unpacking.files, tuple(unpacking.damages))


@dataclass
class _Unpacking:
    bundle: str
    folder: str
    bytes_left: int
    zeros_left: int
    files: int = 0
    members: int = 0
    folders: set[PurePosixPath] = field(default_factory=set)
    damages: list[Damage] = field(default_factory=list)

    def damage(self, member: str, kind: DamageKind, detail: str, position: int = 0) -> None:
        file = f"{self.bundle}/{member}" if member else self.bundle
        self.damages.append(Damage(position, 0, kind, detail, file))

    def take(self, member: ArchiveMember) -> bool:
        """Unpacks one member. Returns False where the bundle as a whole is over its limits, else
        True."""
        self.members += 1
        if self.members > MAX_MEMBERS:
            detail = f"more than {MAX_MEMBERS} members; the rest is left out"
            self.damage("", DamageKind.HOSTILE_NAME, detail, member.position)
            return False
        member = replace(member, name=member.name.lstrip("/"))
        hostile = path_text.fault_of(member.name)
        if hostile:
            label = _one_line(member.name)
            self.damage(label, DamageKind.HOSTILE_NAME, hostile, member.position)
        elif member.problem:
            self.damage(member.name, member.kind, member.problem, member.position)
        elif member.name.endswith(SUFFIXES):
            detail = "a bundle in the bundle is not unpacked: name it on its own"
            self.damage(member.name, DamageKind.NOT_KAFKA, detail, member.position)
        elif _is_wanted(member.name):
            limit = size_limit(classify(PurePosixPath(member.name).name))
            if member.size is None or member.size <= limit:
                return self._write(member)
            detail = f"{member.size} bytes, a file of Kafka's metadata has {limit} at most"
            self.damage(member.name, DamageKind.HOSTILE_NAME, detail, member.position)
        return True

    def _write(self, member: ArchiveMember) -> bool:
        self.folders.add(PurePosixPath(member.name).parent)
        if len(self.folders) > MAX_FOLDERS:
            detail = f"more than {MAX_FOLDERS} folders with files of Kafka; the rest is left out"
            self.damage("", DamageKind.HOSTILE_NAME, detail, member.position)
            return False
        target = Path(self.folder, *PurePosixPath(member.name).parts)
        try:
            make_folder(target.parent)
            out = new_file(target)
        except (FileExistsError, NotADirectoryError):
            detail = "the name, or a folder in it, is an earlier member's; that one is kept"
            self.damage(member.name, DamageKind.HOSTILE_NAME, detail, member.position)
            return True
        problem, over = None, ""
        with out:
            try:
                over = self._copy(member, out)
            except _BROKEN as error:
                problem = _one_line(error)
            size = out.tell()
            out.truncate(size)  # The file may end in a hole.
        whole = not over
        if problem is not None:
            self.damage(member.name, DamageKind.CONTENT, problem, member.position)
        if not whole:
            detail = f"unpacks past {over}; it and the rest are left out"
            self.damage(member.name, DamageKind.HOSTILE_NAME, detail, member.position)
        # The bytes that could be read stay, because a cut segment is still a segment. An empty file
        # is removed, because it would look like one that Kafka left empty.
        if not whole or (problem is not None and not size):
            target.unlink()
        else:
            self.files += 1
        return whole

    def _copy(self, member: ArchiveMember, out: IO[bytes]) -> str:
        """Copy the member's bytes. Returns the limit that the bundle exceeds, "" for none."""
        for chunk in member.chunks():
            # Zeros count too: a chunk's size is checked before its bytes are looked at.
            if len(chunk) > self.bytes_left:
                return "the size limit"
            zeros = write_with_holes(out, chunk)
            self.bytes_left -= len(chunk) - zeros
            self.zeros_left -= zeros
            if self.zeros_left < 0:
                return "the size limit of zeros"
        return ""


def _is_wanted(name: str) -> bool:
    base = PurePosixPath(name).name
    names = (capture.FILE_NAME, capture.PART_NAME)
    return base in names or classify(base).kind is not FileKind.OTHER


def _one_line(value: object) -> str:
    """The text without line breaks and escape sequences, for a terminal; at most its first 200
    characters."""
    return ascii(" ".join(str(value).split()))[1:-1][:200]
