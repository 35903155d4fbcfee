"""Bundles as users make them, and members that reach for what is not theirs."""

from __future__ import annotations

import gzip
import io
import random
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.capture import archive_members, bundle
from replica.format.damage import DamageKind
from tests.pipelines.capture.bundles import (
    CONTENTS,
    FOLDER,
    LOG,
    META,
    PACKERS,
    STATE,
    Unpacking,
    kinds,
    sound_tar,
    special,
    tar_bytes,
    zip_bytes,
    zstd,
)


@pytest.mark.parametrize("name", [*PACKERS, "c.zip"])
def test_a_recorded_capture_comes_out_of_a_bundle_byte_by_byte(
    name: str, unpacking: Unpacking, data: Path
) -> None:
    source = data / "kafka-4.1.1-dynamic" / "live" / "1"
    paths = sorted(path for path in source.rglob("*") if path.is_file())
    packed = io.BytesIO()
    if name == "c.zip":
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
            for path in paths:
                target.write(path, str(path.relative_to(source.parent)))
    else:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(source, "1")
    found = unpacking(name, PACKERS.get(name, bytes)(packed.getvalue()))
    assert found.damages == ()
    assert found.files == len(paths) > 10
    assert unpacking.files() == {
        str(path.relative_to(source.parent)): path.read_bytes() for path in paths
    }


@pytest.mark.parametrize("root", ["/", "//", "/./"])
@pytest.mark.parametrize("form", ["tar", "zip"])
def test_the_root_of_an_absolute_name_is_dropped_as_tar_does(
    root: str, form: str, unpacking: Unpacking
) -> None:
    members = [(f"{root}{name}", content) for name, content in CONTENTS.items()]
    found = unpacking(f"c.{form}", tar_bytes(members) if form == "tar" else zip_bytes(members))
    assert (found.damages, unpacking.files()) == ((), CONTENTS)


def test_tar_s_own_bundle_of_absolute_names_is_read(unpacking: Unpacking) -> None:
    node = unpacking.base / "witness"
    log = unpacking.base / "out" / LOG
    log.parent.mkdir(parents=True)
    log.write_bytes(b"l")
    packed = subprocess.run(
        ["tar", "czPf", "-", str(node), str(log.parent)], capture_output=True, check=True
    ).stdout
    log.unlink()
    found = unpacking("c.tar.gz", packed)
    assert (found.damages, unpacking.files()) == ((), {str(log).lstrip("/"): b"l"})


def test_of_an_absolute_and_a_relative_name_of_one_place_the_first_is_kept(
    unpacking: Unpacking,
) -> None:
    found = unpacking("c.tar", tar_bytes([(f"/{STATE}", b"1"), (STATE, b"2"), (LOG, b"l")]))
    assert unpacking.files() == {STATE: b"1", LOG: b"l"}
    assert [damage.file for damage in found.damages] == [f"{unpacking.path}/{STATE}"]


def test_files_that_are_not_kafkas_are_not_unpacked(unpacking: Unpacking) -> None:
    found = unpacking("c.tar", tar_bytes([("1/server.log", b"x"), ("README", b"x"), (LOG, b"l")]))
    assert (found.damages, unpacking.files()) == ((), {LOG: b"l"})


def test_capture_json_comes_along(unpacking: Unpacking) -> None:
    unpacking("c.tar", tar_bytes([("capture.json", b"{}"), (LOG, b"l")]))
    assert set(unpacking.files()) == {"capture.json", LOG}


@pytest.mark.parametrize(
    "name",
    [
        f"../{LOG}",
        f"/../{LOG}",
        f"/data/../../{LOG}",
        f"1/../../{LOG}",
        f"..\\{FOLDER}/quorum-state",
        "1/\x1b[2J/quorum-state",
        "1/\x85/quorum-state",
        "1/\u2028/quorum-state",
        "a" * 256 + "/quorum-state",
        "ü" * 200 + "/quorum-state",
        "/".join(["a" * 200] * 6) + "/quorum-state",
        "a/" * 200 + "quorum-state",
    ],
    ids=ascii,
)
@pytest.mark.parametrize("form", ["tar", "zip"])
def test_a_hostile_name_is_named_and_the_rest_is_unpacked(
    name: str, form: str, unpacking: Unpacking
) -> None:
    members = [(META, b"m"), (name, b"evil"), (LOG, b"l")]
    packed = tar_bytes(members) if form == "tar" else zip_bytes(members)
    found = unpacking(f"c.{form}", packed)
    assert unpacking.files() == {META: b"m", LOG: b"l"}
    assert kinds(found) == [DamageKind.HOSTILE_NAME]
    assert found.files == 2
    assert found.damages[0].file.startswith(f"{unpacking.path}/")
    assert found.damages[0].file.isprintable()
    assert "\n" not in str(found.damages[0])


def test_a_name_with_a_nul_is_hostile_in_a_zip(unpacking: Unpacking) -> None:
    packed = zip_bytes([("1/quorum-stateXevil", b"e"), (LOG, b"l")])
    found = unpacking("c.zip", packed.replace(b"stateXevil", b"state\0evil"))
    assert unpacking.files() == {LOG: b"l"}
    assert kinds(found) == [DamageKind.HOSTILE_NAME]


def test_a_name_that_is_not_utf8_is_hostile(unpacking: Unpacking) -> None:
    packed = tar_bytes([("X/quorum-state", b"e"), (LOG, b"l")], format=tarfile.GNU_FORMAT)
    header = bytearray(packed[:512])
    header[0] = 0xFF
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    found = unpacking("c.tar", bytes(header) + packed[512:])
    assert unpacking.files() == {LOG: b"l"}
    assert kinds(found) == [DamageKind.HOSTILE_NAME]
    assert found.damages[0].file.encode("utf-8"), "fit for a table"


@pytest.mark.parametrize(
    "link",
    [
        special(STATE, tarfile.SYMTYPE, "/etc/passwd"),
        special(STATE, tarfile.LNKTYPE, "../witness"),
        special(STATE, tarfile.CHRTYPE),
        special(STATE, tarfile.BLKTYPE),
        special(STATE, tarfile.FIFOTYPE),
    ],
    ids=lambda info: str(info.type),
)
def test_links_and_devices_are_never_made(link: tarfile.TarInfo, unpacking: Unpacking) -> None:
    found = unpacking("c.tar", tar_bytes([(link, b""), (LOG, b"l")]))
    assert unpacking.files() == {LOG: b"l"}
    assert kinds(found) == [DamageKind.HOSTILE_NAME]
    assert found.damages[0].file == f"{unpacking.path}/{STATE}"


def test_a_link_to_a_folder_leads_nowhere(unpacking: Unpacking) -> None:
    link = special(FOLDER, tarfile.SYMTYPE, str(unpacking.base))
    unpacking("c.tar", tar_bytes([(link, b""), (STATE, b"s")]))
    assert unpacking.files() == {STATE: b"s"}


@pytest.mark.parametrize("mode", [0o120777, 0o020666, 0o010666])
def test_links_and_devices_are_never_made_from_a_zip(mode: int, unpacking: Unpacking) -> None:
    info = zipfile.ZipInfo(STATE)
    info.external_attr = mode << 16
    found = unpacking("c.zip", zip_bytes([(info, b"/etc/passwd"), (LOG, b"l")]))
    assert unpacking.files() == {LOG: b"l"}
    assert kinds(found) == [DamageKind.HOSTILE_NAME]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (STATE, STATE),
        (STATE, f"./{STATE}"),
        (STATE, f"{STATE}/meta.properties"),
        (f"{STATE}/meta.properties", STATE),
    ],
)
def test_of_two_members_in_one_place_the_first_is_kept(
    first: str, second: str, unpacking: Unpacking
) -> None:
    found = unpacking("c.tar", tar_bytes([(first, b"1"), (second, b"2"), (LOG, b"l")]))
    assert unpacking.files() == {first: b"1", LOG: b"l"}
    assert [damage.file for damage in found.damages] == [f"{unpacking.path}/{second}"]
    assert found.files == 2


def test_a_gzip_bomb_stops_at_the_limit(unpacking: Unpacking) -> None:
    packed = gzip.compress(tar_bytes([(META, b"m"), (LOG, bytes(20_000_000)), (STATE, b"s")]))
    assert len(packed) < 100_000
    found = unpacking("c.tar.gz", packed, max_bytes=1_000_000)
    assert unpacking.files() == {META: b"m"}
    assert kinds(found) == [DamageKind.HOSTILE_NAME]
    assert "size limit" in found.damages[0].detail
    assert found.files == 1


def test_a_zstd_bomb_stops_at_the_limit(unpacking: Unpacking) -> None:
    packed = zstd(tar_bytes([(META, b"m"), (LOG, bytes(20_000_000)), (STATE, b"s")]))
    assert len(packed) < 10_000
    found = unpacking("c.tar.zst", packed, max_bytes=1_000_000)
    assert unpacking.files() == {META: b"m"}
    assert kinds(found) == [DamageKind.HOSTILE_NAME]
    assert "size limit" in found.damages[0].detail


def test_a_zip_bomb_stops_at_the_limit(unpacking: Unpacking) -> None:
    packed = zip_bytes([(LOG, bytes(20_000_000))], compression=zipfile.ZIP_DEFLATED)
    found = unpacking("c.zip", packed, max_bytes=1_000_000)
    assert unpacking.files() == {}
    assert (kinds(found), found.files) == ([DamageKind.HOSTILE_NAME], 0)


def test_a_header_that_wants_gigabytes_of_memory_is_refused(unpacking: Unpacking) -> None:
    name = special("././@LongLink", tarfile.GNUTYPE_LONGNAME)
    name.size = 2**33
    found = unpacking("c.tar", name.tobuf(tarfile.GNU_FORMAT) + sound_tar())
    assert unpacking.files() == CONTENTS, "reading goes on at the next header"
    assert kinds(found) == [DamageKind.CONTENT]


def test_unwanted_members_count_to_the_limit_of_inflated_bytes(
    unpacking: Unpacking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_members, "MAX_STREAM_BYTES", 1_000_000)
    packed = gzip.compress(tar_bytes([(META, b"m"), ("x.bin", bytes(9_000_000)), (LOG, b"l")]))
    found = unpacking("c.tar.gz", packed)
    assert unpacking.files() == {META: b"m"}
    assert kinds(found) == [DamageKind.CONTENT]


def test_too_many_members_are_cut_off(
    unpacking: Unpacking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "MAX_MEMBERS", 2)
    found = unpacking("c.tar", sound_tar())
    assert set(unpacking.files()) == {META, LOG}
    assert "more than 2 members" in found.damages[0].detail


def test_too_many_folders_are_cut_off(
    unpacking: Unpacking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "MAX_FOLDERS", 2)
    names = [f"{n}/{name}" for n in range(3) for name in ("meta.properties", "quorum-state")]
    found = unpacking("c.tar", tar_bytes([(name, b"x") for name in names]))
    assert set(unpacking.files()) == set(names[:4])
    assert "more than 2 folders" in found.damages[0].detail


def test_a_small_bundle_inflates_to_no_more_than_small_bundles_do(
    unpacking: Unpacking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_members, "ALWAYS_STREAM_BYTES", 1_000_000)
    members = [(META, b"m"), ("x.bin", bytes(9_000_000)), (LOG, b"l")]
    found = unpacking("c.tar.gz", gzip.compress(tar_bytes(members)))
    assert unpacking.files() == {META: b"m"}
    assert kinds(found) == [DamageKind.CONTENT]
    noise = random.Random(1).randbytes(100_000)
    found = unpacking("d.tar.gz", gzip.compress(tar_bytes([("n.bin", noise), *members])))
    assert DamageKind.CONTENT not in kinds(found), "100 times the size of a large bundle"


def test_a_bundle_in_a_bundle_is_named_and_left_alone(unpacking: Unpacking) -> None:
    found = unpacking("c.tar", tar_bytes([("inner.tar", sound_tar()), (LOG, b"l")]))
    assert unpacking.files() == {LOG: b"l"}
    assert [(d.kind, d.file) for d in found.damages] == [
        (DamageKind.NOT_KAFKA, f"{unpacking.path}/inner.tar")
    ]


def test_is_bundle_goes_by_suffix_and_wants_a_file(tmp_path: Path) -> None:
    make: Callable[[str], Path] = tmp_path.joinpath
    make("x.tgz").write_bytes(b"")
    make("x.tzst").write_bytes(b"")
    make("folder.zip").mkdir()
    make("x.gz").write_bytes(b"")
    assert bundle.is_bundle(str(make("x.tgz")))
    assert bundle.is_bundle(str(make("x.tzst")))
    assert not bundle.is_bundle(str(make("folder.zip")))
    assert not bundle.is_bundle(str(make("x.gz")))
    assert not bundle.is_bundle(str(make("absent.zip")))
