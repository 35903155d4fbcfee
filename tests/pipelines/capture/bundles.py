"""Archives for the tests of unpacking, and a folder to unpack them in."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import cramjam

from pipelines.capture.bundle import Unpacked, unpack
from replica.format.damage import DamageKind

FOLDER = "1/__cluster_metadata-0"
LOG = f"{FOLDER}/{0:020d}.log"
STATE = f"{FOLDER}/quorum-state"
META = "1/meta.properties"
CONTENTS = {META: b"version=1\n", LOG: bytes(range(256)) * 40, STATE: b'{"data_version":0}'}
"""Members of the archives. The bundle never reads the content of the files."""


def tar_bytes(members: Iterable[tuple[tarfile.TarInfo | str, bytes]], **options: Any) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **options) as target:
        for info, content in members:
            if isinstance(info, str):
                info = tarfile.TarInfo(info)
            info.size = len(content)
            target.addfile(info, io.BytesIO(content))
    return out.getvalue()


def special(name: str, kind: bytes, linkname: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, linkname
    return info


def zip_bytes(members: Iterable[tuple[zipfile.ZipInfo | str, bytes]], **options: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **options) as target:
        for name, content in members:
            target.writestr(name, content)
    return out.getvalue()


def sound_tar() -> bytes:
    return tar_bytes(CONTENTS.items())


class Unpacking:
    """An unpacking in a folder of its own. A file beside the folder shows whether anything else
    changed."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.folder = base / "out"
        self.folder.mkdir()
        self.witness = base / "witness"
        self.witness.write_bytes(b"mine")

    def __call__(self, name: str, data: bytes, **options: Any) -> Unpacked:
        self.path = self.base / name
        self.path.write_bytes(data)
        return unpack(str(self.path), str(self.folder), **options)

    def files(self) -> dict[str, bytes]:
        """The files in the folder. Asserts that nothing else has changed around it."""
        assert {p.name for p in self.base.iterdir()} == {"out", "witness", self.path.name}
        assert self.witness.read_bytes() == b"mine"
        paths = [path for path in self.folder.rglob("*") if not path.is_dir()]
        assert not any(path.is_symlink() for path in paths)
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths}


def kinds(found: Unpacked) -> list[DamageKind]:
    return [damage.kind for damage in found.damages]


def zstd(data: bytes) -> bytes:
    """The data as one Zstandard frame."""
    return bytes(cramjam.zstd.compress(data))


def zstd_frames(data: bytes) -> bytes:
    """The data as pzstd writes it: frames of 10,000 bytes, each after a frame to skip, which has
    its size."""
    out = b""
    for start in range(0, len(data), 10_000):
        frame = zstd(data[start : start + 10_000])
        out += struct.pack("<III", 0x184D2A50, 4, len(frame)) + frame
    return out


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "c.tar": bytes,
    "c.tar.gz": gzip.compress,
    "c.tgz": gzip.compress,
    "c.tar.xz": lzma.compress,
    "c.txz": lzma.compress,
    "c.tar.bz2": bz2.compress,
    "c.tbz2": bz2.compress,
    "c.tar.zst": zstd,
    "c.tzst": zstd_frames,
}
"""By the bundle's name, the function that compresses a tar archive."""


def end_mark(packed: bytes) -> int:
    return len(packed.rstrip(b"\0")) // 512 * 512 + 512
