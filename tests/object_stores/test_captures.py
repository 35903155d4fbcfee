"""Captures sent to a real object store, and read from there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from jobs import ingest
from jobs.cli.commands.lake import IngestOptions
from pipelines.capture import spool
from pipelines.capture.capture import CaptureOptions
from pipelines.capture.captures import Captures, capture_paths
from pipelines.capture.in_place import ChangedFileError, FileStamp
from pipelines.capture.remote import read_remote, size_of
from pipelines.capture.spool import Spool
from pipelines.lake import Lake
from pipelines.object_store import opened
from replica.format.file_names import METADATA_FOLDER
from tests.fuzz.ingest_kills import tables
from tests.kraftlake_process import REPOSITORY, command_line, kraftlake
from tests.object_stores.s3_server import S3Server
from tests.pipelines.growing import large_node

pytestmark = pytest.mark.slow

LIVE = "kafka-3.7.2-static/live"
LOG = f"{0:020d}.log"


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def looks_at(uri: str, tmp_path: Path) -> Captures:
    with Spool(tmp_path / "spool") as spool:
        return capture_paths([uri], CaptureOptions(), spool)


@pytest.fixture
def bucket(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bucket of the test's own, as the server's folder; its name is the folder's."""
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    return server.make_bucket(f"captures-{os.urandom(4).hex()}")


def test_a_capture_in_a_store_is_the_directories_byte_by_byte(
    bucket: Path, data: Path, tmp_path: Path
) -> None:
    uri = f"s3://{bucket.name}/incident-7"
    ended = kraftlake("capture", data / LIVE, "-o", uri)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == f"next: kraftlake ingest --lake LAKE {uri}"
    stored = files_below(bucket / "incident-7")
    manifest = json.loads(stored.pop("capture.json"))
    assert {file["path"] for file in manifest["files"]} == set(stored)
    assert stored == {f"node-{path}": content for path, content in files_below(data / LIVE).items()}
    ((group,),) = looks_at(uri, tmp_path).rounds
    with Spool(tmp_path / "other") as spool:
        ((same,),) = capture_paths([str(data / LIVE)], CaptureOptions(), spool).rounds
    assert group.group_id == same.group_id
    assert not [damage for capture in group.captures for damage in capture.directory.damages]
    again = kraftlake("capture", data / LIVE, "-o", uri)
    assert again.returncode == 2
    assert again.stderr.strip().endswith(f"{uri}: holds a finished capture; name another folder")


def test_a_capture_that_was_killed_is_left_out_and_goes_on(
    bucket: Path, data: Path, tmp_path: Path
) -> None:
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    for number in "1234":
        node = large_node(data, nodes / number, 12_000_000)
        properties = node / "meta.properties"
        text = properties.read_text().replace("node.id=1", f"node.id={number}")
        properties.write_text(text)
    uri = f"s3://{bucket.name}/killed"
    killed = subprocess.Popen(
        command_line("capture", nodes, "-o", uri), cwd=REPOSITORY, stderr=subprocess.DEVNULL
    )
    arrived = bucket / "killed" / "node-3" / METADATA_FOLDER / LOG
    while not arrived.exists():
        assert killed.poll() is None, "it ended before it was killed"
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (bucket / "killed" / "capture.json").exists()
    left = looks_at(uri, tmp_path)
    assert left.rounds == ()
    assert "interrupted capture" in left.damages[0].detail

    ended = kraftlake("capture", "--json", nodes, "-o", uri)
    assert ended.returncode == 0, ended.stderr
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    first = next(row for row in rows if row["folder"] == "node-1")
    assert first["sent_bytes"] < first["size_bytes"] / 10, "what had arrived is not sent again"
    stored = files_below(bucket / "killed")
    assert stored.pop("capture.json")
    assert stored == {f"node-{path}": content for path, content in files_below(nodes).items()}


def test_an_object_missing_from_a_capture_is_damage(
    bucket: Path, data: Path, tmp_path: Path
) -> None:
    uri = f"s3://{bucket.name}/lost"
    assert kraftlake("capture", data / LIVE / "1", "-o", uri).returncode == 0
    (bucket / "lost" / "node-1" / METADATA_FOLDER / LOG).unlink()
    ((group,),) = looks_at(uri, tmp_path).rounds
    (damage,) = (
        d for capture in group.captures for d in capture.directory.damages if "captured" in d.detail
    )
    assert damage.file.endswith(LOG)
    assert "not in this copy" in damage.detail


def test_a_bundle_in_a_store_is_read_as_the_directory_is(
    bucket: Path, data: Path, tmp_path: Path
) -> None:
    shutil.make_archive(str(bucket / "incident"), "gztar", data / LIVE)
    ((group,),) = looks_at(f"s3://{bucket.name}/incident.tar.gz", tmp_path).rounds
    assert {capture.replica.node_id for capture in group.captures} == {1, 2, 3, 11}


def test_ranges_of_a_segment_are_read_where_it_lies(bucket: Path, data: Path) -> None:
    source = data / LIVE / "1" / METADATA_FOLDER / LOG
    shutil.copy(source, bucket / LOG)
    uri, content = f"s3://{bucket.name}/{LOG}", source.read_bytes()
    assert size_of(uri) == len(content)
    assert read_remote(uri, 100, 250) == content[100:250]
    assert read_remote(uri, 100, None) == content[100:]


def test_directories_in_a_store_are_read_there_by_tasks_and_a_written_object_leaves_its_capture_out(
    bucket: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for node in ("1", "2", "3", "11"):
        shutil.copytree(data / LIVE / node, bucket / "shared" / node)
    uri = f"s3://{bucket.name}/shared"
    for lake in ("copied", "placed"):
        (tmp_path / lake).mkdir()
        (tmp_path / lake / "_redaction.key").write_bytes(b"k" * 32)
    about = {"captured_at": "2026-11-21T01:00Z"}
    assert ingest.run(IngestOptions([uri], Lake(tmp_path / "copied"), **about)) == 0
    with monkeypatch.context() as patch:
        patch.setattr(spool.Copying, "_copy", lambda *_: pytest.fail("a file was copied"))
        placed = IngestOptions([uri], Lake(tmp_path / "placed"), shared=True, **about)
        assert ingest.run(placed) == 0
    assert tables(tmp_path / "placed") == tables(tmp_path / "copied")

    log = f"{uri}/1/{METADATA_FOLDER}/{LOG}"
    stamp = FileStamp.of(log)
    stamp.check(log)
    content = (data / LIVE / "1" / METADATA_FOLDER / LOG).read_bytes()
    with opened(log) as (store, path), store.open_output_stream(path) as out:
        out.write(content + b"\0")  # this server has no ETags
    with pytest.raises(ChangedFileError):
        stamp.check(log)
