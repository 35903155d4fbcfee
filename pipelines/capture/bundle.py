"""Unpacking .tar(.gz) and .zip bundles that may be hostile.

Only files of Kafka's kinds are written, and only below the destination. A member with a name that
points elsewhere, a link, or bytes past the limits becomes a Damage; the others are unpacked.
"""

from __future__ import annotations

import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from replica.format.capture import FILE_NAME as CAPTURE_FILE
from replica.format.damage import Damage, DamageKind
from replica.format.file_names import FileKind, classify

SUFFIXES = (".tar.gz", ".tgz", ".tar", ".tar.xz", ".tar.bz2", ".zip")
MAX_MEMBERS = 200_000
MAX_TOTAL_BYTES = 64 * 1024**3
"""Unpacked bytes of one bundle; half of the free disk space where that is less."""
_CHUNK_BYTES = 1024 * 1024
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)
"""What the standard library raises on damaged archives; RuntimeError for an encrypted member."""


def is_bundle(path: str) -> bool:
    """Whether a path names a bundle, by its suffix."""
    return path.endswith(SUFFIXES) and os.path.isfile(path)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """How an unpacking went. `damages` name files as <bundle>/<member>."""

    folder: str
    files: int
    damages: tuple[Damage, ...]


def unpack(bundle: str, folder: str, *, max_bytes: int = MAX_TOTAL_BYTES) -> Unpacked:
    """Unpack the Kafka files of a bundle below `folder`, which exists. Never raises on content."""
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    unpacking = _Unpacking(bundle, folder, min(max_bytes, free // 2))
    members = _zip_members if bundle.endswith(".zip") else _tar_members
    try:
        for member in members(bundle):
            if not unpacking.take(member):
                break
    except _BROKEN as error:
        unpacking.damage("", DamageKind.CONTENT, f"the bundle breaks off: {_one_line(error)}")
    return Unpacked(folder, unpacking.files, tuple(unpacking.damages))


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    problem: str
    """Why it can't be unpacked whatever its name, such as being a link; "" for a plain file."""
    open: Callable[[], IO[bytes]]
    position: int


@dataclass
class _Unpacking:
    bundle: str
    folder: str
    bytes_left: int
    files: int = 0
    members: int = 0
    damages: list[Damage] = field(default_factory=list)

    def damage(self, member: str, kind: DamageKind, detail: str, position: int = 0) -> None:
        file = f"{self.bundle}/{member}" if member else self.bundle
        self.damages.append(Damage(position, 0, kind, detail, file))

    def take(self, member: _Member) -> bool:
        """Unpack one member; False where the bundle as a whole is over its limits."""
        self.members += 1
        if self.members > MAX_MEMBERS:
            detail = f"more than {MAX_MEMBERS} members; the rest is left out"
            self.damage("", DamageKind.HOSTILE_NAME, detail, member.position)
            return False
        problem = _hostile(member.name) or member.problem
        if problem:
            label = _one_line(member.name)
            self.damage(label, DamageKind.HOSTILE_NAME, problem, member.position)
            return True
        if _is_wanted(member.name):
            return self._write(member)
        return True

    def _write(self, member: _Member) -> bool:
        target = Path(self.folder, *PurePosixPath(member.name).parts)
        if target.exists():
            detail = "the name occurs twice; the first is kept"
            self.damage(member.name, DamageKind.HOSTILE_NAME, detail, member.position)
            return True
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with target.open("xb") as out:
                whole = self._copy(member, out)
        except _BROKEN as error:
            # what could be read stays: a cut segment is still a segment
            self.damage(member.name, DamageKind.CONTENT, _one_line(error), member.position)
            return True
        self.files += 1
        if not whole:
            target.unlink()
            detail = "unpacks past the size limit; it and the rest are left out"
            self.damage(member.name, DamageKind.HOSTILE_NAME, detail, member.position)
        return whole

    def _copy(self, member: _Member, out: IO[bytes]) -> bool:
        with member.open() as source:
            while chunk := source.read(_CHUNK_BYTES):
                self.bytes_left -= len(chunk)
                if self.bytes_left < 0:
                    return False
                out.write(chunk)
        return True


def _is_wanted(name: str) -> bool:
    base = PurePosixPath(name).name
    return base == CAPTURE_FILE or classify(base).kind is not FileKind.OTHER


def _hostile(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        return "the name points outside the bundle"
    if "\\" in name or "\0" in name or any(ord(char) < 32 for char in name):
        return "the name holds characters no Kafka file has"
    if len(name) > 1024 or any(len(part) > 255 for part in path.parts):
        return "the name is too long"
    return ""


def _tar_members(bundle: str) -> Iterator[_Member]:
    with tarfile.open(bundle, mode="r:*") as archive:
        for info in archive:
            if info.isdir():
                continue
            problem = "" if info.isfile() else "a link or device, not a file"

            def open_member(info: tarfile.TarInfo = info) -> IO[bytes]:
                source = archive.extractfile(info)
                assert source is not None, "isfile() was checked"
                return source

            yield _Member(info.name, problem, open_member, info.offset)


def _zip_members(bundle: str) -> Iterator[_Member]:
    with zipfile.ZipFile(bundle) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            mode = info.external_attr >> 16
            linked = mode & 0o170000 == 0o120000

            def open_member(info: zipfile.ZipInfo = info) -> IO[bytes]:
                return archive.open(info)

            problem = "a link or device, not a file" if linked else ""
            yield _Member(info.filename, problem, open_member, info.header_offset)


def _one_line(value: object) -> str:
    return " ".join(str(value).split()).encode("ascii", "backslashreplace").decode("ascii")[:200]
