"""Stores the machine code of kernels: an object file for each kernel.

The folder's name holds a digest of everything that the machine code depends on: the sources without
their docstrings and comment lines, the compiler and the CPU. A file's name holds the digest of its
content, so an incomplete or foreign file is noticed. A file is written under another name and then
renamed, so processes can compile at the same time. The code in these files is executed, so only
folders and files of this user are used: beside the sources if this user may write there, else in
the user's cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pkgutil
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import llvmlite

from replica.scan.target import host

SOURCES = (
    "errors.py", "format/batch.py", "format/checksum.py", "message/primitives.py",
    "message/program.py", "message/schema.py",
    "metadata/programs.py", "metadata/record.py", "metadata/records.py",
    "metadata/known_configs.py", "metadata/redact.py",
    "scan/compiled.py", "scan/frames.py", "scan/native.py", "scan/tables.py",
    "scan/replay_tables.py", "scan/version_tables.py",
)  # fmt: skip
"""The sources of the kernels besides the modules of replica.scan.kernels, as paths below the
package `replica`: all modules that the kernels import, except the modules that only find the
machine code."""

KEPT = 3
"""The number of folders with other digests that stay beside a new folder, for other branches and
Pythons."""

_PREFIX = "kernels-"
_LOCK = "compiling.lock"
_NOT_COMPILED = re.compile(rb'^ *(?:"""[\s\S]*?"""|#.*)?\n', re.MULTILINE)
"""A pattern that matches docstrings, comment lines and empty lines. The sources have no other text
in three quotes."""


def find(name: str) -> bytes | None:
    """The object file of a kernel. None if no valid file is stored."""
    for base in _bases():
        folder = base / f"{_PREFIX}{digest()}"
        for path in sorted(folder.glob(f"{name}-*.o")) if _is_ours(folder) else ():
            image = _own_bytes(path)
            if image is not None and path.name == _file_name(name, image):
                return image
    return None


def keep(name: str, image: bytes) -> None:
    """Store an object file, if there is a writable folder, and remove the oldest folders."""
    for base in _bases():
        folder = base / f"{_PREFIX}{digest()}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_ours(folder):
                continue
            _write(folder / _file_name(name, image), image)
        except OSError:
            continue
        _prune(base, folder)
        return


@contextmanager
def compiling_alone() -> Iterator[bool]:
    """A context that gives whether no other process is in the same context; True if this can't be
    found out."""
    for base in _bases():
        with suppress(OSError), open(base / _LOCK, "ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
            return
    yield True


@cache
def digest() -> str:
    """A text that changes with everything that the machine code depends on."""
    target = host()
    said = (llvmlite.__version__, target.triple, target.cpu, target.features)
    made = hashlib.sha256(repr(said).encode() + _numba_version())
    for name in sources():
        # the import system reads it, because the code may be in a zip file
        text = pkgutil.get_data(__package__.removesuffix(".scan"), name)
        assert text is not None, "source files and zips have data"
        made.update(name.encode() + _NOT_COMPILED.sub(b"", text))
    return made.hexdigest()[:16]


def sources() -> tuple[str, ...]:
    """SOURCES and the kernels' own modules, below the package `replica`."""
    kernels = find_spec("replica.scan.kernels")
    assert kernels is not None
    found = pkgutil.iter_modules(kernels.submodule_search_locations)
    return (*SOURCES, *sorted(f"scan/kernels/{module.name}.py" for module in found))


def _numba_version() -> bytes:
    """The text of numba's version, found without importing numba, which takes half a second."""
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        return b""
    try:
        return Path(spec.origin).with_name("_version.py").read_bytes()
    except OSError:
        return b""


def _bases() -> Iterator[Path]:
    yield Path(__file__).parent / "__pycache__"
    configured = os.environ.get("XDG_CACHE_HOME", "")
    cache_home = Path(configured) if os.path.isabs(configured) else Path("~/.cache").expanduser()
    yield cache_home / "kraftlake"


def _file_name(name: str, image: bytes) -> str:
    return f"{name}-{hashlib.sha256(image).hexdigest()[:32]}.o"


def _is_ours(folder: Path) -> bool:
    """Whether the folder belongs to this user, and no other user may write to it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    others_write = stat.S_IWGRP | stat.S_IWOTH
    is_folder = stat.S_ISDIR(found.st_mode)
    return is_folder and found.st_uid == os.getuid() and not found.st_mode & others_write


def _own_bytes(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read() if os.fstat(file.fileno()).st_uid == os.getuid() else None
    except OSError:
        return None


def _write(path: Path, image: bytes) -> None:
    handle, aside = tempfile.mkstemp(dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(image)
        os.replace(aside, path)
    except OSError:
        Path(aside).unlink(missing_ok=True)
        raise


def _prune(base: Path, current: Path) -> None:
    others = [path for path in base.glob(f"{_PREFIX}*") if path != current and _is_ours(path)]
    others.sort(key=_changed, reverse=True)
    for path in others[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def _changed(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # another process removed it
        return 0.0
