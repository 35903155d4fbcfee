"""Targets: archives of directories from other people."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pipelines.capture.bundle import unpack
from tests.fuzz.guided.logs import heads
from tests.fuzz.guided.target import Target, recorded, require

_SUFFIXES = (".tar", ".zip", ".tar.gz", ".tar.xz")
_MAX_BYTES = 1 << 20


@cache
def _place() -> Path:
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
    return Path(tempfile.mkdtemp(prefix="kraftlake-fuzz-", dir=shared))


def _bundle(data: bytes) -> None:
    """Reads a bundle. The first byte chooses the suffix. Two of the four kinds are compressed here,
    so that the input reaches the archive."""
    if not data:
        return
    suffix, content = _SUFFIXES[data[0] % 4], data[1:]
    if suffix == ".tar.gz":
        content = gzip.compress(content, 1)
    elif suffix == ".tar.xz":
        content = lzma.compress(content, preset=0)
    place = _place()
    bundle, folder = place / f"bundle{suffix}", place / "unpacked"
    bundle.write_bytes(content)
    folder.mkdir()
    try:
        found = unpack(str(bundle), str(folder), max_bytes=_MAX_BYTES)
        require({each.name for each in place.iterdir()} == {bundle.name, "unpacked"}, "a file left")
        sizes = 0
        for each in folder.rglob("*"):
            require(not each.is_symlink(), f"{each} is a link")
            require(each.is_dir() or each.is_file(), f"{each} is neither file nor folder")
            sizes += each.lstat().st_size if each.is_file() else 0
        require(sizes <= _MAX_BYTES, f"{sizes} bytes were unpacked")
        for damage in found.damages:
            require("\n" not in damage.detail, f"{damage}")
    finally:
        bundle.unlink()
        shutil.rmtree(folder)


def _members() -> list[tuple[str, bytes]]:
    files = recorded("quorum-state", 2)
    names = ("n1/__cluster_metadata-0/quorum-state", "n1/meta.properties")
    return [
        *zip(names, files, strict=False),
        ("n1/__cluster_metadata-0/00000000000000000000.log", heads("*.log", 2000)[0]),
        ("../../quorum-state", b"{}"),
        ("n1/" + "long" * 20 + "/" + "x" * 60 + "/meta.properties", b"version=1"),
    ]


def _tar(form: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, content in _members():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("n1/__cluster_metadata-0/leader-epoch-checkpoint")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return out.getvalue()


def _zip(method: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in _members():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def _bundles() -> Iterable[bytes]:
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        for kind in (0, 2, 3):
            yield bytes([kind]) + _tar(form)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield bytes([1]) + _zip(method)


TARGETS = (
    Target(
        "bundles",
        "tar (plain, gzip, xz) and zip archives of directories",
        "Kafka's files below the folder, no link, no more than the limit; else damages of one line",
        _bundles,
        _bundle,
        max_bytes=24_000,
    ),
)
