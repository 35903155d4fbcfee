"""Bundles as the captures of an ingest see them: the user's names, and what a cut costs."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from pipelines.capture.capture import CaptureOptions
from pipelines.capture.captures import capture_paths
from pipelines.capture.spool import Spool
from replica.format.damage import DamageKind
from replica.format.file_names import METADATA_FOLDER
from tests.pipelines.capture.bundles import zstd
from tests.pipelines.capture.test_captures import LOG, STATIC, all_captures, nodes


def test_a_bundle_is_looked_into_under_its_own_name(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    bundle = tmp_path / "c.tar.gz"
    with tarfile.open(bundle, "w:gz") as tar:
        tar.add(data / STATIC / "live", "live")
    captures = capture_paths([str(bundle)], CaptureOptions(), spool)
    assert nodes(captures) == [[("gT", [1, 2, 3, 11])]]
    capture = all_captures(captures)[0]
    segment = capture.directory.segments[0].file
    assert capture.shown_file(segment) == f"{bundle}/live/1/{METADATA_FOLDER}/{LOG}"
    assert capture.shown_file("meta.properties") == f"{bundle}/live/1/meta.properties"


def test_a_bundle_of_absolute_names_is_looked_into_as_one_of_relative_names(
    data: Path, tmp_path: Path, spool: Spool
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in (data / STATIC / "live").rglob("*"):
            info = tar.gettarinfo(path)
            info.name = f"/var/lib/{path.relative_to(data / STATIC)}"
            tar.addfile(info, io.BytesIO(path.read_bytes()) if path.is_file() else None)
    bundle = tmp_path / "c.tar.zst"
    bundle.write_bytes(zstd(packed.getvalue()))
    captures = capture_paths([str(bundle)], CaptureOptions(), spool)
    assert (nodes(captures), captures.damages) == ([[("gT", [1, 2, 3, 11])]], ())
    capture = all_captures(captures)[0]
    assert capture.shown_file("meta.properties") == f"{bundle}/var/lib/live/1/meta.properties"
    plain = all_captures(capture_paths([str(data / STATIC / "live")], CaptureOptions(), spool))
    assert [one.capture_id for one in all_captures(captures)] == [one.capture_id for one in plain]


@pytest.mark.parametrize("root", ["", "/"])
def test_a_log_that_its_bundle_cuts_does_not_look_like_a_truncated_one(
    root: str, data: Path, tmp_path: Path, spool: Spool
) -> None:
    bundle = tmp_path / "c.tar"
    source = data / STATIC / "live" / "1"
    with tarfile.open(bundle, "w") as tar:
        for name in ("meta.properties", f"{METADATA_FOLDER}/{LOG}"):
            info = tar.gettarinfo(source / name)
            info.name = f"{root}1/{name}"
            tar.addfile(info, io.BytesIO((source / name).read_bytes()))
    packed = bundle.read_bytes()
    bundle.write_bytes(packed[: len(packed.rstrip(b"\0")) - 5000])
    (capture,) = all_captures(capture_paths([str(bundle)], CaptureOptions(), spool))
    hidden = [
        damage for damage in capture.directory.damages if damage.kind is DamageKind.UNREADABLE
    ]
    assert {damage.file for damage in hidden} == {f"{METADATA_FOLDER}/{LOG}"}
