"""Bundles that are cut, flipped, or lie about themselves."""

from __future__ import annotations

import gzip
import random
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.format.damage import DamageKind
from tests.examples import examples
from tests.pipelines.capture.bundles import (
    CONTENTS,
    LOG,
    META,
    PACKERS,
    STATE,
    Unpacking,
    end_mark,
    kinds,
    sound_tar,
    special,
    tar_bytes,
    zip_bytes,
    zstd,
    zstd_frames,
)


@pytest.mark.parametrize("size", [2**40, -1024, -(2**40)])
def test_a_lying_size_costs_no_other_member(size: int, unpacking: Unpacking) -> None:
    info = tarfile.TarInfo(STATE)
    info.size = abs(size)
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = (size % 2**96).to_bytes(12, "big") if size < 0 else header[124:136]
    header[124] = 0xFF if size < 0 else 0x80
    header[125:136] = (size % 2**88).to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    found = unpacking("c.tar", bytes(header) + tar_bytes([(META, b"m"), (LOG, b"l")]))
    files = unpacking.files()
    assert (files[META], files[LOG]) == (b"m", b"l")
    assert DamageKind.CONTENT in kinds(found)


@pytest.mark.parametrize("name", ["c.tar", "c.tar.gz", "c.tar.zst", "c.tzst", "c.zip"])
def test_a_cut_at_any_place_is_named_and_what_came_before_is_unpacked(
    name: str, tmp_path: Path
) -> None:
    packed = {
        "c.tar": sound_tar(),
        "c.tar.gz": gzip.compress(sound_tar(), 0),
        "c.tar.zst": zstd(sound_tar()),
        "c.tzst": zstd_frames(sound_tar()),
        "c.zip": zip_bytes(CONTENTS.items()),
    }[name]
    end = len(packed) if name != "c.tar" else end_mark(packed)
    for number, cut in enumerate([*range(0, end, 499), *range(0, end, 512), end - 1]):
        base = tmp_path / str(number)
        base.mkdir()
        unpacking = Unpacking(base)
        found = unpacking(name, packed[:cut])
        assert found.damages, f"nobody is told of the cut at {cut} of {len(packed)}"
        files = unpacking.files()
        assert len(files) == found.files
        assert all(CONTENTS[path].startswith(content) for path, content in files.items())
        if name == "c.tar" and cut > 1024 + 1024:
            assert META in files
            assert len(files.get(LOG, b"")) >= min(cut - 1536 - 512, len(CONTENTS[LOG])) - 512


def test_the_bytes_of_a_cut_member_are_kept(unpacking: Unpacking) -> None:
    packed = tar_bytes([(LOG, b"x" * 5000)])
    found = unpacking("c.tar", packed[: 512 + 3000])
    assert unpacking.files() == {LOG: b"x" * 3000}
    assert found.files == 1
    assert f"{unpacking.path}/{LOG}" in [damage.file for damage in found.damages]


def test_a_damaged_header_costs_its_member_only(unpacking: Unpacking) -> None:
    packed = bytearray(tar_bytes([(META, b"m"), (STATE, b"s"), (LOG, b"l")]))
    packed[1024 + 3] ^= 0xFF
    found = unpacking("c.tar", bytes(packed))
    assert unpacking.files() == {META: b"m", LOG: b"l"}
    assert [(d.kind, d.position) for d in found.damages] == [(DamageKind.CONTENT, 1024)]


def test_archives_joined_end_to_end_are_all_read(unpacking: Unpacking) -> None:
    found = unpacking("c.tar", tar_bytes([(META, b"m")]) + tar_bytes([(LOG, b"l")]))
    assert (found.damages, unpacking.files()) == ((), {META: b"m", LOG: b"l"})


def test_a_flip_in_a_gzip_stream_is_named(unpacking: Unpacking) -> None:
    packed = bytearray(gzip.compress(tar_bytes([(STATE, b"x" * 900)]), 0))
    packed[1000] ^= 1
    found = unpacking("c.tar.gz", bytes(packed))
    assert kinds(found) == [DamageKind.CONTENT]


def test_bytes_before_the_cut_of_a_zstd_stream_are_kept(unpacking: Unpacking) -> None:
    content = random.Random(7).randbytes(3_000_000)
    packed = zstd(tar_bytes([(LOG, content)]))
    found = unpacking("c.tar.zst", packed[:2_000_000])
    (kept,) = unpacking.files().values()
    assert content.startswith(kept)
    assert len(kept) > 1_800_000, "a block of zstd has 131,072 bytes"
    assert DamageKind.CONTENT in kinds(found)


def test_a_damaged_header_in_a_zstd_stream_costs_its_member_only(unpacking: Unpacking) -> None:
    packed = bytearray(tar_bytes([(META, b"m"), (STATE, b"s"), (LOG, b"l")]))
    packed[1024 + 3] ^= 0xFF
    found = unpacking("c.tar.zst", zstd(bytes(packed)))
    assert unpacking.files() == {META: b"m", LOG: b"l"}
    assert [(d.kind, d.position) for d in found.damages] == [(DamageKind.CONTENT, 1024)]


def test_a_zip_member_with_a_wrong_crc_is_named_and_kept_whole(unpacking: Unpacking) -> None:
    packed = zip_bytes([(META, b"m"), (LOG, b"0123456789"), (STATE, b"s")])
    found = unpacking("c.zip", packed.replace(b"0123456789", b"0123x56789"))
    assert unpacking.files() == {META: b"m", LOG: b"0123x56789", STATE: b"s"}
    assert [(d.kind, d.file) for d in found.damages] == [
        (DamageKind.CONTENT, f"{unpacking.path}/{LOG}")
    ]


def test_an_encrypted_zip_member_is_named(unpacking: Unpacking) -> None:
    packed = bytearray(zip_bytes([(STATE, b"s"), (LOG, b"l")]))
    packed[6] |= 1
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    found = unpacking("c.zip", bytes(packed))
    assert unpacking.files() == {LOG: b"l"}
    assert [(d.kind, d.file) for d in found.damages] == [
        (DamageKind.CONTENT, f"{unpacking.path}/{STATE}")
    ]
    assert "encrypted" in found.damages[0].detail


def test_a_zip_name_that_is_not_the_utf8_it_says_is_a_damage(unpacking: Unpacking) -> None:
    packed = zip_bytes([("ü/quorum-state", b"s")]).replace("ü".encode(), b"\xff\xff")
    assert kinds(unpacking("c.zip", packed)) == [DamageKind.CONTENT]


@pytest.mark.parametrize("name", [*PACKERS, "c.zip"])
def test_random_bytes_are_one_damage(name: str, unpacking: Unpacking) -> None:
    heads = {
        **{"c.tar.gz": b"\x1f\x8b", "c.tar.xz": b"\xfd7zXZ\0", "c.tar.bz2": b"BZh9"},
        **{"c.tar.zst": b"\x28\xb5\x2f\xfd", "c.tzst": b"\x50\x2a\x4d\x18"},
    }
    found = unpacking(name, heads.get(name, b"") + random.Random(7).randbytes(5000))
    assert (kinds(found), found.files) == ([DamageKind.CONTENT], 0)
    assert found.damages[0].file == str(unpacking.path)
    assert "\n" not in found.damages[0].detail


@pytest.mark.parametrize("tar_format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_and_unicode_names_are_read_in_each_tar_format(
    tar_format: int, unpacking: Unpacking
) -> None:
    name = "größe/" + "n" * 150 + "/quorum-state"
    found = unpacking("c.tar", tar_bytes([(name, b"s"), (LOG, b"l")], format=tar_format))
    assert (found.damages, unpacking.files()) == ((), {name: b"s", LOG: b"l"})


@pytest.mark.parametrize(
    "headers",
    [
        {"GNU.sparse.major": "x", "GNU.sparse.minor": "0"},
        {"GNU.sparse.map": "0,x", "GNU.sparse.size": "9"},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "99999"},
        {"size": "99999999999999"},
        {"path": "../../evil/quorum-state"},
    ],
)
def test_hostile_pax_headers_cost_their_member_only(
    headers: dict[str, str], unpacking: Unpacking
) -> None:
    info = tarfile.TarInfo(STATE)
    info.pax_headers = headers
    packed = tar_bytes([(info, b"0\n" * 256)], format=tarfile.PAX_FORMAT)
    found = unpacking("c.tar", packed[: end_mark(packed)] + tar_bytes([(LOG, b"l")]))
    assert unpacking.files()[LOG] == b"l"
    assert found.damages or STATE in unpacking.files()


Mutation = tuple[int, int]


def _bases() -> dict[str, bytes]:
    members = [(META, b"m" * 20), (special(STATE, tarfile.SYMTYPE, "../x"), b""), (LOG, b"l" * 700)]
    plain = tar_bytes(members, format=tarfile.PAX_FORMAT)
    long = tar_bytes([("ü" * 60 + "/quorum-state", b"s"), (LOG, b"l")], format=tarfile.GNU_FORMAT)
    small = [(META, b"m" * 20), ("../quorum-state", b"e"), (LOG, b"l" * 70)]
    return {
        "a.tar": plain[: end_mark(plain) + 1024],
        "b.tar": long[: end_mark(long) + 1024],
        "c.tar.gz": gzip.compress(plain),
        "c.tar.zst": zstd(plain),
        "c.tzst": zstd_frames(plain),
        "d.zip": zip_bytes(small),
        "e.zip": zip_bytes(small, compression=zipfile.ZIP_DEFLATED),
        "f.zip": zip_bytes(small, compression=zipfile.ZIP_LZMA),
    }


BASES = _bases()


@settings(max_examples=examples(400))
@given(
    name=st.sampled_from(sorted(BASES)),
    flips=st.lists(st.tuples(st.integers(0, 4095), st.integers(0, 255)), max_size=6),
    cut=st.none() | st.integers(0, 4095),
)
def test_no_mutated_archive_raises_or_escapes(
    name: str,
    flips: list[Mutation],
    cut: int | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    packed = bytearray(BASES[name][:cut])
    for at, value in flips if packed else ():
        packed[at % len(packed)] = value
    if name.endswith(".tar"):
        packed = _with_right_checksums(packed)
    unpacking = Unpacking(tmp_path_factory.mktemp("mutated"))
    found = unpacking(name, bytes(packed), max_bytes=1_000_000)
    assert len(unpacking.files()) == found.files
    assert all(damage.file.startswith(str(unpacking.path)) for damage in found.damages)


def _with_right_checksums(packed: bytearray) -> bytearray:
    """So that mutations of headers reach the code behind the checksum."""
    for at in range(0, len(packed) - 511, 512):
        if packed[at + 257 : at + 262] == b"ustar":
            packed[at + 148 : at + 156] = b" " * 8
            packed[at + 148 : at + 156] = b"%06o\0 " % sum(packed[at : at + 512])
    return packed
