"""Zeros in a bundle take no disk, however many it claims to hold."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from pipelines.capture import bundle as bundles
from pipelines.capture.spool import BytesRead, Copying
from replica.format.byte_source import all_bytes
from replica.format.damage import DamageKind
from replica.scan.file_room import DEFAULT_ROOM
from tests.pipelines.capture.bundles import LOG, META, Unpacking, kinds, tar_bytes, zip_bytes

_MIB = 1024 * 1024
_CLAIMS = [(60 << 30, "60 GiB"), (1 << 40, "1 TiB"), ((2 << 30) + 1, "a byte above 2 GiB")]


def _number(value: int) -> bytes:
    return b"%011o\0" % value if value < 8**11 else b"\x80" + value.to_bytes(11, "big")


def _sparse(name: str, content: bytes, at: int, real_size: int) -> bytes:
    """An old GNU sparse member: `content` at one place, holes around it."""
    info = tarfile.TarInfo(name)
    info.type, info.size = tarfile.GNUTYPE_SPARSE, len(content)
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:398], header[398:410] = _number(at), _number(len(content))
    header[482], header[483:495] = 0, _number(real_size)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header[:512])
    return bytes(header) + content + bytes(-len(content) % 512)


def _on_disk(path: Path) -> int:
    return os.stat(path).st_blocks * 512


@pytest.mark.parametrize(("size", "_"), _CLAIMS, ids=[name for _, name in _CLAIMS])
def test_a_sparse_member_larger_than_any_segment_is_left_out(
    size: int, _: str, unpacking: Unpacking
) -> None:
    rest = tar_bytes([(META, b"m")])
    found = unpacking("c.tar", _sparse(LOG, b"l" * 512, 0, size) + rest)
    assert unpacking.files() == {META: b"m"}
    (damage,) = found.damages
    assert damage.kind is DamageKind.HOSTILE_NAME
    assert f"{size} bytes, a file of Kafka's metadata has {2**31} at most" in damage.detail


def test_holes_stay_holes(unpacking: Unpacking) -> None:
    size = 300 * _MIB
    found = unpacking("c.tar", _sparse(LOG, b"l" * 512, 100 * _MIB, size) + bytes(1024))
    assert found.damages == ()
    path = unpacking.folder / LOG
    assert path.stat().st_size == size
    assert _on_disk(path) <= _MIB
    with path.open("rb") as file:
        file.seek(100 * _MIB - 1)
        assert file.read(514) == b"\0" + b"l" * 512 + b"\0"


@pytest.mark.parametrize("name", ["c.tar.gz", "c.zip"])
def test_zeros_that_were_compressed_take_no_disk_either(name: str, unpacking: Unpacking) -> None:
    content = b"begin" + bytes(64 * _MIB) + b"end"
    members = [(LOG, content)]
    packed = gzip.compress(tar_bytes(members), 1) if name == "c.tar.gz" else zip_bytes(members)
    assert unpacking(name, packed).damages == ()
    assert (unpacking.folder / LOG).read_bytes() == content
    assert _on_disk(unpacking.folder / LOG) <= _MIB


def test_many_sparse_members_hold_no_more_zeros_than_a_bundle_may(
    unpacking: Unpacking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "MAX_ZERO_BYTES", 10 * _MIB)
    members = [_sparse(f"{n}/{LOG}", b"l" * 512, 0, 3 * _MIB) for n in range(9)]
    found = unpacking("c.tar", b"".join(members) + bytes(1024))
    assert found.files == 3
    assert kinds(found) == [DamageKind.HOSTILE_NAME]
    assert "unpacks past the size limit of zeros" in found.damages[0].detail


def test_the_copy_in_the_spool_has_holes_too(tmp_path: Path) -> None:
    source = tmp_path / "node" / f"{0:020d}.log"
    source.parent.mkdir()
    with source.open("wb") as file:
        file.write(b"begin")
        file.truncate(64 * _MIB)
    folders = str(source.parent), tmp_path / "copies"
    copying = Copying(BytesRead(), {}, (), DEFAULT_ROOM, *folders)
    data = copying(str(source), 2**31)
    copy = copying.copy_of(source.name)
    assert copy.read_bytes() == all_bytes(data)
    assert _on_disk(copy) <= _MIB


def test_a_small_file_of_the_state_may_not_be_as_large_as_a_segment(unpacking: Unpacking) -> None:
    member = _sparse("1/__cluster_metadata-0/quorum-state", b"{" * 512, 0, 17 * _MIB)
    found = unpacking("c.tar", member + bytes(1024))
    assert unpacking.files() == {}
    assert "has 16777216 at most" in found.damages[0].detail


def test_io_of_a_whole_archive_of_sparse_members_is_read_by_tarfile() -> None:
    """What these tests make is what tarfile takes for a sparse member."""
    raw = _sparse(LOG, b"l" * 512, 512, 2048) + bytes(1024)
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        (info,) = archive.getmembers()
        assert (info.issparse(), info.size) == (True, 2048)
