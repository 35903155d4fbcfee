"""URIs: what lies below them, and what of them may be shown."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from pipelines.capture.capture import CaptureOptions
from pipelines.capture.captures import capture_paths
from pipelines.capture.remote import (
    download,
    read_remote,
    remote_files,
    size_of,
)
from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from pipelines.object_store import is_uri, shown_uri
from replica.errors import UnreadableFileError, UsageError
from replica.format.damage import DamageKind
from replica.format.file_names import METADATA_FOLDER

LIVE = "kafka-3.7.2-static/live"
LOG = f"{0:020d}.log"
SIGNED_URI = "s3://AKIAKEY:SECRETPART@bucket/node-1?sig=TOKENPART"


@pytest.mark.parametrize("path", ["s3://b/x", "file:///x", "abfs://u:p@c/x", "HDFS://h:1/x"])
def test_a_uri_has_a_scheme(path: str) -> None:
    assert is_uri(path)


@pytest.mark.parametrize("path", ["/x", "x", "s3:/x", "://x", "s3://", "1s://x", "./s3://x"])
def test_anything_else_is_a_local_path(path: str) -> None:
    assert not is_uri(path)


def test_a_download_is_the_metadata_directories_byte_by_byte(data: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    shutil.copytree(data / LIVE, source)
    for other in ("1/orders-0", "1/checkpoints"):
        (source / other).mkdir()
        (source / other / LOG).write_bytes(b"another partition")
    (source / "1" / "server.properties").write_bytes(b"no business of ours")
    (source / "capture.json").write_bytes(b"{}")
    found = download(source.as_uri(), str(target))
    assert (found.file, found.damages) == (None, ())
    expected = {p.relative_to(data / LIVE) for p in (data / LIVE).rglob("*") if p.is_file()}
    assert len(expected) > 30
    copies = {p.relative_to(target) for p in target.rglob("*") if p.is_file()}
    assert copies == expected | {Path("capture.json")}
    assert all((target / name).read_bytes() == (source / name).read_bytes() for name in expected)


def test_a_named_remote_folder_is_read_as_a_local_one(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "any name"
    shutil.copytree(data / LIVE / "1" / METADATA_FOLDER, folder)
    (folder / "quorum-state").unlink()
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / f"{9:020d}-{1:020d}.checkpoint").write_bytes(b"x")
    names = {file.relative for file in remote_files(folder.as_uri())}
    assert names == {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_a_uri_is_ingested_under_its_own_name(data: Path, tmp_path: Path) -> None:
    uri = (data / LIVE).as_uri()
    with Spool.below(Lake(tmp_path)) as spool:
        captures = capture_paths([uri], CaptureOptions(), spool)
        local = capture_paths([str(data / LIVE)], CaptureOptions(), spool)
        capture = captures.rounds[0][0].captures[0]
        assert capture.shown_file("meta.properties") == f"{uri}/1/meta.properties"
        assert capture.shown_file(capture.directory.segments[0].file).startswith(
            f"{uri}/1/__cluster"
        )
        assert captures.rounds[0][0].group_id == local.rounds[0][0].group_id


def test_a_bundle_and_a_single_file_may_be_named_by_uri(data: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "c.tar.gz"
    with tarfile.open(bundle, "w:gz") as tar:
        tar.add(data / LIVE / "1", "1")
    segment = data / LIVE / "1" / METADATA_FOLDER / LOG
    with Spool.below(Lake(tmp_path)) as spool:
        (group,) = capture_paths([bundle.as_uri()], CaptureOptions(), spool).rounds[0]
        assert group.captures[0].location.shown == f"{bundle.as_uri()}/1/{METADATA_FOLDER}"
        with pytest.raises(UsageError, match="--as"):
            capture_paths([segment.as_uri()], CaptureOptions(), spool)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("foo://bucket/x", "foo://bucket/x: Unrecognized filesystem type"),
        ("file:///absent/x", "file:///absent/x: no such file or directory"),
        ("file://host/x", "file://host/x: Unsupported hostname"),
    ],
)
def test_a_uri_that_leads_nowhere_is_one_line(uri: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        download(uri, str(tmp_path))
    assert str(caught.value).startswith(reason)
    assert "\n" not in str(caught.value)


def test_a_folder_without_kafka_files_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"x")
    with pytest.raises(UsageError, match="no Kafka metadata file below it"):
        download(tmp_path.as_uri(), str(tmp_path))


def test_credentials_in_a_uri_are_not_shown() -> None:
    assert shown_uri(SIGNED_URI) == "s3://bucket/node-1"
    assert shown_uri("s3://bucket/a@b") == "s3://bucket/a@b"


@pytest.mark.parametrize(
    "uri",
    [
        "s3://AKIAKEY:SECRET PART@bucket/x",
        "foo://AKIAKEY:SECRETPART@bucket/x",
        "gs://AKIAKEY:SECRETPART@bucket/x?sig=TOKENPART",
        "file://AKIAKEY:SECRETPART@host/x?sig=TOKENPART",
    ],
)
def test_no_message_holds_a_uris_secret(uri: str, tmp_path: Path) -> None:
    with pytest.raises((UsageError, UnreadableFileError)) as caught:
        download(uri, str(tmp_path))
    for secret in ("AKIAKEY", "SECRET", "TOKENPART"):
        assert secret not in str(caught.value)
    assert caught.value.__cause__ is None, "a traceback would show the cause"


class Store:
    """An object store whose keys no file system would allow; missing ones can't be read."""

    def __init__(self, keys: list[str], missing: str = "") -> None:
        self.keys, self.missing = keys, missing

    def get_file_info(self, asked: Any) -> Any:
        if isinstance(asked, str):
            return fs.FileInfo(asked, fs.FileType.Directory)
        return [fs.FileInfo(key, fs.FileType.File) for key in self.keys]

    def open_input_stream(self, key: str) -> Any:
        if key == self.missing:
            raise FileNotFoundError(2, f"no such key: {SIGNED_URI}")
        import io

        return io.BytesIO(key.encode())


def with_store(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    class Opening:
        @staticmethod
        def from_uri(uri: str) -> tuple[Store, str]:
            return store, "bucket/node-1"

    monkeypatch.setattr(fs, "FileSystem", Opening)


def test_hostile_keys_stay_outside_and_the_query_stays_behind_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = f"bucket/node-1/1/{METADATA_FOLDER}"
    keys = [f"{inside}/{LOG}", f"{inside}/../../../{LOG}", f"{inside}//{LOG}", f"bucket/x/{LOG}"]
    with_store(monkeypatch, Store(keys))
    (file,) = remote_files(SIGNED_URI)
    assert file.uri == (
        f"s3://AKIAKEY:SECRETPART@bucket/node-1/1/{METADATA_FOLDER}/{LOG}?sig=TOKENPART"
    )
    folder = tmp_path / "folder"
    download(SIGNED_URI, str(folder))
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written == [folder / "1" / METADATA_FOLDER / LOG]


def test_an_object_that_is_gone_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [f"bucket/node-1/{METADATA_FOLDER}/{name}" for name in (LOG, "quorum-state")]
    with_store(monkeypatch, Store(keys, missing=keys[0]))
    (damage,) = download(SIGNED_URI, str(tmp_path)).damages
    assert damage.kind is DamageKind.UNREADABLE
    assert damage.file == f"s3://bucket/node-1/{METADATA_FOLDER}/{LOG}"
    assert "SECRETPART" not in damage.detail
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["quorum-state"]


def test_a_range_of_a_remote_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    assert size_of(path.as_uri()) == 10
    assert read_remote(path.as_uri(), 3, 6) == b"345"
    assert read_remote(path.as_uri(), 3, None) == b"3456789"
    with pytest.raises(UnreadableFileError, match="absent"):
        read_remote((tmp_path / "absent").as_uri(), 0, 1)
