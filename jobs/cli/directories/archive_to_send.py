"""Packs the copies that `kraftlake redact` makes into one archive, which a user can send."""

from __future__ import annotations

import gzip
import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replica.errors import UnwritableFileError, UsageError

_ENDINGS = (".tar.gz", ".tgz")
_OTHER_ARCHIVES = (".zip", ".tar", ".gz", ".tar.xz", ".tar.bz2", ".tar.zst", ".7z")
_OWNER_S = 0o600


@contextmanager
def archived(output: str) -> Iterator[str]:
    """The folder for the copies. Where the output's name ends in .tar.gz or .tgz, this is a
    temporary folder beside the output. The folder's content becomes the archive when the block ends
    without an error.

    Raises UsageError where the archive exists already, or where the name is that of another kind of
    archive, UnwritableFileError where it can't be written.
    """
    ending = next((one for one in _ENDINGS if output.endswith(one)), None)
    if ending is None or "://" in output:
        if output.endswith(_OTHER_ARCHIVES) and not os.path.isdir(output) and "://" not in output:
            raise UsageError(f"-o {output}: name the archive NAME.tar.gz, or name a folder")
        yield output
        return
    target = Path(output)
    if os.path.lexists(target):
        raise UsageError(f"-o {output}: is there already: name a new file")
    try:
        folder = tempfile.TemporaryDirectory(prefix=".kraftlake-", dir=target.parent)
    except OSError as error:
        raise UnwritableFileError(output, error.strerror or str(error)) from error
    with folder as place:
        copies = Path(place, target.name.removesuffix(ending) or "copies")
        yield str(copies)
        draft = Path(place, "archive")
        try:
            _write(copies, draft)
            os.link(draft, target)  # fails where such a file was made meanwhile
        except OSError as error:
            raise UnwritableFileError(output, error.strerror or str(error)) from error


def _write(copies: Path, draft: Path) -> None:
    """Writes the archive. It names no owner, and no times except those in capture.json."""
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_S)
    with (
        open(handle, "wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as out,
    ):
        for file in sorted(copies.rglob("*")):
            out.add(file, file.relative_to(copies.parent), recursive=False, filter=_without_owner)


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry
